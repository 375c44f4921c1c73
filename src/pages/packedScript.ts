// Serves the vendored scripts: gzipped, as `vendor/` has them, or unpacked for clients that do not accept gzip.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { takesGzip } from '../model/preferences.ts'
import type { Reply } from '../respond/reply.ts'

/** `Cache-Control` of a file whose name changes with its content. */
export const IMMUTABLE = 'public, max-age=31536000, immutable'

const HEADERS = {
  'Content-Type': 'text/javascript; charset=utf-8',
  'Cache-Control': IMMUTABLE,
  Vary: 'Accept-Encoding',
}

/**
 * Returns a handler that serves a script of `vendor/`. The script's URL must change with its content, because browsers cache the
 * script for a year.
 */
export function packedScript(file: string): (request: Headers) => Promise<Reply> {
  let gzipped: Uint8Array<ArrayBuffer> | undefined
  /** The unpacked script. All clients that do not accept gzip share it, so many slow downloads need only one copy in memory. */
  let unpacked: Promise<Uint8Array<ArrayBuffer>> | undefined
  return async (request) => {
    gzipped ??= new Uint8Array(readFileSync(join(import.meta.dir, 'vendor', file)))
    if (takesGzip(request.get('accept-encoding')))
      return { status: 200, headers: { ...HEADERS, 'Content-Encoding': 'gzip' }, body: gzipped }
    unpacked ??= promisify(gunzip)(gzipped).then((bytes) => new Uint8Array(bytes))
    return { status: 200, headers: { ...HEADERS }, body: await unpacked }
  }
}

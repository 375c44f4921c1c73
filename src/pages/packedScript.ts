// Vendored scripts: sent gzipped as they are in vendor/, and unpacked for clients without gzip.
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

/** Serves a script of `vendor/`; its path must change with its content. */
export function packedScript(file: string): (request: Headers) => Promise<Reply> {
  let gzipped: Uint8Array<ArrayBuffer> | undefined
  /** Unpacked once, and shared by all clients without gzip, so that many slow ones need no more memory. */
  let unpacked: Promise<Uint8Array<ArrayBuffer>> | undefined
  return async (request) => {
    gzipped ??= new Uint8Array(readFileSync(join(import.meta.dir, 'vendor', file)))
    if (takesGzip(request.get('accept-encoding')))
      return { status: 200, headers: { ...HEADERS, 'Content-Encoding': 'gzip' }, body: gzipped }
    unpacked ??= promisify(gunzip)(gzipped).then((bytes) => new Uint8Array(bytes))
    return { status: 200, headers: { ...HEADERS }, body: await unpacked }
  }
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { takesGzip } from '../model/preferences.ts'
import type { Reply } from '../respond/reply.ts'
import vendored from './vendor/scalar.json'

/** The name has the version, so what it names never changes. */
export const SCALAR_FILE = `scalar-${vendored.version}.js`

const HEADERS = {
  'Content-Type': 'text/javascript; charset=utf-8',
  'Cache-Control': 'public, max-age=31536000, immutable',
  Vary: 'Accept-Encoding',
}

let gzipped: Uint8Array<ArrayBuffer> | undefined
/** Unpacked once, for the few without gzip: they share it however many and slow they are. */
let unpacked: Promise<Uint8Array<ArrayBuffer>> | undefined

/** The script of Scalar's API reference, as it lies in `vendor/`. */
export async function scalarReply(request: Headers): Promise<Reply> {
  gzipped ??= new Uint8Array(readFileSync(join(import.meta.dir, 'vendor', `${SCALAR_FILE}.gz`)))
  if (takesGzip(request.get('accept-encoding')))
    return { status: 200, headers: { ...HEADERS, 'Content-Encoding': 'gzip' }, body: gzipped }
  unpacked ??= promisify(gunzip)(gzipped).then((bytes) => new Uint8Array(bytes))
  return { status: 200, headers: { ...HEADERS }, body: await unpacked }
}

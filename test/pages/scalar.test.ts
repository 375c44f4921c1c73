import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SCALAR_FILE, scalarReply } from '../../src/pages/scalar.ts'
import vendored from '../../src/pages/vendor/scalar.json'

const FOLDER = join(import.meta.dir, '../../src/pages/vendor')

describe('the vendored script', () => {
  test('is the one that its note describes, with its license, and the only one', () => {
    const packed = readdirSync(FOLDER).filter((name) => name.endsWith('.gz'))
    expect(packed).toEqual([`${SCALAR_FILE}.gz`])
    const script = Bun.gunzipSync(new Uint8Array(readFileSync(join(FOLDER, `${SCALAR_FILE}.gz`))))
    const sha256 = new Bun.CryptoHasher('sha256').update(script).digest('hex')
    expect([script.length, sha256]).toEqual([vendored.bytes, vendored.sha256])
    expect(readFileSync(join(FOLDER, 'LICENSE'), 'utf8')).toStartWith('MIT License')
  })

  test('is sent packed as it lies there, and unpacked to clients without gzip', async () => {
    const packed = await scalarReply(new Headers({ 'accept-encoding': 'gzip' }))
    const plain = await scalarReply(new Headers())
    expect(packed.headers['Content-Encoding']).toBe('gzip')
    expect(plain.headers).not.toHaveProperty('Content-Encoding')
    expect((plain.body as Uint8Array).length).toBe(vendored.bytes)
    expect(Bun.gunzipSync(packed.body as Uint8Array<ArrayBuffer>).length).toBe(vendored.bytes)
  })
})

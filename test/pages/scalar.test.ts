import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SCALAR_FILE } from '../../src/pages/docsPage.ts'
import vendored from '../../src/pages/vendor/scalar.json'

const FOLDER = join(import.meta.dir, '../../src/pages/vendor')

test('the vendored script of Scalar matches the hash in its note, has its license, and is the only stored version', () => {
  const packed = readdirSync(FOLDER).filter((name) => name.endsWith('.gz'))
  expect(packed.filter((name) => name.startsWith('scalar'))).toEqual([`${SCALAR_FILE}.gz`])
  const script = Bun.gunzipSync(new Uint8Array(readFileSync(join(FOLDER, `${SCALAR_FILE}.gz`))))
  const sha256 = new Bun.CryptoHasher('sha256').update(script).digest('hex')
  expect([script.length, sha256]).toEqual([vendored.bytes, vendored.sha256])
  expect(readFileSync(join(FOLDER, 'LICENSE'), 'utf8')).toStartWith('MIT License')
})

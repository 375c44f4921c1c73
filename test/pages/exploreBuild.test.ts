import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { devDependencies } from '../../package.json'
import { buildExplore } from '../../src/pages/vendor/buildExplore.ts'
import vendored from '../../src/pages/vendor/explore.json'

const FOLDER = join(import.meta.dir, '../../src/pages/vendor')
/** Maximum size of the packed script, in bytes. */
const PACKED_MAX = 90_000

test('the vendored script of /explore equals a new build (npm run build:explore), is small, and has the licenses of its packages', async () => {
  const packed = new Uint8Array(readFileSync(join(FOLDER, 'explore.js.gz')))
  const script = Bun.gunzipSync(packed)
  const sha256 = new Bun.CryptoHasher('sha256').update(script).digest('hex')
  expect([script.length, packed.length, sha256]).toEqual([vendored.bytes, vendored.packed, vendored.sha256])
  expect(Buffer.compare(script, await buildExplore())).toBe(0)
  expect(packed.length).toBeLessThan(PACKED_MAX)
  for (const name of ['preact', 'oauth4webapi'] as const) {
    expect(vendored).toMatchObject({ [name]: devDependencies[name] })
    expect(readFileSync(join(FOLDER, `LICENSE-${name}`), 'utf8')).toContain('MIT License')
  }
})

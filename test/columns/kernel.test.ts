import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import openWabt from 'wabt'

const FOLDER = join(import.meta.dir, '../../src/columns')

const wabt = await openWabt()

test.each(['bitmaps', 'groups', 'simd'])('the binary of the kernel module %s is what its source text assembles to', (name) => {
  const text = wabt.parseWat(`${name}.wat`, readFileSync(join(FOLDER, `${name}.wat`)), { simd: name === 'simd' })
  text.validate()
  const { buffer } = text.toBinary({})
  if (process.env.WRITE_KERNEL) writeFileSync(join(FOLDER, `${name}.wasm`), buffer)
  expect(readFileSync(join(FOLDER, `${name}.wasm`)).equals(buffer)).toBe(true)
})

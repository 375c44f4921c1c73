import { describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import openWabt from 'wabt'
import { Kernel } from '../../src/columns/kernel.ts'
import { Random } from '../support/random.ts'

const FOLDER = join(import.meta.dir, '../../src/columns')
const MEBIBYTE = 2 ** 20
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

const wabt = await openWabt()

describe('each program is what its text assembles to', () => {
  for (const name of ['kernel', 'simd'])
    test(name, () => {
      const text = wabt.parseWat(`${name}.wat`, readFileSync(join(FOLDER, `${name}.wat`)), { simd: name === 'simd' })
      text.validate()
      const { buffer } = text.toBinary({})
      if (process.env.WRITE_KERNEL) writeFileSync(join(FOLDER, `${name}.wasm`), buffer)
      expect(readFileSync(join(FOLDER, `${name}.wasm`)).equals(buffer)).toBe(true)
    })
})

describe('a range is the same with vectors and without', () => {
  const rows = 320
  const whole = [-(2 ** 31), -(2 ** 31) + 1, -1, 0, 1, 5, 2 ** 31 - 1]
  const floats = [Number.NaN, -Infinity, -1.5, 0, Number.MIN_VALUE, 1e300, Infinity]
  for (const [call, values] of Object.entries({ range32: whole, range64: floats }))
    test(`${call}; SEED=${SEED}`, () => {
      const random = new Random(SEED)
      const kernels = [true, false].map((hasVectors) => new Kernel(MEBIBYTE, hasVectors))
      for (let round = 0; round < 50; round++) {
        const codes = Array.from({ length: rows }, () => random.pick(values))
        const from = Array.from({ length: rows }, () => random.chance(80))
        const [least = 0, greatest = 0] = [random.pick(values), random.pick(values)].sort((one, other) => one - other)
        const isComplement = random.chance(50)
        const expected = codes.map((code, row) => from[row] && (code >= least && code <= greatest) !== isComplement)
        for (const kernel of kernels) {
          const [column, bits] = [kernel.reserve(8 * rows), kernel.reserve(rows / 8)]
          const isWhole = call === 'range32'
          if (isWhole) kernel.words.set(codes, column >> 2)
          else kernel.floats.set(codes, column >> 3)
          from.forEach((is, row) => {
            const byte = bits + (row >> 3)
            if (is) kernel.octets[byte] = (kernel.octets[byte] as number) | (1 << (row & 7))
          })
          const flip = isComplement ? 0xffff : 0
          if (isWhole) kernel.calls.range32(column, rows, bits, bits, least, greatest - least, flip)
          else kernel.calls.range64(column, rows, bits, bits, least, greatest, flip)
          const found = from.map((_, row) => (((kernel.octets[bits + (row >> 3)] as number) >> (row & 7)) & 1) === 1)
          expect(found).toEqual(expected as boolean[])
          kernel.free(column, 8 * rows)
          kernel.free(bits, rows / 8)
        }
      }
    })
})

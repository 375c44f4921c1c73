import { describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import openWabt from 'wabt'
import { Kernel, KernelFull } from '../../src/columns/kernel.ts'
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

describe('memory', () => {
  test('is 0 at first and when it is used again, and is kept when more is taken', () => {
    const kernel = new Kernel(8 * MEBIBYTE)
    const first = kernel.reserve(100)
    expect(first).toBeGreaterThan(0)
    kernel.octets.fill(7, first, first + 100)
    const second = kernel.reserve(4 * MEBIBYTE)
    expect(kernel.octets.subarray(first, first + 100).every((byte) => byte === 7)).toBe(true)
    kernel.free(first, 100)
    expect(kernel.reserve(50)).toBe(first)
    expect(kernel.octets.subarray(first, first + 100).every((byte) => byte === 0)).toBe(true)
    expect(second).toBeGreaterThan(first)
  })

  test(`of random sizes never overlaps and is never lost; SEED=${SEED}`, () => {
    const random = new Random(SEED)
    const kernel = new Kernel(4 * MEBIBYTE)
    const before = kernel.bytes
    const pieces: { address: number; bytes: number; mark: number }[] = []
    let refused = 0
    for (let turn = 0; turn < 600; turn++) {
      if (pieces.length > 0 && random.chance(30)) {
        const [{ address, bytes, mark }] = pieces.splice(random.below(pieces.length), 1) as [(typeof pieces)[0]]
        expect([kernel.octets[address], kernel.octets[address + bytes - 1]]).toEqual([mark, mark])
        kernel.free(address, bytes)
        continue
      }
      const bytes = 1 + random.below(300_000)
      try {
        const address = kernel.reserve(bytes)
        const mark = 1 + (turn % 255)
        kernel.octets.fill(mark, address, address + bytes)
        pieces.push({ address, bytes, mark })
      } catch (error) {
        expect(error).toBeInstanceOf(KernelFull)
        refused++
      }
    }
    for (const { address, bytes } of pieces) kernel.free(address, bytes)
    expect(kernel.bytes).toBe(before)
    expect(refused).toBeGreaterThan(0)
    expect(kernel.reserve(4 * MEBIBYTE - before)).toBe(before)
  })

  test('that is not allowed is refused, and what was there stays', () => {
    const kernel = new Kernel(MEBIBYTE)
    const first = kernel.reserve(128 * 1_024)
    expect(() => kernel.reserve(MEBIBYTE)).toThrow(KernelFull)
    kernel.octets.fill(1, first, first + 10)
    expect(kernel.reserve(128 * 1_024)).toBeGreaterThan(first)
  })
})

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { HEADER_WORDS, openRegion, RegionFile, SEED_WORD, USER_WORD } from '../../src/os/region.ts'
import { temporaryFolder } from '../support/process.ts'

const WORDS = 2_000
let folder: ReturnType<typeof temporaryFolder>
let path: string
const opened: RegionFile[] = []

beforeEach(() => {
  folder = temporaryFolder()
  path = join(folder.path, 'region')
})
afterEach(() => {
  for (const file of opened.splice(0)) file.close()
})

/** As a start of the server does. */
function start(shape = 'shape', words = WORDS): RegionFile {
  const file = new RegionFile(path, shape, words)
  opened.push(file)
  file.ensure()
  return file
}

/** A word that a test writes, to see whether the region is still the same. */
const last = (file: RegionFile) => openRegion(file.path).words[WORDS - 1]
function mark(file: RegionFile, value: number) {
  openRegion(file.path).words[WORDS - 1] = value
}

describe('a region', () => {
  test('has its own random seeds', () => {
    const seeds = () => [...openRegion(start().path).words.subarray(SEED_WORD, USER_WORD)]
    const first = seeds()
    rmSync(path)
    expect(seeds()).not.toEqual(first)
    expect(SEED_WORD + 2).toBeLessThanOrEqual(HEADER_WORDS)
  })
})

test.each([
  ['another shape', () => start('other')],
  ['another size', () => start('shape', WORDS + 1)],
  ['a truncated file', () => truncateSync(path, 100)],
  ['an empty file', () => truncateSync(path, 0)],
  ['a foreign file', () => writeFileSync(path, 'x'.repeat(WORDS * 4))],
  ['zeroes', () => writeFileSync(path, new Uint8Array(WORDS * 4))],
  ['no file', () => rmSync(path)],
  // Magic, version, size, shape, boot, or what must be 0.
  ...Array.from({ length: SEED_WORD }, (_, word) => [`word ${word} of the header changed`, () => flip(4 * word)] as const),
])('a region whose file is not usable is replaced: %s', (_, damage) => {
  mark(start(), 7)
  damage()
  expect(last(start())).toBe(0)
  expect(statSync(path).size).toBe(WORDS * 4)
})

function flip(at: number) {
  const bytes = readFileSync(path)
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(path, bytes)
}

test('a region that needs more than the free space is refused before a byte is written', () => {
  const words = 2 ** 31 - 1
  const file = new RegionFile(path, 'huge', words)
  const { bavail, bsize } = statfsSync(folder.path)
  if (bavail * bsize > words * 4) expect(() => new RegionFile(path, 'huge', words + 1).ensure()).toThrow('8192.0 MiB')
  else expect(() => file.ensure()).toThrow('there is no room for 8192.0 MiB')
  expect(readdirSync(folder.path)).toEqual([])
})

test('a file is deleted before a file of another shape is created', () => {
  start('old')
  const before = openSync(path, 'r')
  const { ino } = fstatSync(before)
  start('new')
  expect([statSync(path).ino === ino, fstatSync(before).nlink]).toEqual([false, 0])
  closeSync(before)
})

test('a region is created although a killed start has left an incomplete file', () => {
  start()
  writeFileSync(`${path}.part`, 'half')
  start()
  expect(readdirSync(folder.path)).toEqual(['region'])
})

test('a closed region keeps no file open', () => {
  const file = start()
  // Others of this process open and close files too.
  const inode = statSync(file.path).ino
  const isOurs = (fd: string) => {
    try {
      return statSync(`/proc/self/fd/${fd}`).ino === inode
    } catch {
      return false
    }
  }
  const count = () => readdirSync('/proc/self/fd').filter(isOurs).length
  if (process.platform !== 'linux') return
  const before = count()
  const regions = Array.from({ length: 5 }, () => openRegion(file.path))
  expect(count()).toBeGreaterThanOrEqual(before + 5)
  for (const region of regions) region.close()
  expect(count()).toBe(before)
})

test('work of several processes in exclusive() never overlaps', async () => {
  const file = start()
  const script = `
    const { openRegion } = await import('${import.meta.dir}/../../src/os/region.ts')
    const region = openRegion('${file.path}')
    const at = ${WORDS - 2}
    for (let round = 0; round < 5_000; round++) region.exclusive(() => (region.words[at] = region.words[at] + 1))`
  const children = Array.from({ length: 3 }, () => Bun.spawn([process.execPath, '-e', script], { stderr: 'inherit' }))
  expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0])
  expect(openRegion(file.path).words[WORDS - 2]).toBe(15_000)
})

import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { noteUse, wasUsed } from '../../src/changes/demand.ts'
import { FlagReader, FlagWriter } from '../../src/changes/inFlight.ts'
import { changeLogWords, layoutOf } from '../../src/changes/layout.ts'
import {
  addUnknownOutcome,
  bumpEpoch,
  ChangeLogReader,
  ChangeLogWriter,
  clearWriter,
  expireLease,
  isLeasedSince,
  lagOf,
  noteLag,
  renewLease,
  settleUnknownOutcome,
} from '../../src/changes/log.ts'
import { monotonicMs } from '../../src/os/clock.ts'
import { openRegion, type Region, RegionFile } from '../../src/os/region.ts'
import { temporaryMemory } from '../support/memory.ts'
import { Random } from '../support/random.ts'
import { privateRegion } from '../support/region.ts'

const log = (writers = 2) => privateRegion(changeLogWords(writers))

function readAll(reader: ChangeLogReader): string[] | null {
  const texts: string[] = []
  return reader.read((text) => texts.push(text)) ? texts : null
}

describe('what is appended', () => {
  test('is read once by each reader, in the order of its writer, from the moment on at which the reader began', () => {
    const region = log()
    const [one, two] = [new ChangeLogWriter(region, 0), new ChangeLogWriter(region, 1)]
    one.append('before')
    const readers = [new ChangeLogReader(region), new ChangeLogReader(region)]
    one.append('a')
    two.append('x')
    one.append('b')
    for (const reader of readers) expect(readAll(reader)).toEqual(['a', 'b', 'x'])
    one.append('c')
    expect(readers.map(readAll)).toEqual([['c'], ['c']])
    expect(readers.map(readAll)).toEqual([[], []])
  })

  test('comes back as it was: empty, of every length, beyond ASCII', () => {
    const region = log(1)
    const [writer, reader] = [new ChangeLogWriter(region, 0), new ChangeLogReader(region)]
    const texts = ['', 'a', 'ab', 'abc', 'abcd', 'abcde', 'ä', '€uro', '\u{10ffff}', '\0', 'x'.repeat(30_000)]
    for (const text of texts) expect(writer.append(text)).toBe(true)
    expect(readAll(reader)).toEqual(texts)
  })

  test('is refused where it is too long for any reader to copy it whole', () => {
    const region = log(1)
    const [writer, reader] = [new ChangeLogWriter(region, 0), new ChangeLogReader(region)]
    expect(writer.append('x'.repeat(40_000))).toBe(false)
    expect(readAll(reader)).toEqual([])
  })

  test('goes round the ring many times', () => {
    const region = log(1)
    const random = new Random(1)
    const [writer, reader] = [new ChangeLogWriter(region, 0), new ChangeLogReader(region)]
    for (let round = 0; round < 2_000; round++) {
      const texts = Array.from({ length: random.below(5) }, (_, index) =>
        `${round}.${index} `.repeat(random.below(400)),
      )
      for (const text of texts) writer.append(text)
      expect(readAll(reader)).toEqual(texts)
    }
  })

  test('goes on where the head passes 2^31 and 2^32 words; the second makes readers forget', () => {
    for (const [start, isWhole] of [
      [2 ** 31 - 40, true],
      [-40, false],
    ] as const) {
      const region = log(1)
      region.words[layoutOf(region).heads] = start | 0
      const [writer, reader] = [new ChangeLogWriter(region, 0), new ChangeLogReader(region)]
      const texts = Array.from({ length: 40 }, (_, index) => `record ${index}`)
      for (const text of texts) writer.append(text)
      expect(readAll(reader)).toEqual(isWhole ? texts : null)
      writer.append('next')
      expect(readAll(reader)).toEqual(['next'])
    }
  })
})

describe('a reader that may have lost records says so, and begins again', () => {
  test('when a writer has come round', () => {
    const region = log(2)
    const [writer, reader] = [new ChangeLogWriter(region, 1), new ChangeLogReader(region)]
    for (let index = 0; index < 100; index++) writer.append('x'.repeat(4_000))
    expect(readAll(reader)).toBe(null)
    writer.append('after')
    expect(readAll(reader)).toEqual(['after'])
  })

  test('never in between: what it gives is what was appended, however it falls behind', () => {
    const region = log(2)
    const random = new Random(7)
    const [writer, reader] = [new ChangeLogWriter(region, 1), new ChangeLogReader(region)]
    let next = 0
    let expected = 0
    let lost = 0
    for (let round = 0; round < 400; round++) {
      for (let count = random.below(120); count > 0; count--)
        writer.append(`${next++}:${'y'.repeat(random.below(6_000))}`)
      const texts = readAll(reader)
      if (texts === null) lost++
      else for (const text of texts) expect(Number(text.split(':')[0])).toBe(expected++)
      expected = next
    }
    expect(lost).toBeGreaterThan(10)
    expect(lost).toBeLessThan(390)
  })
})

describe('a reader that may miss a write is not live', () => {
  test('before the lease was renewed for the first time', () => {
    const region = log(1)
    expireLease(region)
    expect(new ChangeLogReader(region).isLive).toBe(false)
  })

  test('a moment after the lease was renewed, and at once when it is expired', () => {
    const region = log(1)
    const reader = new ChangeLogReader(region)
    renewLease(region)
    expect(reader.isLive).toBe(true)
    renewLease(region, monotonicMs() - 1_000)
    expect(reader.isLive).toBe(false)
    renewLease(region)
    expireLease(region)
    expect(reader.isLive).toBe(false)
  })

  test('and that it was asked, as a writer says that it writes', () => {
    for (const use of [
      (region: Region) => new ChangeLogReader(region).isLive,
      (region: Region) => new FlagWriter(region, 0).begin(1).end(),
    ]) {
      const region = log(1)
      noteUse(region, monotonicMs() - 60_000)
      expect(wasUsed(region, 30_000)).toBe(false)
      use(region)
      expect(wasUsed(region, 30_000)).toBe(true)
    }
  })

  test('while any writer has an unknown outcome', () => {
    const region = log(3)
    const reader = new ChangeLogReader(region)
    renewLease(region)
    const isLive = () => {
      renewLease(region)
      return reader.isLive
    }
    for (const writer of [2, 0, 2]) addUnknownOutcome(region, writer)
    const seen: boolean[] = [isLive()]
    for (const writer of [2, 0, 2]) {
      settleUnknownOutcome(region, writer)
      seen.push(isLive())
    }
    expect(seen).toEqual([false, false, false, true])
  })

  test('until the slot of a writer that has ended is cleared, with its unknown outcomes and flags and those of no other', () => {
    const region = log(3)
    const reader = new ChangeLogReader(region)
    const marks = new FlagReader(region)
    for (const writer of [0, 1, 2]) new FlagWriter(region, writer).begin(1)
    for (const writer of [1, 1, 2]) addUnknownOutcome(region, writer)
    const before = marks.now(1)
    clearWriter(region, 1)
    renewLease(region)
    expect(reader.isLive).toBe(false)
    expect(marks.still(before)).toEqual([before[0], before[2]] as never)
    clearWriter(region, 2)
    expect(reader.isLive).toBe(true)
    expect(marks.still(before)).toEqual([before[0]] as never)
  })
})

test('processes that write at full speed, and die: a reader gets the records of each whole and in order', async () => {
  const file = new RegionFile(join(temporaryMemory(), 'changes'), 'changes', changeLogWords(3))
  file.ensure()
  const region = openRegion(file.path)
  const reader = new ChangeLogReader(region)
  const program = join(import.meta.dir, 'logWriter.ts')
  const start = (writer: number, from: number) =>
    Bun.spawn([process.execPath, program, file.path, String(writer), String(from)], { stdout: 'inherit' })
  const children = [start(0, 0), start(1, 0), start(2, 0)]
  const seen = [-1, -1, -1]
  let records = 0
  let losses = 0
  let deaths = 0
  const untilMs = performance.now() + 4_000
  while (performance.now() < untilMs) {
    const isWhole = reader.read((text) => {
      const [writer, number, padding] = JSON.parse(text) as [number, number, string]
      expect(padding).toBe('z'.repeat(number % 700))
      if (losses === 0 && deaths === 0 && seen[writer] !== -1) expect(number).toBe((seen[writer] as number) + 1)
      else expect(number).toBeGreaterThan(seen[writer] as number)
      seen[writer] = number
      records++
    })
    if (!isWhole) losses++
    if (records > 20_000 * (deaths + 1) && deaths < 3) {
      const victim = deaths++
      children[victim]?.kill('SIGKILL')
      await children[victim]?.exited
      children[victim] = start(victim, 1e9 * (deaths + 1))
    }
    await Bun.sleep(0)
  }
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.map(({ exited }) => exited))
  region.close()
  file.close()
  expect(records).toBeGreaterThan(1_000)
}, 20_000)

test('how late news of others are is there for each process', () => {
  const region = log()
  expect(lagOf(region)).toBe(0)
  noteLag(region, 17)
  expect(lagOf(region)).toBe(17)
  bumpEpoch(region)
  expect([lagOf(region), readAll(new ChangeLogReader(region))]).toEqual([17, []])
})

test('the lease counts since a moment only where it began after that', () => {
  const region = log()
  const nowMs = monotonicMs()
  expireLease(region)
  expect(isLeasedSince(region, nowMs)).toBe(false)
  renewLease(region, nowMs)
  expect([nowMs - 1, nowMs, nowMs + 1].map((ms) => isLeasedSince(region, ms))).toEqual([true, false, false])
})

import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { privateRegion } from '../../bench/prove/model.ts'
import { clearWriter } from '../../src/share/changeLog.ts'
import { changeRegionWords, MARKS_MAX } from '../../src/share/changeRegion.ts'
import { type Mark, MarkReader, MarkWriter } from '../../src/share/marks.ts'
import type { Region } from '../../src/share/region.ts'
import { OnTheirWay } from '../../src/views/onTheirWay.ts'

const [COMPANY, EMPLOYEE] = [1, 2]

/** Counts how often somebody looks whether writes have ended. */
class Watched extends MarkReader {
  looks = 0

  override still(marks: readonly Mark[]): Mark[] {
    if (marks.length > 0) this.looks++
    return super.still(marks)
  }
}

let region: Region
let marks: MarkWriter
let reader: Watched
let onTheirWay: OnTheirWay
/** Of a clock that goes on by so much each time somebody looks at it. */
let tickMs: number
let nowMs = 0
const clock = () => (nowMs += tickMs)
let spy: ReturnType<typeof spyOn>
beforeEach(() => {
  tickMs = 0
  spy = spyOn(performance, 'now').mockImplementation(clock)
  region = privateRegion(changeRegionWords(2))
  marks = new MarkWriter(region, 0)
  reader = new Watched(region)
  onTheirWay = new OnTheirWay(reader)
})

afterEach(() => spy.mockRestore())

test('nothing is on its way: all is told', async () => {
  expect(await onTheirWay.allTold(COMPANY)).toBe(true)
  expect(reader.looks).toBe(0)
})

test('writes that end are waited for, all of them, and those that begin meanwhile are not', async () => {
  const [one, other] = [marks.begin(COMPANY), new MarkWriter(region, 1).begin(COMPANY)]
  const told = onTheirWay.allTold(COMPANY)
  let isTold = false
  told.then(() => (isTold = true))
  const later = marks.begin(COMPANY)
  await Bun.sleep(3)
  one()
  await Bun.sleep(3)
  expect(isTold).toBe(false)
  other()
  expect(await told).toBe(true)
  later()
})

test('writes of other tables are not waited for', async () => {
  marks.begin(EMPLOYEE)
  expect(await onTheirWay.allTold(COMPANY)).toBe(true)
  expect(reader.looks).toBe(0)
})

test('a write that takes long is given up, and by whoever comes later at once, with or without others', async () => {
  const end = marks.begin(COMPANY)
  tickMs = 5
  expect(await onTheirWay.allTold(COMPANY)).toBe(false)
  expect(reader.looks).toBeGreaterThan(2)
  tickMs = 0
  for (let turn = 0; turn < 50; turn++) {
    const other = marks.begin(COMPANY)
    reader.looks = 0
    expect(await onTheirWay.allTold(COMPANY)).toBe(false)
    expect(reader.looks).toBeLessThanOrEqual(2)
    other()
  }
  end()
  expect(await onTheirWay.allTold(COMPANY)).toBe(true)
})

test('another write in the place of one that was given up is waited for', async () => {
  marks.begin(COMPANY)
  tickMs = 5
  expect(await onTheirWay.allTold(COMPANY)).toBe(false)
  tickMs = 0
  clearWriter(region, 0)
  const end = marks.begin(COMPANY)
  const told = onTheirWay.allTold(COMPANY)
  await Bun.sleep(3)
  end()
  expect(await told).toBe(true)
})

test('what was given up is forgotten once it has ended', async () => {
  const held = () => (onTheirWay as unknown as { slow: readonly Mark[] }).slow.length
  for (let round = 0; round < 5; round++) {
    tickMs = 5
    const ends = Array.from({ length: 10 }, () => marks.begin(COMPANY))
    await Promise.all([1, 2, 3].map(() => onTheirWay.allTold(COMPANY)))
    expect(held()).toBeGreaterThan(0)
    expect(held()).toBeLessThanOrEqual(3 * MARKS_MAX)
    for (const end of ends) end()
    tickMs = 0
    const end = marks.begin(COMPANY)
    const told = onTheirWay.allTold(COMPANY)
    end()
    await told
    expect(held()).toBe(0)
  }
})

import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { FlagReader, FlagWriter, type WriteFlag } from '../../src/changes/inFlight.ts'
import { changeLogWords, FLAGS_MAX } from '../../src/changes/layout.ts'
import { bumpEpoch, ChangeLogReader, ChangeLogWriter, clearWriter } from '../../src/changes/log.ts'
import { ChangePublisher } from '../../src/changes/publisher.ts'
import { InFlightWrites, type Seen, seenBy, versionOf } from '../../src/changes/settling.ts'
import { Snapshot } from '../../src/changes/snapshot.ts'
import { ChangeSubscriber } from '../../src/changes/subscriber.ts'
import type { Region } from '../../src/os/region.ts'
import { privateRegion } from '../support/region.ts'

const [COMPANY, EMPLOYEE] = [1, 2]
/** Of which nothing is known. */
const anything: Seen = { mayShow: () => true }

/** Counts how often it is looked whether writes have ended. */
class Watched extends FlagReader {
  looks = 0

  override still(flags: readonly WriteFlag[]): WriteFlag[] {
    if (flags.length > 0) this.looks++
    return super.still(flags)
  }
}

let region: Region
let flags: FlagWriter
let reader: Watched
let inFlight: InFlightWrites
let publisher: ChangePublisher
/** Of a clock that goes on by so much each time it is read. */
let tickMs: number
let nowMs = 0
const clock = () => (nowMs += tickMs)
let spy: ReturnType<typeof spyOn>
beforeEach(() => {
  tickMs = 0
  spy = spyOn(performance, 'now').mockImplementation(clock)
  region = privateRegion(changeLogWords(2))
  flags = new FlagWriter(region, 0)
  publisher = new ChangePublisher(new ChangeLogWriter(region, 0), region)
  reader = new Watched(region)
  inFlight = new InFlightWrites(reader, new ChangeSubscriber(new ChangeLogReader(region), 1_000_000))
})

afterEach(() => spy.mockRestore())

const publish = (transaction: number, isLast = true) =>
  publisher.publish('company', { transaction, before: null, after: ['1'] }, publisher.epoch, isLast)
const snapshot = (text: string) => seenBy(new Snapshot(text))

describe('writes that an answer may show', () => {
  test('there are none: all is published', () => {
    expect(inFlight.settled(COMPANY, anything)).toBe(true)
    expect(reader.looks).toBe(0)
  })

  test('are waited for, all of them, and those that begin meanwhile are not', async () => {
    const [one, other] = [flags.begin(COMPANY), new FlagWriter(region, 1).begin(COMPANY)]
    let isAnswered = false
    const settled = Promise.resolve(inFlight.settled(COMPANY, anything)).then((all) => {
      isAnswered = true
      return all
    })
    const later = flags.begin(COMPANY)
    await Bun.sleep(3)
    one.end()
    await Bun.sleep(3)
    expect(isAnswered).toBe(false)
    other.end()
    expect(await settled).toBe(true)
    later.end()
  })

  test('are not those of other tables', () => {
    flags.begin(EMPLOYEE)
    expect(inFlight.settled(COMPANY, anything)).toBe(true)
  })
})

describe('a write that takes long', () => {
  test('is overdue, and is not waited for again: the cache of its tables is off until it has ended', async () => {
    const write = flags.begin(COMPANY)
    tickMs = 5
    expect(await inFlight.settled(COMPANY, anything)).toBe(false)
    expect(reader.looks).toBeGreaterThan(2)
    tickMs = 0
    const others = new InFlightWrites(
      new FlagReader(region),
      new ChangeSubscriber(new ChangeLogReader(region), 1_000_000),
    )
    for (const each of [inFlight, others]) {
      expect([each.isOverdue(COMPANY), each.isOverdue(EMPLOYEE)]).toEqual([true, false])
      expect(await each.settled(COMPANY, anything)).toBe(false)
    }
    write.end()
    expect([inFlight.isOverdue(COMPANY), others.isOverdue(COMPANY)]).toEqual([false, false])
    expect(inFlight.settled(COMPANY, anything)).toBe(true)
  })

  test('does not keep an answer from waiting for others', async () => {
    flags.begin(COMPANY)
    tickMs = 5
    await inFlight.settled(COMPANY, anything)
    tickMs = 0
    const other = flags.begin(COMPANY)
    const settled = inFlight.settled(COMPANY, anything)
    let isAnswered = false
    Promise.resolve(settled).then(() => (isAnswered = true))
    await Bun.sleep(3)
    expect(isAnswered).toBe(false)
    other.end()
    expect(await settled).toBe(false)
  })

  test('is not overdue any more when its process has ended, and another in its place is not', async () => {
    const other = new FlagWriter(region, 1)
    for (const writer of [flags, other]) writer.begin(COMPANY)
    tickMs = 5
    expect(await inFlight.settled(COMPANY, anything)).toBe(false)
    clearWriter(region, 0)
    expect(inFlight.isOverdue(COMPANY)).toBe(true)
    clearWriter(region, 1)
    expect(inFlight.isOverdue(COMPANY)).toBe(false)
    flags.begin(COMPANY)
    expect(inFlight.isOverdue(COMPANY)).toBe(false)
  })
})

describe('an answer with a snapshot need not wait', () => {
  test('where all that it sees and that began behind the write is published', () => {
    publish(100)
    flags.begin(COMPANY)
    expect(inFlight.settled(COMPANY, snapshot('101:101:'))).toBe(true)
    expect(inFlight.settled(COMPANY, snapshot('101:104:101,102,103'))).toBe(true)
    expect(inFlight.settled(COMPANY, snapshot('101:104:101,103'))).not.toBe(true)
    publish(102)
    expect(inFlight.settled(COMPANY, snapshot('101:104:101,103'))).toBe(true)
  })

  test('for a transaction of which only some rows are published it does', () => {
    publish(100)
    flags.begin(COMPANY)
    publish(102, false)
    expect(inFlight.settled(COMPANY, snapshot('103:103:'))).not.toBe(true)
    publish(101)
    publish(102)
    expect(inFlight.settled(COMPANY, snapshot('103:103:'))).toBe(true)
  })

  test('for a write whose transaction is known, while the snapshot does not see that one', () => {
    publish(100)
    const write = flags.begin(COMPANY)
    write.identify(105)
    expect(inFlight.settled(COMPANY, snapshot('105:10000:105'))).toBe(true)
    expect(inFlight.settled(COMPANY, snapshot('106:106:'))).not.toBe(true)
  })

  test('where transactions are counted beyond 32 bits', () => {
    const first = 7 * 2 ** 32 - 4
    publish(first)
    const write = flags.begin(COMPANY)
    expect(inFlight.settled(COMPANY, snapshot(`${first + 1}:${first + 1}:`))).toBe(true)
    expect(inFlight.settled(COMPANY, snapshot(`${first + 4}:${first + 4}:`))).not.toBe(true)
    write.identify(first + 3)
    expect(inFlight.settled(COMPANY, snapshot(`${first + 3}:${first + 4}:${first + 3}`))).toBe(true)
  })

  test('where transactions pass half of 32 bits', () => {
    const half = 2 ** 31
    publish(half - 1)
    publish(half)
    publish(half + 5)
    flags.begin(COMPANY)
    expect(inFlight.settled(COMPANY, snapshot(`${half + 6}:${half + 6}:`))).toBe(true)
    expect(inFlight.settled(COMPANY, snapshot(`${half + 7}:${half + 7}:`))).not.toBe(true)
  })

  test('for more writes than have flags of their own neither', () => {
    publish(100)
    for (let write = 0; write < FLAGS_MAX; write++) flags.begin(COMPANY)
    publish(103)
    flags.begin(COMPANY)
    expect(inFlight.settled(COMPANY, snapshot('101:101:'))).toBe(true)
    expect(inFlight.settled(COMPANY, versionOf('99'))).toBe(true)
    expect(inFlight.settled(COMPANY, versionOf('102'))).not.toBe(true)
  })

  test('but has to where nothing is known of the write, or of what was before', () => {
    flags.begin(COMPANY)
    expect(inFlight.settled(COMPANY, snapshot('1:1:'))).not.toBe(true)
    publish(100)
    clearWriter(region, 0)
    bumpEpoch(region)
    flags.begin(COMPANY)
    expect(inFlight.settled(COMPANY, snapshot('50:50:'))).not.toBe(true)
  })
})

describe('what was seen under a snapshot and what is in the log are a state of the database', () => {
  test('while no write is in flight', () => expect(inFlight.look(COMPANY, anything)()).toBe(true))

  test('while writes in flight were sent behind all of it, and until one of them is published', () => {
    publish(100)
    flags.begin(COMPANY)
    expect(inFlight.look(EMPLOYEE, snapshot('300:300:'))()).toBe(true)
    const isState = inFlight.look(COMPANY, snapshot('90:101:90'))
    expect(isState()).toBe(true)
    publish(101)
    expect(isState()).toBe(false)
  })

  test('but not where the snapshot may have seen one of those', () => {
    publish(100)
    flags.begin(COMPANY)
    for (const [text, isState] of [
      ['101:101:', true],
      ['101:102:101', true],
      ['102:102:', false],
      ['101:103:101', false],
    ] as const)
      expect(inFlight.look(COMPANY, snapshot(text))()).toBe(isState)
  })
})

describe('an answer with one row need not wait', () => {
  test('where its version is older than the writes in flight, or published', () => {
    publish(100)
    flags.begin(COMPANY)
    for (const xmin of ['3', '99', '100']) expect(inFlight.settled(COMPANY, versionOf(xmin))).toBe(true)
    expect(inFlight.settled(COMPANY, versionOf('101'))).not.toBe(true)
    publish(101)
    expect(inFlight.settled(COMPANY, versionOf('101'))).toBe(true)
  })

  test('where the write in flight is known to be another', () => {
    publish(100)
    flags.begin(COMPANY).identify(105)
    expect(inFlight.settled(COMPANY, versionOf('104'))).toBe(true)
    expect(inFlight.settled(COMPANY, versionOf('105'))).not.toBe(true)
  })
})

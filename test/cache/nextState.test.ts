import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { Freshness } from '../../src/cache/freshness.ts'
import { NextState } from '../../src/cache/nextState.ts'
import { FlagReader, FlagWriter, tableBit } from '../../src/changes/inFlight.ts'
import { changeLogWords } from '../../src/changes/layout.ts'
import { ChangeLogReader, ChangeLogWriter, renewLease } from '../../src/changes/log.ts'
import { ChangePublisher } from '../../src/changes/publisher.ts'
import { InFlightWrites } from '../../src/changes/settling.ts'
import { ChangeSubscriber } from '../../src/changes/subscriber.ts'
import type { Region } from '../../src/os/region.ts'
import { privateRegion } from '../support/region.ts'

const [COMPANY, EMPLOYEE] = [tableBit(0), tableBit(1)]

/** Counts how often it is looked at writes in flight. */
class Watched extends FlagReader {
  looks = 0

  override now(tableMask: number) {
    this.looks++
    return super.now(tableMask)
  }
}

let region: Region
let writers: FlagWriter[]
let publisher: ChangePublisher
let subscriber: ChangeSubscriber
let flags: Watched
let states: NextState
/** A clock that goes on by so much each time it is read. */
let tickMs: number
let nowMs = 0
let spy: ReturnType<typeof spyOn>
beforeEach(() => {
  tickMs = 0
  spy = spyOn(performance, 'now').mockImplementation(() => (nowMs += tickMs))
  region = privateRegion(changeLogWords(3))
  renewLease(region)
  writers = [0, 1].map((writer) => new FlagWriter(region, writer))
  publisher = new ChangePublisher(new ChangeLogWriter(region, 0), region)
  subscriber = new ChangeSubscriber(new ChangeLogReader(region), 1_000_000)
  flags = new Watched(region)
  states = new NextState(new Freshness(subscriber, new InFlightWrites(flags, subscriber)))
})

afterEach(() => spy.mockRestore())

const begin = (writer: number, tableMask = COMPANY) => (writers[writer] as FlagWriter).begin(tableMask)
const publish = (transaction: number) =>
  publisher.publish('company', { transaction, before: null, after: ['1'] }, publisher.epoch)

/** One write has ended while another one, which was sent before, is on its way. */
function overlap() {
  const other = begin(1)
  const one = begin(0)
  publish(100)
  one.end()
  return other
}

describe('a list that columns answer does not wait', () => {
  test('while no write is in flight, or each was sent behind all that is published', () => {
    expect(states.next(COMPANY)).toBeNull()
    publish(100)
    begin(0)
    begin(1)
    expect(states.next(COMPANY)).toBeNull()
  })

  test('for writes to other tables', () => {
    begin(1, EMPLOYEE)
    begin(0).end()
    publish(100)
    expect(states.next(COMPANY)).toBeNull()
    expect(states.next(EMPLOYEE)).not.toBeNull()
  })
})

describe('where a write has ended while another one is on its way, lists wait', () => {
  test('until that has ended, and not for what was sent since', async () => {
    const other = overlap()
    const waiting = states.next(COMPANY)
    begin(0)
    other.end()
    await waiting
    expect(states.next(COMPANY)).toBeNull()
  })

  test('together, with one look for all', async () => {
    const other = overlap()
    const waiting = Array.from({ length: 50 }, () => states.next(COMPANY))
    expect(new Set(waiting).size).toBe(1)
    const before = flags.looks
    other.end()
    await Promise.all(waiting)
    expect(flags.looks - before).toBe(1)
  })

  test('until all rows of a transaction of others are taken in', async () => {
    const change = { transaction: 100, before: null, after: ['1'] }
    publisher.publishForeign('company', change, false)
    subscriber.catchUp()
    const waiting = states.next(COMPANY)
    publisher.publishForeign('company', change, true)
    await waiting
    expect(states.next(COMPANY)).toBeNull()
  })

  test('for a moment only, and then for some time no more', async () => {
    tickMs = 4
    overlap()
    await states.next(COMPANY)
    tickMs = 0
    expect(states.next(COMPANY)).toBeNull()
    nowMs += 49
    expect(states.next(COMPANY)).toBeNull()
    nowMs += 1
    expect(states.next(COMPANY)).not.toBeNull()
  })
})

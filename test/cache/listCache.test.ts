import { beforeEach, describe, expect, test } from 'bun:test'
import type { Baseline } from '../../src/cache/entries.ts'
import { ListCache } from '../../src/cache/listCache.ts'
import type { Selection } from '../../src/cache/selection.ts'
import { FlagReader, FlagWriter } from '../../src/changes/inFlight.ts'
import { changeLogWords } from '../../src/changes/layout.ts'
import {
  addUnknownOutcome,
  bumpEpoch,
  ChangeLogReader,
  ChangeLogWriter,
  expireLease,
  renewLease,
  settleUnknownOutcome,
} from '../../src/changes/log.ts'
import { ChangePublisher } from '../../src/changes/publisher.ts'
import { InFlightWrites } from '../../src/changes/settling.ts'
import { ChangeSubscriber } from '../../src/changes/subscriber.ts'
import company from '../../src/entities/company.ts'
import type { Row } from '../../src/model/sql.ts'
import type { Region } from '../../src/os/region.ts'
import { privateRegion } from '../support/region.ts'

const TABLE = 'company'
const TABLES = 1
/** Not asked for: there are no columns here. */
const OF = { entity: company, filters: [] }
const enabled: Selection = { ...OF, table: TABLE, tableMask: TABLES, key: 'enabled', matches: (row) => row[1] === 't' }
const all: Selection = { ...OF, table: TABLE, tableMask: TABLES, key: 'all', matches: () => true }
const untestable: Selection = { ...OF, table: TABLE, tableMask: TABLES, key: 'untestable', matches: null }
const row = (id: number, isEnabled: boolean): Row => [`${id}`, isEnabled ? 't' : 'f']
/** Everything below 100 is seen, nothing from 100 on. */
const SNAPSHOT = '100:100:'
const LATER = '200:200:'
const BYTES_MAX = 1_000_000

let region: Region
let publisher: ChangePublisher
let flags: FlagWriter
let cache: ListCache<string>
beforeEach(() => {
  region = privateRegion(changeLogWords(2))
  renewLease(region)
  publisher = new ChangePublisher(new ChangeLogWriter(region, 0), region)
  flags = new FlagWriter(region, 0)
  cache = viewsOf(BYTES_MAX)
})

const viewsOf = (
  bytesMax: number,
  changesBytesMax = BYTES_MAX,
  InFlight = InFlightWrites,
  Reader = ChangeLogReader,
) => {
  const subscriber = new ChangeSubscriber(new Reader(region), changesBytesMax)
  return new ListCache<string>(subscriber, new InFlight(new FlagReader(region), subscriber), bytesMax)
}
function baseline(selection: Selection): Baseline {
  // However slow the machine is.
  renewLease(region)
  return cache.baseline(selection) as Baseline
}
const totalOf = (selection: Selection) => baseline(selection).total
const learn = (selection: Selection, total: number, snapshot = SNAPSHOT) =>
  cache.learnTotal(baseline(selection), total, snapshot)
const tell = (transaction: number, before: Row | null, after: Row | null) =>
  publisher.publish(TABLE, { transaction, before, after })
const keep = (key: string, selection: Selection, snapshot: string | null = SNAPSHOT) =>
  cache.keepPage(key, baseline(selection), snapshot, 'content', 100)

describe('a total', () => {
  test('is not known before it was counted', () => expect(totalOf(all)).toBe(null))

  test('follows rows that come, go, and change sides', () => {
    learn(enabled, 10)
    expect(totalOf(enabled)).toBe(10)
    tell(101, null, row(1, true))
    expect(totalOf(enabled)).toBe(11)
    tell(102, row(1, true), row(1, false))
    expect(totalOf(enabled)).toBe(10)
    tell(103, row(1, false), row(1, true))
    tell(104, row(1, true), row(1, true))
    tell(105, row(2, false), null)
    expect(totalOf(enabled)).toBe(11)
    tell(106, row(1, true), null)
    expect(totalOf(enabled)).toBe(10)
  })

  test('counts a change that is published meanwhile once: by the snapshot that sees it, or afterwards', () => {
    const before = baseline(all)
    tell(99, null, row(1, true)) // was counted
    tell(100, null, row(2, true)) // was not
    cache.learnTotal(before, 10, SNAPSHOT)
    expect(totalOf(all)).toBe(11)
    tell(98, null, row(3, true)) // was counted, and is published late
    expect(totalOf(all)).toBe(11)
  })

  test('a transaction that ran while the snapshot was taken was not counted', () => {
    const before = baseline(all)
    tell(95, null, row(1, true))
    tell(96, null, row(2, true))
    cache.learnTotal(before, 10, '95:100:95,97')
    expect(totalOf(all)).toBe(11)
  })

  test('is of its table alone', () => {
    learn(all, 10)
    publisher.publish('employee', { transaction: 101, before: null, after: row(1, true) })
    publisher.publishReset('employee')
    expect(totalOf(all)).toBe(10)
  })

  test('is dropped by a record of an earlier epoch: PostgreSQL may have lost the write, or done it late', () => {
    const { epoch } = publisher
    bumpEpoch(region)
    learn(all, 10)
    learn(enabled, 5)
    // Lost, and its number is given to another now, which was counted or was not.
    for (const transaction of [99, 101]) {
      publisher.publish(TABLE, { transaction, before: null, after: row(1, false) }, epoch)
      expect([totalOf(all), totalOf(enabled)]).toEqual([null, null])
      learn(all, 10)
      learn(enabled, 5)
    }
    // What was sent since counts.
    tell(102, null, row(1, true))
    expect([totalOf(all), totalOf(enabled)]).toEqual([11, 6])
  })

  test('is dropped by a reset of its table', () => {
    learn(all, 10)
    publisher.publishReset(TABLE)
    expect(totalOf(all)).toBe(null)
    learn(all, 12, LATER)
    expect(totalOf(all)).toBe(12)
  })

  test('that was asked for before a reset is not kept after it', () => {
    const before = baseline(all)
    publisher.publishReset(TABLE)
    cache.learnTotal(before, 10, SNAPSHOT)
    expect(totalOf(all)).toBe(null)
  })

  test('that TypeScript cannot decide is dropped by the first change that it has not counted', () => {
    const before = baseline(untestable)
    tell(50, null, row(1, true))
    cache.learnTotal(before, 10, SNAPSHOT)
    expect(totalOf(untestable)).toBe(10)
    tell(101, null, row(2, true))
    expect(totalOf(untestable)).toBe(null)
  })

  test('below zero is dropped: a row’s deletion was published before its creation', () => {
    learn(all, 0)
    tell(102, row(1, true), null)
    expect(totalOf(all)).toBe(null)
    tell(101, null, row(1, true))
    expect(totalOf(all)).toBe(null)
    learn(all, 0, LATER)
    expect(totalOf(all)).toBe(0)
  })

  test('is dropped with all else when a writer has died, also while it is counted', () => {
    learn(all, 10)
    const before = baseline(enabled)
    bumpEpoch(region)
    expect(totalOf(all)).toBe(null)
    cache.learnTotal(before, 5, SNAPSHOT)
    expect(totalOf(enabled)).toBe(null)
  })

  test('is dropped when more was published than a ring holds', () => {
    learn(all, 10)
    for (let index = 0; index < 20_000; index++) tell(101 + index, null, row(index, true))
    expect(totalOf(all)).toBe(null)
  })

  test('is dropped when more was published than is retained; a total that is asked for again and again stays', () => {
    cache = viewsOf(BYTES_MAX, 20_000)
    learn(all, 10)
    learn(enabled, 10)
    for (let index = 0; index < 1_000; index++) {
      tell(101 + index, null, row(index, true))
      expect(totalOf(all)).toBe(11 + index)
    }
    expect(totalOf(enabled)).toBe(null)
  })

  test('is neither used nor kept while the lease has run out', () => {
    learn(all, 10)
    expireLease(region)
    expect(cache.baseline(all)).toBe(null)
    renewLease(region)
    expect(totalOf(all)).toBe(10)
  })
})

describe('the total at a snapshot', () => {
  test('counts the changes since the baseline that the snapshot sees', async () => {
    learn(all, 10)
    const before = baseline(all)
    tell(101, null, row(1, true))
    tell(150, null, row(2, true))
    tell(102, row(3, true), null)
    tell(99, null, row(4, true)) // was in the total
    const atSnapshot = await cache.totalAt(before, '120:120:')
    expect(atSnapshot).toMatchObject({ total: 10 })
    expect(atSnapshot?.seen.map(({ transaction }) => transaction)).toEqual([101, 102, 99])
    // The total known goes on from the baseline, by all.
    expect(totalOf(all)).toBe(11)
  })

  test('is known once the writes in flight are published', async () => {
    learn(all, 10)
    const before = baseline(all)
    const end = flags.begin(TABLES).end
    const atSnapshot = cache.totalAt(before, LATER)
    tell(150, null, row(1, true))
    end()
    expect(await atSnapshot).toMatchObject({ total: 11 })
  })

  test('is not known where a write is overdue', async () => {
    learn(all, 10)
    const end = flags.begin(TABLES).end
    expect(await cache.totalAt(baseline(all), LATER)).toBe(null)
    // From now on it is overdue, and the cache of its table off.
    expect(cache.baseline(all)).toBe(null)
    expect(cache.baseline({ ...all, tableMask: TABLES << 1 })).not.toBe(null)
    end()
    expect(await cache.totalAt(baseline(all), LATER)).not.toBe(null)
  })

  test('is not known without a total, after a reset, or where changes were lost', async () => {
    expect(await cache.totalAt(baseline(all), LATER)).toBe(null)
    const disturbances = [
      () => publisher.publishReset(TABLE),
      () => bumpEpoch(region),
      () => expireLease(region),
      // A row is gone whose insert was never published.
      () => tell(101, row(1, true), null),
    ]
    for (const disturb of disturbances) {
      learn(all, 0)
      const before = baseline(all)
      expect(before.total).toBe(0)
      disturb()
      expect(await cache.totalAt(before, LATER)).toBe(null)
      renewLease(region)
    }
  })
})

describe('a page', () => {
  test('is not used when a row was changed that a write in flight may have moved out of it', () => {
    cache.keepPage('key', baseline(enabled), null, 'content', 100)
    const end = flags.begin(TABLES).end
    expect(cache.page('key')).toBe('content')
    tell(102, row(1, false), row(1, false))
    expect(cache.page('key')).toBe(null)
    tell(101, row(1, true), row(1, false))
    end()
    cache.keepPage('key', baseline(enabled), null, 'content', 100)
    tell(103, row(1, false), row(1, false))
    expect(cache.page('key')).toBe('content')
  })

  test('is confirmed only up to what was published before the look at the writes in flight', () => {
    let meanwhile = () => {}
    class Watched extends InFlightWrites {
      override isEmpty(tableMask: number) {
        const isNone = super.isEmpty(tableMask)
        meanwhile()
        return isNone
      }
    }
    cache = viewsOf(BYTES_MAX, BYTES_MAX, Watched)
    cache.keepPage('key', baseline(enabled), null, 'content', 100)
    tell(101, row(2, false), row(2, false))
    let end = () => {}
    meanwhile = () => {
      // Row 1 leaves the page, in a write that is not published yet, and its next change is published already.
      end = flags.begin(TABLES).end
      tell(103, row(1, false), row(1, false))
    }
    expect(cache.page('key')).toBe('content')
    meanwhile = () => {}
    // The client of 103 has its answer.
    expect(cache.page('key')).toBe(null)
    end()
  })

  test('is not served between the epoch of an unknown outcome and its end', () => {
    let meanwhile = () => {}
    class Watched extends ChangeLogReader {
      override read(take: (text: string) => void) {
        const isWhole = super.read(take)
        meanwhile()
        return isWhole
      }
    }
    cache = viewsOf(BYTES_MAX, BYTES_MAX, InFlightWrites, Watched)
    cache.keepPage('key', baseline(enabled), null, 'content', 100)
    addUnknownOutcome(region, 1)
    meanwhile = () => {
      bumpEpoch(region)
      settleUnknownOutcome(region, 1)
    }
    expect(cache.page('key')).toBe(null)
    meanwhile = () => {}
    expect(cache.page('key')).toBe(null)
  })

  test('is there until a change touches its selection, whichever way', () => {
    const changes: [Row | null, Row | null, stays: boolean][] = [
      [null, row(1, false), true],
      [row(1, false), null, true],
      [row(1, false), row(1, false), true],
      [null, row(1, true), false],
      [row(1, true), null, false],
      [row(1, true), row(1, false), false],
      [row(1, false), row(1, true), false],
      // In it before and after, with other values.
      [row(1, true), [...row(1, true), 'new'], false],
    ]
    for (const [before, after, stays] of changes) {
      keep('key', enabled)
      expect(cache.page('key')).toBe('content')
      tell(101, before, after)
      expect(cache.page('key')).toBe(stays ? 'content' : null)
    }
  })

  test('includes what its snapshot sees, however late it is published; without one, what came before its baseline', () => {
    for (const [snapshot, transaction, stays] of [
      [SNAPSHOT, 99, true],
      [SNAPSHOT, 100, false],
      [null, 99, false],
    ] as const) {
      const before = baseline(all)
      tell(transaction, null, row(1, true))
      cache.keepPage('key', before, snapshot, 'content', 100)
      expect([snapshot, transaction, cache.page('key')]).toEqual([snapshot, transaction, stays ? 'content' : null])
    }
  })

  test('that was read between a foreign write’s commit and its record goes with the record: its total is without it', async () => {
    learn(enabled, 10)
    const before = baseline(enabled)
    // Its snapshot sees 150, which has added a row and is not published yet.
    const atSnapshot = await cache.totalAt(before, LATER)
    expect(atSnapshot?.total).toBe(10)
    cache.keepPage('key', before, LATER, 'eleven rows of 10', 100)
    publisher.publishForeign(TABLE, { transaction: 149, before: null, after: row(2, false) })
    expect(cache.page('key')).toBe('eleven rows of 10')
    publisher.publishForeign(TABLE, { transaction: 150, before: null, after: row(1, true) })
    expect(cache.page('key')).toBe(null)
    expect(totalOf(enabled)).toBe(11)
  })

  test('is dropped by each kind of foreign change that touches it; totals take each once', () => {
    learn(all, 10, LATER)
    const changes: [Row | null, Row | null][] = [
      [null, row(1, true)],
      [row(1, true), row(1, false)],
      [row(1, false), null],
    ]
    for (const [index, [before, after]] of changes.entries()) {
      keep('key', all, LATER)
      publisher.publishForeign(TABLE, { transaction: 150 + index, before, after })
      expect(cache.page('key')).toBe(null)
    }
    expect(totalOf(all)).toBe(10)
    publisher.publishForeign(TABLE, { transaction: 200, before: null, after: row(2, true) })
    expect(totalOf(all)).toBe(11)
  })

  test('of a selection that TypeScript cannot decide is dropped by any change of its table', () => {
    keep('key', untestable)
    publisher.publish('employee', { transaction: 101, before: null, after: row(1, true) })
    expect(cache.page('key')).toBe('content')
    tell(101, null, row(1, false))
    expect(cache.page('key')).toBe(null)
  })

  test('is dropped by a reset, and when a writer has died while it was asked for', () => {
    keep('key', all)
    publisher.publishReset(TABLE)
    expect(cache.page('key')).toBe(null)
    const before = baseline(all)
    bumpEpoch(region)
    cache.keepPage('key', before, SNAPSHOT, 'content', 100)
    expect(cache.page('key')).toBe(null)
  })

  test('is not used while the lease has run out', () => {
    keep('key', all)
    expireLease(region)
    expect(cache.page('key')).toBe(null)
    renewLease(region)
    expect(cache.page('key')).toBe('content')
  })
})

describe('an answer that is on its way', () => {
  test('is as good as a new one until a change touches its selection', () => {
    const before = baseline(enabled)
    expect(cache.isFresh(before)).toBe(true)
    tell(101, null, row(1, false))
    expect(cache.isFresh(before)).toBe(true)
    tell(102, null, row(1, true))
    expect(cache.isFresh(before)).toBe(false)
  })

  test('is not after changes were lost, after a reset, or once the lease has run out', () => {
    for (const disturb of [() => bumpEpoch(region), () => publisher.publishReset(TABLE), () => expireLease(region)]) {
      const before = baseline(enabled)
      expect(cache.isFresh(before)).toBe(true)
      disturb()
      expect(cache.isFresh(before)).toBe(false)
      renewLease(region)
    }
  })
})

describe('memory is bounded, and the least recently used goes first', () => {
  const COUNT = 2_000

  test('of pages', () => {
    cache = viewsOf(100_000)
    for (let index = 0; index < COUNT; index++) {
      cache.keepPage(`page ${index}`, baseline(all), SNAPSHOT, 'x', 1_000)
      expect(cache.page('page 0')).toBe('x')
    }
    const kept = Array.from({ length: COUNT }, (_, index) => cache.page(`page ${index}`)).filter(Boolean)
    expect(kept.length).toBeLessThan(100)
    expect(kept.length).toBeGreaterThan(20)
  })

  test('of totals', () => {
    cache = viewsOf(200_000)
    const selection = (index: number): Selection => ({ ...all, key: `selection ${index}` })
    for (let index = 0; index < COUNT; index++) {
      learn(selection(index), index)
      expect(totalOf(selection(0))).toBe(0)
    }
    const kept = Array.from({ length: COUNT }, (_, index) => totalOf(selection(index))).filter(
      (total) => total !== null,
    )
    expect(kept.length).toBeLessThan(60)
    expect(kept.length).toBeGreaterThan(10)
  })
})

import { beforeEach, describe, expect, test } from 'bun:test'
import type { Change } from '../../src/changes/change.ts'
import { FlagReader, FlagWriter } from '../../src/changes/inFlight.ts'
import { changeLogWords } from '../../src/changes/layout.ts'
import { bumpEpoch, ChangeLogReader, ChangeLogWriter } from '../../src/changes/log.ts'
import { ChangePublisher } from '../../src/changes/publisher.ts'
import { tableMask, WriteRecorder } from '../../src/changes/recorder.ts'
import { ChangeSubscriber } from '../../src/changes/subscriber.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import type { WriteObserver } from '../../src/execute/work.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Row } from '../../src/model/sql.ts'
import type { Region } from '../../src/os/region.ts'
import { privateRegion } from '../support/region.ts'

const entities = [absence, company, employee]

let region: Region
/** What was published, and whether the write was marked as in flight then. */
let published: { table: string; change: Change | 'reset'; isMarked: boolean }[]
beforeEach(() => {
  region = privateRegion(changeLogWords(1))
  published = []
})

class WatchedPublisher extends ChangePublisher {
  override publish(table: string, change: Change, epoch: number) {
    published.push({ table, change, isMarked: isMarked() })
    super.publish(table, change, epoch)
  }

  override publishReset(table: string) {
    published.push({ table, change: 'reset', isMarked: isMarked() })
    super.publishReset(table)
  }
}

const isMarked = () => new FlagReader(region).now(0xffff).length > 0
const writesOf = (entity: Entity) =>
  new WriteRecorder(
    entity,
    entities,
    new WatchedPublisher(new ChangeLogWriter(region, 0), region),
    new FlagWriter(region, 0),
    { followed: async () => false },
  )

/** A row with these values, each property's own name elsewhere. */
const rowOf = ({ properties }: Entity, values: Record<string, string | null>): Row =>
  properties.map(({ name }) => (name in values ? (values[name] as string | null) : name))

function settled(observer: WriteObserver, rows: readonly Row[] | null) {
  observer.settle(rows)
  expect(isMarked()).toBe(false)
  for (const { isMarked } of published) expect(isMarked).toBe(true)
  return published.map(({ table, change }) => [table, change])
}

const [old, renamed] = [rowOf(company, { Name: 'old' }), rowOf(company, { Name: 'new' })]

describe('each row of a statement’s outcome is published, and only then the write is not in flight any more', () => {
  test('new rows', () => {
    expect(
      settled(writesOf(company).create(), [
        [...old, '7'],
        [...renamed, '7', '2'],
      ]),
    ).toEqual([
      ['company', { transaction: 7, before: null, after: old }],
      ['company', { transaction: 7, before: null, after: renamed }],
    ])
  })

  test('many new rows of one statement are one reset, and the last of them', () => {
    const rows = Array.from({ length: 1_000 }, (_, at) => [...rowOf(company, { Name: `${at} ${'x'.repeat(60)}` }), '7'])
    const last = rowOf(company, { Name: `999 ${'x'.repeat(60)}` })
    expect(settled(writesOf(company).createRows(), rows.slice(0, 100)).map(([, change]) => change)).not.toContain(
      'reset',
    )
    published = []
    expect(settled(writesOf(company).createRows(), rows)).toEqual([
      ['company', 'reset'],
      ['company', { transaction: 7, before: null, after: last }],
    ])
  })

  test('changed rows, with the number of their run or without', () => {
    const change = rowOf(absence, { Status: 'new' })
    const before = rowOf(absence, { Status: 'old' })
    expect(
      settled(writesOf(absence).update(), [
        [...change, ...before, '7'],
        [...before, ...change, '7', '1'],
      ]),
    ).toEqual([
      ['absence', { transaction: 7, before, after: change }],
      ['absence', { transaction: 7, before: change, after: before }],
    ])
  })

  test('rows that are gone', () => {
    const change = { transaction: 7, before: old, after: null }
    expect(settled(writesOf(company).remove(), [[...old, '7']])).toEqual([['company', change]])
  })

  test('none', () => {
    expect(settled(writesOf(company).update(), [])).toEqual([])
  })
})

describe('rows that copy from others', () => {
  test('are reset along with a name, before the name is published', () => {
    expect(settled(writesOf(company).rename(), [[...renamed, ...old, '7']])).toEqual([
      ['employee', 'reset'],
      ['absence', 'reset'],
      ['company', { transaction: 7, before: old, after: renamed }],
    ])
  })

  test('are not reset where something else has changed', () => {
    const disabled = rowOf(company, { Name: 'old', Enabled: 'f' })
    expect(settled(writesOf(company).update(), [[...disabled, ...old, '7']]).map(([table]) => table)).toEqual([
      'company',
    ])
  })

  test('are not reset where the database’s log is read: published from there, and then the name', async () => {
    const steps: string[] = []
    const following = Promise.withResolvers<boolean>()
    class Fed extends WatchedPublisher {
      override get isFed() {
        return true
      }
    }
    const writes = (followed: (transaction: number) => Promise<boolean>) => {
      const publisher = new Fed(new ChangeLogWriter(region, 0), region)
      return new WriteRecorder(company, entities, publisher, new FlagWriter(region, 0), { followed })
    }
    const settling = writes((transaction) => {
      steps.push(`waits for ${transaction}`)
      return following.promise
    })
      .rename()
      .settle([[...renamed, ...old, '7']])
    expect([steps, published, isMarked()]).toEqual([['waits for 7'], [], true])
    following.resolve(true)
    await settling
    expect(published.map(({ table, change, isMarked }) => [table, change === 'reset', isMarked])).toEqual([
      ['company', false, true],
    ])
    expect(isMarked()).toBe(false)
    published.length = 0
    await writes(async () => false)
      .rename()
      .settle([[...renamed, ...old, '7']])
    expect(published.map(({ table, change }) => [table, change === 'reset'])).toEqual([
      ['employee', true],
      ['absence', true],
      ['company', false],
    ])
  })

  test('of the same table too', () => {
    const [before, after] = [rowOf(employee, { DisplayName: 'A' }), rowOf(employee, { DisplayName: 'B' })]
    const tables = settled(writesOf(employee).rename(), [[...after, ...before, '7']]).map(([table, change]) => [
      table,
      change === 'reset',
    ])
    expect(tables.slice(0, -1).sort()).toEqual([
      ['absence', true],
      ['employee', true],
    ])
    expect(tables.at(-1)).toEqual(['employee', false])
  })

  test('are flagged as in flight with the row, where it is renamed', () => {
    const reader = new FlagReader(region)
    const rename = writesOf(company).rename()
    for (const entity of entities) expect(reader.now(tableMask(entities, [entity]))).toHaveLength(1)
    rename.settle([])
    for (const begin of ['create', 'update', 'remove'] as const) {
      const write = writesOf(company)[begin]()
      expect(reader.now(tableMask(entities, [company]))).toHaveLength(1)
      expect(reader.now(tableMask(entities, [employee, absence]))).toEqual([])
      write.settle([])
    }
  })
})

test('an unknown outcome resets the table and all that copy from it', () => {
  expect(settled(writesOf(absence).update(), null)).toEqual([['absence', 'reset']])
  published.length = 0
  expect(settled(writesOf(company).rename(), null)).toEqual([
    ['company', 'reset'],
    ['employee', 'reset'],
    ['absence', 'reset'],
  ])
})

test('a record is read as it was written: a changed row stands in it by its differences', () => {
  const subscriber = new ChangeSubscriber(new ChangeLogReader(region), 1_000_000)
  const changes: Change[] = [
    { transaction: 2 ** 40, before: null, after: rowOf(employee, { FirstName: 'Zoë "\\\n', Title: null }) },
    { transaction: 8, before: rowOf(employee, { Title: null }), after: rowOf(employee, { Type: null, Title: '' }) },
    { transaction: 9, before: old, after: old },
    { transaction: 10, before: old, after: null },
  ]
  const publisher = new ChangePublisher(new ChangeLogWriter(region, 0), region)
  for (const change of changes) publisher.publish('table', change)
  subscriber.catchUp()
  expect(subscriber.since('table', 0)).toEqual(changes)
  expect(subscriber.since('table', 3)).toEqual(changes.slice(3))
  expect([subscriber.next('table'), subscriber.next('other')]).toEqual([4, 0])
})

test('a record has the epoch from when its write was sent, however late it is published', () => {
  const subscriber = new ChangeSubscriber(new ChangeLogReader(region), 1_000_000)
  const { settle } = writesOf(company).create()
  bumpEpoch(region)
  subscriber.catchUp()
  settle([[...old, '7']])
  subscriber.catchUp()
  expect([subscriber.next('company'), subscriber.since('company', 0)]).toEqual([1, null])
  writesOf(company)
    .create()
    .settle([[...old, '8']])
  subscriber.catchUp()
  expect(subscriber.since('company', 1)).toEqual([{ transaction: 8, before: null, after: old }])
})

test('a row too long for the log drops every cache', () => {
  const subscriber = new ChangeSubscriber(new ChangeLogReader(region), 1_000_000)
  const publisher = new ChangePublisher(new ChangeLogWriter(region, 0), region)
  publisher.publish('table', { transaction: 1, before: null, after: ['x'.repeat(100_000)] })
  subscriber.catchUp()
  expect(subscriber.generation).toBe(1)
})

import { expect, test } from 'bun:test'
import {
  CHANGE_COLUMNS,
  compileChanges,
  compileHistory,
  compileHistoryStretchEnd,
  compileNewest,
  compileNewestShown,
  compileStretchEnd,
} from '../../src/compile/changes.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { compileWaiting } from '../../src/hooks/store.ts'
import type { Statement } from '../../src/model/sql.ts'
import { type View, viewOf, wholeView } from '../../src/model/view.ts'
import { connect, createDatabase } from '../support/postgres.ts'

const all = wholeView(company)
/** A view of employees that shows these properties. */
const employees = (...names: string[]) =>
  viewOf(employee, new Set(employee.properties.filter(({ name }) => names.includes(name))), [], `read ${names}`)

test('the first page of changes begins after the last deleted event, even if deleted events are still in the table', async () => {
  const sql = connect(await createDatabase())
  await sql`
    insert into entity_change (position, entity, id, action, key, changed)
    select n, 'company', 1, 'u', 'k', '{}' from generate_series(1, 9) as n`
  await sql`update change_feed set deleted_position = 6, deleted_number = 1000`
  for (const { text, values } of [compileChanges([all], null, 2), compileHistory(all, '1', null, 2)]) {
    const rows = await sql.unsafe(text, values as string[]).values()
    expect(rows.map((row) => row[CHANGE_COLUMNS.indexOf('position')])).toEqual(['7', '8'])
  }
})

test('positions of changes are ordered as numbers, not as texts', async () => {
  const sql = connect(await createDatabase())
  await sql`
    insert into entity_change (position, entity, id, action, key, changed)
    select n, 'company', n, 'u', 'k', '{}' from generate_series(8, 101) as n`
  const newest = compileNewest([company])
  const [last] = await sql.unsafe(newest.text, newest.values as string[]).values()
  expect(last?.[1]).toBe('101')
  const first = compileWaiting(['*'], [all], { position: '8', number: '999' }, 2)
  const rows = await sql.unsafe(first?.text ?? '', first?.values as string[]).values()
  expect(rows.map(([position]) => position)).toEqual(['9', '10'])
})

const STATE =
  'select l.run, l.deleted_position::text, l.deleted_number::text, pg_snapshot_xmin(pg_current_snapshot())::text, pg_snapshot_xmax(pg_current_snapshot())::text'
const EVENT =
  "position::text, number::text, entity, id::text, action::text, date_trunc('second', at)::text, key, to_json(changed)::text, to_json(before)::text, to_json(after)::text"
const page = (events: string) =>
  `${STATE}, ${EVENT} from change_feed as l left join lateral (${events}) as event on true order by event.position, event.number`
const eventsOf = (table: string, after: string, shown: string, limit: string) =>
  `(select * from entity_change where entity = '${table}' and (position, number) > ${after} and position < pg_snapshot_xmin(pg_current_snapshot())::text::bigint${shown} order by position, number limit ${limit}::int)`

/** Condition for the events of row $1 after a position; if an event of the row has this position, for the events after it. */
const ofRow = (table: string) => {
  const own = `entity = '${table}' and id = $1`
  const start = '($2::bigint, $3::bigint)'
  const known = `select number from entity_change where ${own} and (position + 0, number) = ${start}`
  return `${own} and (position + 0, number) > ${start} and number > coalesce((${known}), 0)`
}

test('the statement for changes has no condition on changed properties if the views show all properties', () => {
  const start = '(l.deleted_position, l.deleted_number)'
  const both = compileChanges([all, wholeView(employee)], null, 51)
  const events = ['company', 'employee'].map((table) => eventsOf(table, start, '', '$1')).join(' union all ')
  expect(both).toEqual({
    text: page(`select * from (${events}) as event order by position, number limit $1::int`),
    values: ['51'],
  })
  const history = compileHistory(all, '7', { position: '3', number: '4' }, 51)
  expect(history).toEqual({
    text: page(`select * from entity_change where ${ofRow('company')} order by number limit $4::int`),
    values: ['7', '3', '4', '51'],
  })
  const named = viewOf(company, new Set(company.properties), [], 'read Companies?fields=Id,Name,Enabled')
  expect(compileHistory(named, '7', { position: '3', number: '4' }, 51)).toEqual(history)
})

test('views that show different properties share one statement for changes, whose parameter has the names of the properties', () => {
  const shown = " and (action <> 'u' or changed && $4::text[])"
  const after = { position: '3', number: '4' }
  const text = (names: string) => compileChanges([employees(...names.split(' '))], after, 51).text
  expect(text('Title')).toBe(text('JobTitle WorkEmail'))
  expect(compileChanges([employees('Id', 'JobTitle', 'WorkEmail')], after, 51)).toEqual({
    text: page(
      `select * from (${eventsOf('employee', '($1::bigint, $2::bigint)', shown.replace('$4', '$3'), '$4')}) as event order by position, number limit $4::int`,
    ),
    values: ['3', '4', '{"id","work_email","job_title"}', '51'],
  })
  expect(compileHistory(employees('Title'), '7', after, 51)).toEqual({
    text: page(`select * from entity_change where ${ofRow('employee')}${shown} order by number limit $5::int`),
    values: ['7', '3', '4', '{"id","title"}', '51'],
  })
})

test('compileNewestShown finds, for each waiting request, the newest event after its position that its view shows', async () => {
  const sql = connect(await createDatabase())
  await sql`
    insert into entity_change (position, entity, id, action, key, changed) values
      (5, 'employee', 1, 'c', 'k', '{}'), (6, 'employee', 1, 'u', 'k', '{title}'), (7, 'company', 1, 'u', 'k', '{name}'),
      (8, 'employee', 1, 'u', 'k', '{first_name,display_name,display_name_key}'), (9, 'employee', 1, 'u', 'k', '{location}')`
  const found = async (after: string, ...names: string[]) => {
    const watches = [employees('Department'), employees(...names)].map((view) => ({
      view,
      after: { position: after, number: '9' },
    }))
    const { text, values } = compileNewestShown(watches, 100)
    return (await sql.unsafe(text, values as string[]).values()).map(([index, position]) => `${index} ${position}`)
  }
  expect(await found('4', 'Title')).toEqual(['0 5', '1 6'])
  expect(await found('5', 'Title', 'Type')).toEqual(['1 6'])
  expect(await found('6', 'Title')).toEqual([])
  expect(await found('6', 'DisplayName', 'Title')).toEqual(['1 8'])
  // After the events that a poll reads, each watch perhaps has one.
  const watches = [employees('Title'), employees('Type')].map((view) => ({ view, after: { position: '4', number: '0' } }))
  const { text, values } = compileNewestShown(watches, 2)
  expect((await sql.unsafe(text, values as string[]).values()).map(([, position]) => position)).toEqual(['8', '8'])
})

test('compileStretchEnd finds the event after the next countMax events of a view with hidden properties, if any', async () => {
  const sql = connect(await createDatabase())
  await sql`
    insert into entity_change (position, entity, id, action, key, changed)
    select 5 + n / 3, 'employee', n, 'u', 'k', '{title}' from generate_series(1, 9) as n`
  const endOf = async (countMax: number, after: string | null, ...views: View[]) => {
    const { text, values } = compileStretchEnd(views, after === null ? null : { position: after, number: '0' }, countMax)
    return (await sql.unsafe(text, values as string[]).values()).map((row) => row.join(' '))
  }
  expect(await endOf(3, null, employees('Type'))).toEqual(['6 4'])
  expect(await endOf(3, '6', all, employees('Type'))).toEqual(['7 6'])
  expect(await endOf(8, null, employees('Type'))).toEqual(['8 9'])
  expect(await endOf(9, null, employees('Type'))).toEqual([])
  const upTo = compileChanges([employees('Title')], null, 9, { position: '6', number: '4' })
  const rows = await sql.unsafe(upTo.text, upTo.values as string[]).values()
  expect(rows.map((row) => row[CHANGE_COLUMNS.indexOf('id')])).toEqual(['1', '2', '3', '4'])
})

test('compileHistoryStretchEnd finds the event after the next countMax events of one row, if any', async () => {
  const sql = connect(await createDatabase())
  // Every third event is of employee 1.
  await sql`
    insert into entity_change (position, entity, id, action, key, changed)
    select 5 + n / 5, 'employee', 1 + n % 3, 'u', 'k', '{title}' from generate_series(1, 30) as n`
  const run = async ({ text, values }: Statement) => sql.unsafe(text, values as string[]).values()
  const numberAt = CHANGE_COLUMNS.indexOf('number')
  const view = employees('Title')
  const own = [3, 6, 9, 12, 15, 18, 21, 24, 27, 30]
  const placeOf = (number: number) => ({ position: String(5 + Math.floor(number / 5)), number: String(number) })
  // Events of other rows are between those of this one.
  for (const after of [null, ...Array.from({ length: 30 }, (_, index) => placeOf(index + 1))]) {
    const later = own.filter((number) => number > Number(after?.number ?? 0))
    for (const countMax of [1, 3, 20]) {
      const [end] = await run(compileHistoryStretchEnd(view, '1', after, countMax))
      expect(end ?? []).toEqual(later[countMax] === undefined ? [] : Object.values(placeOf(later[countMax])))
      const last = later[countMax] === undefined ? null : placeOf(later[countMax])
      const rows = await run(compileHistory(view, '1', after, 50, last))
      expect(rows.map((row) => row[numberAt])).toEqual(later.length === 0 ? [null] : later.slice(0, countMax + 1).map(String))
    }
  }
})

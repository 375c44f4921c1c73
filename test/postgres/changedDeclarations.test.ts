import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type postgres from 'postgres'
import {
  boolean,
  computed,
  copied,
  date,
  decimal,
  defineEntity,
  type Entity,
  identity,
  instant,
  integer,
  oneOf,
  reference,
  text,
} from '../../src/model/entity.ts'
import type { Fields } from '../../src/model/fields.ts'
import { nextMigration } from '../../src/postgres/nextMigration.ts'
import { connect, createDatabase } from '../support/postgres.ts'

// A busy machine may take longer than the default for a single test.
setDefaultTimeout(60_000)

// A table with rows, whose entity is declared otherwise from now on.

const OTHERS = ['absence', 'company', 'employee']
let sql: postgres.Sql
beforeEach(async () => {
  sql = connect(await createDatabase())
})
afterEach(() => sql.end())

const thing = (fields: Fields, options = {}) => [defineEntity('Thing', { id: identity(), ...fields }, options)]
const rooms = (fields: Fields) => [
  defineEntity('Room', { id: identity(), name: text(), alias: text() }),
  defineEntity('Hall', { id: identity(), name: text() }),
  ...thing(fields),
]

const next = (declared: readonly Entity[]) => sql.begin((inner) => nextMigration(inner, declared, OTHERS))

/** Makes the tables with these rows, and writes what the later declaration needs. */
async function change(before: readonly Entity[], rows: string, after: readonly Entity[]) {
  await sql.unsafe((await next(before)).text)
  await sql.unsafe(rows)
  return next(after)
}

/** Applies it, and holds that it was all that could be done. */
async function apply({ text }: { text: string }, after: readonly Entity[]) {
  await sql.begin((inner) => inner.unsafe(text))
  expect((await next(after)).text).toBe('')
}

describe('values that are allowed now are kept out by no old constraint', () => {
  const cases: Record<string, [readonly Entity[], string, readonly Entity[], string]> = {
    'a list of texts that is any text': [
      thing({ a: oneOf(['a']) }),
      "insert into thing (a) values ('a')",
      thing({ a: text() }),
      "update thing set a = 'b'",
    ],
    'a unique value that is so no longer': [
      thing({ a: text({ unique: true }) }),
      "insert into thing (a) values ('a')",
      thing({ a: text() }),
      "insert into thing (a) values ('a')",
    ],
    'a rule that is gone': [
      thing({ a: date(), b: date() }, { notBefore: [['b', 'a']] }),
      '',
      thing({ a: date(), b: date() }),
      "insert into thing (a, b) values ('2026-02-01', '2026-01-01')",
    ],
    'a reference that is a number': [
      rooms({ roomId: reference('Room') }),
      '',
      rooms({ roomId: integer() }),
      'insert into thing (room_id) values (7)',
    ],
    'a reference from which nothing is copied any longer': [
      rooms({ roomId: reference('Room'), room: copied('roomId', 'name') }),
      "insert into room (name) values ('A'), ('B'); insert into thing (room_id, room_key) values (1, '=A')",
      rooms({ roomId: reference('Room') }),
      'update thing set room_id = 2',
    ],
    'a reference that is gone, for the rows that it names': [
      rooms({ roomId: reference('Room') }),
      "insert into room (name) values ('A'); insert into thing (room_id) values (1)",
      rooms({ a: text() }),
      'delete from room',
    ],
    'a required property that is gone': [
      thing({ a: text({ required: true, unique: true }) }),
      '',
      thing({ b: text() }),
      "insert into thing (b) values ('x'), ('x')",
    ],
  }
  for (const [what, [before, rows, after, write]] of Object.entries(cases))
    test(what, async () => {
      await apply(await change(before, rows, after), after)
      await sql.unsafe(write)
    })
})

test('a constraint of another name than ours is left', async () => {
  const declared = thing({ a: text() })
  const own =
    "alter table thing add constraint thing_a_is_short check (length(a) < 9), add constraint a_known check (a <> '')"
  const { text: statements, remarks } = await change(declared, own, declared)
  expect(statements).toBe('')
  expect(remarks.join('\n')).toMatch(
    /thing_a_is_short; it is left.*\n.*a_known; it is left|a_known; it is left.*\n.*thing_a_is_short/,
  )
})

describe('rows that stand in the way are said, with what keeps the start from failing', () => {
  const cases: Record<string, [readonly Entity[], string, readonly Entity[], string]> = {
    'a text that is not in the list': [
      thing({ a: text() }),
      "insert into thing (a) values ('a'), ('b'), (null)",
      thing({ a: oneOf(['a']) }),
      'thing: 1 row has no value that "thing_a_known" allows',
    ],
    'a number out of the range': [
      thing({ a: integer() }),
      'insert into thing (a) values (10), (11), (9), (null)',
      thing({ a: integer({ min: 0, max: 9 }) }),
      'thing: 2 rows have no value that "thing_a_range" allows',
    ],
    'two rows with one value': [
      thing({ a: text() }),
      "insert into thing (a) values ('a'), ('a'), ('b'), (null), (null)",
      thing({ a: text({ unique: true }) }),
      'thing: 2 rows have no value that "thing_a_unique" allows',
    ],
    'none where one is required': [
      thing({ a: text() }),
      "insert into thing (a) values ('a'), (null)",
      thing({ a: text({ required: true }) }),
      'thing: 1 row has no value that "a not null" allows',
    ],
    'a property that is new and required': [
      thing({ a: text() }),
      'insert into thing (a) select null from generate_series(1, 1001)',
      thing({ a: text(), b: text({ required: true }) }),
      'thing: more than 1000 rows have no value that "b not null" allows',
    ],
    'dates in another order': [
      thing({ a: date(), b: date() }),
      "insert into thing (a, b) values ('2026-02-01', '2026-01-01'), ('2026-01-01', null)",
      thing({ a: date(), b: date() }, { notBefore: [['b', 'a']] }),
      'thing: 1 row has no value that "thing_b_not_before_a" allows',
    ],
    'ids of rows that are not there': [
      rooms({ roomId: integer() }),
      'insert into thing (room_id) values (7), (null)',
      rooms({ roomId: reference('Room') }),
      'thing: 1 row has no value that "thing_room_id_found" allows',
    ],
    'ids of rows of another table': [
      rooms({ roomId: reference('Room') }),
      "insert into room (name) values ('A'); insert into thing (room_id) values (1)",
      rooms({ roomId: reference('Hall'), hall: copied('roomId', 'name') }),
      'thing: 1 row has no value that "thing_room_id_current" allows',
    ],
  }
  for (const [what, [before, rows, after, remark]] of Object.entries(cases))
    test(what, async () => {
      const { text: statements, remarks } = await change(before, rows, after)
      expect(remarks.join('\n')).toContain(`${remark}: give them one in the file, before that line`)
      await expect(sql.begin((inner) => inner.unsafe(statements))).rejects.toThrow()
      // Without those rows there is nothing to say.
      await sql.unsafe('delete from thing')
      expect((await next(after)).remarks.join('\n')).not.toContain('in the file, before')
      await apply({ text: statements }, after)
    })
})

describe('on a column that holds something else, nothing is built that would fail', () => {
  const cases: Record<string, [Fields, Fields, string]> = {
    'a text, now a number': [{ a: text() }, { a: integer({ min: 1, max: 5 }) }, 'type text, not bigint'],
    'a number, now of a list': [{ a: integer() }, { a: oneOf(['a']) }, 'type bigint, not text'],
    'a text, now true or false': [{ a: text() }, { a: boolean() }, 'type text, not boolean'],
    'a date, now a date-time': [{ a: date() }, { a: instant() }, 'type date, not timestamp(0) with time zone'],
    'another number of digits': [{ a: decimal(2) }, { a: decimal(4) }, 'type numeric(12,2), not numeric(14,4)'],
    'a text, now computed': [
      { a: text(), b: text() },
      { a: computed(['b']), b: text() },
      'a has the expression of none',
    ],
  }
  for (const [what, [before, after, remark]] of Object.entries(cases))
    test(what, async () => {
      const changed = await change(thing(before), '', thing(after))
      expect(changed.remarks.join('\n')).toContain(remark)
      expect(changed.text.replace(/alter table thing drop constraint thing_a_range;\n/, '')).toBe('')
      await apply(changed, thing(after))
    })
})

test('a copy of another property is filled anew', async () => {
  const after = rooms({ roomId: reference('Room'), room: copied('roomId', 'alias') })
  const changed = await change(
    rooms({ roomId: reference('Room'), room: copied('roomId', 'name') }),
    "insert into room (name, alias) values ('A', 'x'), ('B', null); insert into thing (room_id, room_key) values (1, '=A'), (2, '=B'), (null, null)",
    after,
  )
  await apply(changed, after)
  expect((await sql`select room from thing order by id`).map(({ room }) => room)).toEqual(['x', null, null])
})

test('what may be another name for a property is said, and found once it is renamed', async () => {
  const [before, after] = [thing({ a: text({ unique: true }) }), thing({ b: text({ unique: true }) })]
  const { remarks } = await change(before, "insert into thing (a) values ('x')", after)
  expect(remarks.join('\n')).toContain('"alter table thing rename column a to b;"')
  await sql`alter table thing rename column a to b`
  const renamed = await next(after)
  await apply(renamed, after)
  expect(renamed.text).toBe('alter table thing rename constraint thing_a_unique to thing_b_unique;\n')
})

test('a default that is lacking is given', async () => {
  const declared = thing({ a: boolean() })
  const changed = await change(declared, 'alter table thing alter column a drop default', declared)
  expect(changed.text).toBe('alter table thing alter column a set default false;\n')
  await apply(changed, declared)
})

test('names that are words of SQL are compared with themselves, also where a table refers to itself', async () => {
  const declared = [
    defineEntity('Order', {
      id: identity(),
      user: text({ unique: true }),
      table: reference('Order'),
      check: copied('table', 'user'),
      group: oneOf(['it', 'them']),
    }),
  ]
  const { text: statements } = await next(declared)
  await apply({ text: statements }, declared)
  expect((await next(declared)).remarks).toEqual([])
})

test('a text of the greatest length that an index takes has a place in all of them', async () => {
  const declared = [
    defineEntity('Page', { id: identity(), words: text({ lengthMax: 650, unique: true }) }),
    defineEntity('Note', { id: identity(), pageId: reference('Page'), words: copied('pageId', 'words') }),
  ]
  await apply(await next(declared), declared)
  // PostgreSQL compresses what repeats itself.
  const words = Array.from({ length: 650 }, () =>
    String.fromCodePoint(0x20000 + Math.floor(Math.random() * 40_000)),
  ).join('')
  await sql`insert into page (words) values (${words})`
  await sql`insert into note (page_id, words_key) values (1, ${`=${words}`})`
})

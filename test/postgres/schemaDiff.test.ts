import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import {
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
import { declaredTables, requireOwnNames } from '../../src/postgres/declaredTable.ts'
import { nextMigration } from '../../src/postgres/schemaDiff.ts'
import { loadEntities } from '../../src/registry.ts'
import { useDatabase } from '../support/database.ts'
import { connect, createDatabase } from '../support/postgres.ts'

// All that the folder declares: each has to have the migration that its declaration makes.
const entities = await loadEntities()
const TABLES = entities.map(({ table }) => table)
/** Tables, each after the tables to which its rows refer. */
const OWN = ['company', 'employee', 'absence']

/** Describes tables by PostgreSQL's catalog, without regard to how they were created. */
async function described(sql: postgres.Sql) {
  return sql`
    select 'column' as what, relname as place, attname as name, concat_ws(' ',
      format_type(atttypid, atttypmod), collname, attnotnull, attidentity, attgenerated, pg_get_expr(adbin, adrelid)
    ) as text
    from pg_attribute join pg_class on pg_class.oid = attrelid
    left join pg_collation on pg_collation.oid = attcollation left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where relname in ${sql(TABLES)} and attnum > 0 and not attisdropped
    union all
    select 'constraint', relname, conname, pg_get_constraintdef(pg_constraint.oid) || convalidated::text
    from pg_constraint join pg_class on pg_class.oid = conrelid where relname in ${sql(TABLES)}
    union all
    select 'index', tablename, indexname, indexdef from pg_indexes where tablename in ${sql(TABLES)}
    union all
    select 'trigger', relname, tgname, pg_get_triggerdef(pg_trigger.oid) || tgenabled::text
    from pg_trigger join pg_class on pg_class.oid = tgrelid where relname in ${sql(TABLES)} and not tgisinternal
    union all
    select 'table', relname, '', concat_ws(' ', relreplident, relpersistence, relacl::text, relowner::regrole,
      (select string_agg(pubname, ',') from pg_publication_tables where tablename = relname))
    from pg_class where relname in ${sql(TABLES)}
    union all
    select 'sequence', sequencename, '', max_value::text from pg_sequences
    order by 1, 2, 3`
}

describe('migrations for an empty database', () => {
  const { sql: migrated } = useDatabase()
  const { sql: generated } = useDatabase()
  beforeAll(async () => {
    await generated.unsafe(`drop table ${TABLES.join(', ')} cascade`)
    // As in sql/0002, although no declaration has it.
    await generated.begin(async (sql) => {
      const { text, tables, remarks } = await nextMigration(sql, entities)
      expect([tables.toSorted(), remarks]).toEqual([TABLES.toSorted(), []])
      expect(tables.filter((table) => OWN.includes(table))).toEqual(OWN)
      await sql.unsafe(text)
    })
  })

  test('a generated migration creates the same tables as Roster’s own migrations', async () => {
    const made = await described(generated)
    expect(made.length).toBeGreaterThan(100)
    expect([...made]).toEqual([...(await described(migrated))])
  })

  test('a second generated migration is empty', async () => {
    for (const sql of [migrated, generated])
      expect(await sql.begin((transaction) => nextMigration(transaction, entities))).toEqual({
        text: '',
        tables: [],
        remarks: [],
      })
  })
})

describe('migrations for existing tables', () => {
  const { sql } = useDatabase()

  const room = (fields: Fields = {}) => defineEntity('Room', { id: identity(), name: text(), ...fields })
  const booking = (fields: Fields = {}, options = {}) =>
    defineEntity('Booking', { id: identity(), roomId: reference('Room'), note: text(), ...fields }, options)

  /** Writes and applies the migration for these entities, and expects that no difference is left. */
  async function apply(...declared: Entity[]) {
    const all = [...entities, ...declared]
    const next = await sql.begin((transaction) => nextMigration(transaction, all))
    await sql.begin((transaction) => transaction.unsafe(next.text))
    const { text } = await sql.begin((transaction) => nextMigration(transaction, all))
    expect(text).toBe('')
    return next
  }

  test('a generated migration can create tables that refer to each other', async () => {
    const { tables } = await apply(room({ bookingId: reference('Booking') }), booking())
    expect(tables).toEqual(['booking', 'room'])
    await sql`insert into room (name) values ('Blue'), (null)`
    await sql`insert into booking (room_id, note) values (1, 'a'), (2, null), (null, 'c')`
  })

  test('two tables that would have an index of the same name are refused', () => {
    const tables = declaredTables([...entities, defineEntity('EmployeeJob', { id: identity(), title: text() })], String)
    expect(() => requireOwnNames(tables)).toThrow('the index employee_job_title_sorted')
  })

  test('a generated migration creates a table with a copy of a text that is computed from another new copy', async () => {
    const hall = defineEntity('Hall', { id: identity(), name: text() })
    const visit = (fields: Fields) =>
      defineEntity('Visit', { id: identity(), hallId: reference('Hall'), note: text(), ...fields })
    await apply(hall, visit({}))
    const fields = { id: identity(), visitId: reference('Visit'), visit: copied('visitId', 'title') }
    const titled = visit({ hall: copied('hallId', 'name'), title: computed(['note', 'hall']) })
    const { remarks } = await apply(hall, titled, defineEntity('Slip', fields))
    expect(remarks.filter((remark) => remark.includes('rewrites the table'))).toHaveLength(4)
    await sql`drop table slip, visit, hall`
  })

  test('a generated migration adds columns with indexes and constraints, and fills new copies', async () => {
    const next = await apply(
      room({ bookingId: reference('Booking'), floor: integer({ min: -3, max: 90 }) }),
      booking(
        {
          room: copied('roomId', 'name'),
          title: computed(['note', 'room']),
          state: oneOf(['Asked', 'Given']),
          from: date(),
          until: date(),
          code: text({ unique: true }),
          order: decimal(2),
        },
        { notBefore: [['until', 'from']] },
      ),
    )
    const rewriting = ['booking.room', 'booking.title', 'room.name_key'].map((column) => `${column} is made of others`)
    expect(next.remarks.map((remark) => remark.split(':')[0])).toEqual(['booking', ...rewriting])
    expect(next.remarks[0]).toContain('the constraint booking_room_id_found is not as declared')
    expect(next.text).not.toMatch(/drop (table|column|index)/)
    expect([...(await sql`select room, room_key, title from booking order by id`)]).toEqual([
      { room: 'Blue', room_key: '=Blue', title: 'a Blue' },
      { room: null, room_key: '', title: null },
      { room: null, room_key: null, title: 'c' },
    ])
    await sql`update room set name = 'Green' where id = 1`
    expect((await sql`select title from booking where id = 1`)[0]?.title).toBe('a Green')
    for (const [column, value] of Object.entries({ state: 'Lost', room_id: '7' }))
      await expect(Promise.resolve(sql`update booking set ${sql({ [column]: value })} where id = 3`)).rejects.toThrow('violates')
    await expect(Promise.resolve(sql`update room set floor = 91`)).rejects.toThrow('room_floor_range')
    const order = sql`update booking set "from" = '2026-02-01', until = '2026-01-31'`
    await expect(Promise.resolve(order)).rejects.toThrow('booking_until_not_before_from')
  })

  test('a generated migration drops nothing; its remarks name columns and indexes that are no longer declared', async () => {
    const { text, remarks } = await apply(room({ bookingId: reference('Booking') }), booking())
    expect(text).toBe('')
    for (const gone of ['booking.from', 'booking.code', 'booking.room', 'room.floor', 'booking_code_unique'])
      expect(remarks.join('\n')).toContain(gone)
  })
})

describe('migrations for changed declarations', () => {
  let sql: postgres.Sql
  beforeEach(async () => {
    sql = connect(await createDatabase())
  })

  const thing = (fields: Fields, options = {}) => [defineEntity('Thing', { id: identity(), ...fields }, options)]
  const rooms = (fields: Fields) => [
    defineEntity('Room', { id: identity(), name: text(), alias: text() }),
    defineEntity('Hall', { id: identity(), name: text() }),
    ...thing(fields),
  ]

  const next = (declared: readonly Entity[]) => sql.begin((inner) => nextMigration(inner, declared, TABLES))

  /** Applies a migration, and expects that no further SQL is needed. */
  async function apply({ text }: { text: string }, after: readonly Entity[]) {
    await sql.begin((inner) => inner.unsafe(text))
    expect((await next(after)).text).toBe('')
  }

  describe('differences that no SQL is written for', () => {
    const byHand = 'alter table thing'
    const cases: Record<string, [readonly Entity[], readonly Entity[], string[]]> = {
      'another list of texts': [
        thing({ a: oneOf(['a']) }),
        thing({ a: oneOf(['a', 'b']) }),
        [`${byHand} drop constraint thing_a_known, add constraint thing_a_known check (a in ('a', 'b'));`],
      ],
      'a property that is no longer unique': [
        thing({ a: text({ unique: true }) }),
        thing({ a: text() }),
        [`no entity declares the constraint thing_a_unique. By hand: ${byHand} drop constraint thing_a_unique;`],
      ],
      'a reference whose copy is removed': [
        rooms({ roomId: reference('Room'), room: copied('roomId', 'name') }),
        rooms({ roomId: reference('Room') }),
        [
          'thing_room_id_found foreign key (room_id) references room (id);',
          'drop constraint thing_room_id_current;',
          'thing.room_key: no property has this column.',
        ],
      ],
      'a copy of another property': [
        rooms({ roomId: reference('Room'), room: copied('roomId', 'name') }),
        rooms({ roomId: reference('Room'), room: copied('roomId', 'alias') }),
        ['drop constraint thing_room_id_current, add constraint thing_room_id_current foreign key'],
      ],
      'a removed required property': [
        thing({ a: text({ required: true }), b: text() }),
        thing({ b: text() }),
        ['thing.a: no property has this column.', 'drop its "not null"', 'no list needs the index thing_a_sorted.'],
      ],
      'a property that becomes required': [
        thing({ a: text() }),
        thing({ a: text({ required: true }) }),
        ['thing.a: not null is false in the database and true in the entity; change the column by hand.'],
      ],
      'a text, now a number': [thing({ a: text() }), thing({ a: integer() }), ['the type is text in the database and big']],
      'a date, now a date-time': [
        thing({ a: date() }),
        thing({ a: instant() }),
        ['the type is date in the database and timestamp(0) with time zone in the entity;'],
      ],
      'another number of digits': [thing({ a: decimal(2) }), thing({ a: decimal(4) }), ['numeric(12,2)', 'numeric(14,4)']],
      'a text, now computed': [
        thing({ a: text(), b: text() }),
        thing({ a: computed(['b']), b: text() }),
        ['thing.a: the expression is none in the database and '],
      ],
    }
    for (const [what, [before, after, remarks]] of Object.entries(cases))
      test(`a generated migration has a remark, and no SQL, for a difference: ${what}`, async () => {
        await sql.unsafe((await next(before)).text)
        const changed = await next(after)
        expect(changed.text).not.toContain('thing')
        for (const remark of remarks) expect(changed.remarks.join('\n')).toContain(remark)
      })
  })

  test('the SQL in a remark removes the difference that the remark names', async () => {
    const after = rooms({ roomId: reference('Room'), state: oneOf(['a', 'b']), code: text({ unique: true }) })
    const before = rooms({ roomId: reference('Room'), room: copied('roomId', 'name'), state: oneOf(['a']), id2: text() })
    await sql.unsafe((await next(before)).text)
    await sql`alter table thing rename column id2 to code`
    await sql`alter table thing add constraint thing_id2_unique unique (code)`
    const { text: statements, remarks } = await next(after)
    expect(statements).toBe('')
    // The last remark first, because a foreign key must be dropped before the unique constraint that it refers to.
    for (const remark of remarks.toReversed()) {
      const [, statement] = /By hand: (alter .*)/s.exec(remark) ?? []
      if (statement) await sql.unsafe(statement)
    }
    expect((await next(after)).remarks.join('\n')).not.toContain('alter table')
    await sql`insert into thing (state, code) values ('b', 'x')`
  })

  test('a new required property is added, with advice for existing rows', async () => {
    await sql.unsafe((await next(thing({ a: text() }))).text)
    const { text: statements, remarks } = await next(thing({ a: text(), b: text({ required: true }) }))
    expect(statements).toContain('alter table thing add column b text collate "und-x-icu" not null;')
    expect(remarks).toEqual([expect.stringContaining('thing.b is required: if the table has rows,')])
    await sql.unsafe(statements)
  })

  test('a text of the maximum length fits into all of its indexes', async () => {
    const declared = [
      defineEntity('Page', { id: identity(), words: text({ lengthMax: 650, unique: true }) }),
      defineEntity('Note', { id: identity(), pageId: reference('Page'), words: copied('pageId', 'words') }),
    ]
    await apply(await next(declared), declared)
    // PostgreSQL would compress repetitions.
    const words = Array.from({ length: 650 }, () => String.fromCodePoint(0x20000 + Math.floor(Math.random() * 40_000))).join('')
    await sql`insert into page (words) values (${words})`
    await sql`insert into note (page_id, words_key) values (1, ${`=${words}`})`
  })
})

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type postgres from 'postgres'
import {
  computed,
  copied,
  date,
  decimal,
  defineEntity,
  type Entity,
  identity,
  integer,
  oneOf,
  reference,
  text,
} from '../../src/model/entity.ts'
import type { Fields } from '../../src/model/fields.ts'
import { nextMigration } from '../../src/postgres/nextMigration.ts'
import { loadEntities } from '../../src/registry.ts'
import { connect, createDatabase } from '../support/postgres.ts'

// A busy machine may take longer than the default for a single test.
setDefaultTimeout(60_000)

const entities = await loadEntities()
const TABLES = entities.map(({ table }) => table)

/** What PostgreSQL has of the tables, in words that do not depend on how they came to be. */
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

describe('of a database without the tables', () => {
  let migrated: postgres.Sql
  let generated: postgres.Sql
  beforeAll(async () => {
    migrated = connect(await createDatabase())
    generated = connect(await createDatabase())
    await generated.unsafe('drop table absence, employee, company cascade')
    // As sql/0002 has it, which no declaration has.
    await generated.begin(async (sql) => {
      const { text, tables, remarks } = await nextMigration(sql, entities)
      expect([tables, remarks]).toEqual([['company', 'employee', 'absence'], []])
      await sql.unsafe(text)
    })
  })
  afterAll(() => Promise.all([migrated.end(), generated.end()]))

  test('it makes those that the migrations have made', async () => {
    const made = await described(generated)
    expect(made.length).toBeGreaterThan(100)
    expect([...made]).toEqual([...(await described(migrated))])
  })

  test('and then it has nothing more to write', async () => {
    for (const sql of [migrated, generated])
      expect(await sql.begin((transaction) => nextMigration(transaction, entities))).toEqual({
        text: '',
        tables: [],
        remarks: [],
      })
  })
})

describe('of tables that are there', () => {
  let sql: postgres.Sql
  beforeAll(async () => {
    sql = connect(await createDatabase())
  })
  afterAll(() => sql.end())

  const room = (fields: Fields = {}) => defineEntity('Room', { id: identity(), name: text(), ...fields })
  const booking = (fields: Fields = {}, options = {}) =>
    defineEntity('Booking', { id: identity(), roomId: reference('Room'), note: text(), ...fields }, options)

  /** Writes what these need beside our own, applies it, and holds that it was all. */
  async function apply(...declared: Entity[]) {
    const all = [...entities, ...declared]
    const next = await sql.begin((transaction) => nextMigration(transaction, all))
    await sql.begin((transaction) => transaction.unsafe(next.text))
    const { text } = await sql.begin((transaction) => nextMigration(transaction, all))
    expect(text).toBe('')
    return next
  }

  test('it makes tables that refer to each other in a circle', async () => {
    const { tables } = await apply(room({ bookingId: reference('Booking') }), booking())
    expect(tables).toEqual(['booking', 'room'])
    await sql`insert into room (name) values ('Blue'), (null)`
    await sql`insert into booking (room_id, note) values (1, 'a'), (2, null), (null, 'c')`
  })

  test('it adds columns with their indexes and constraints, and fills copies that are new', async () => {
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
    expect(next.remarks).toEqual([expect.stringContaining('the constraint booking_room_id_found is not as declared')])
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

  test('it drops nothing that is gone', async () => {
    const { text, remarks } = await apply(room({ bookingId: reference('Booking') }), booking())
    expect(text).toBe('')
    for (const gone of ['booking.from', 'booking.code', 'booking.room', 'room.floor', 'booking_code_unique'])
      expect(remarks.join('\n')).toContain(gone)
  })
})

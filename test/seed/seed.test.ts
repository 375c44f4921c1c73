import { beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { Refused } from '../../src/errors.ts'
import {
  copied,
  date,
  decimal,
  defineEntity,
  type Entity,
  group,
  identity,
  instant,
  integer,
  json,
  oneOf,
  reference,
  text,
  uuid,
} from '../../src/model/entity.ts'
import { nextMigration } from '../../src/postgres/schemaDiff.ts'
import { seed, sharesOf, withRows } from '../../src/seed/seed.ts'
import { useDatabase } from '../support/database.ts'
import { entities } from '../support/entities.ts'
import { connect, createDatabase } from '../support/postgres.ts'

const room = defineEntity('Room', {
  id: identity(),
  name: text({ required: true, unique: true }),
  code: text({ required: true, unique: true, lengthMax: 2 }),
  floor: integer({ min: -3, max: 12 }),
})
const booking = defineEntity(
  'Booking',
  {
    id: identity(),
    roomId: reference('Room', { required: true }),
    room: copied('roomId', 'name'),
    badgeId: reference('Badge'),
    state: oneOf(['Requested', 'Approved'], { required: true }),
    day: date({ unique: true }),
    from: date({ required: true }),
    until: date({ required: true }),
    paid: date({ required: true, unique: true }),
    opens: instant(),
    closes: instant(),
    price: decimal(2, { required: true }),
    balance: decimal(2, { min: -5, max: -1.25 }),
    debt: decimal(8, { min: -1e9, required: true }),
    days: decimal(0, { min: 70 }),
    token: uuid({ required: true, unique: true }),
    device: uuid(),
    settings: json({ required: true, bytesMax: 100 }),
    extra: json(),
    people: integer({ min: 1, max: 3, required: true }),
    far: integer(),
    note: text({ indexed: false, lengthMax: 5 }),
    period: group({ days: decimal(0), hint: text({ examples: ['one', 'two'] }) }),
  },
  {
    notBefore: [
      ['until', 'from'],
      ['paid', 'until'],
      ['paid', 'from'],
      ['closes', 'opens'],
    ],
  },
)
const badge = defineEntity('Badge', {
  id: identity(),
  roomId: reference('Room', { unique: true }),
  number: integer({ min: 5, max: 40, required: true, unique: true }),
})
const seats = [badge, booking, room]

const options = (rows: number, number = 1) => ({ rows, seed: number, onRows: () => undefined })

/** Creates a database with the tables of these entities, and Roster's own. */
async function databaseOf(declared: Entity[]): Promise<postgres.Sql> {
  const sql = connect(await createDatabase())
  await sql.begin(async (transaction) => {
    await transaction.unsafe((await nextMigration(transaction, declared)).text)
  })
  return sql
}

describe('generated rows of Roster’s entities', () => {
  const seeds = [1, 1, 2]
  const databases = seeds.map(() => useDatabase().sql)
  beforeAll(async () => {
    for (const [index, sql] of databases.entries()) await seed(sql, entities, options(620, seeds[index]))
  })

  const contents = (sql: postgres.Sql) => Promise.all(entities.map(({ table }) => sql`select * from ${sql(table)} order by id`))

  test('the same seed generates the same rows, and another seed generates other rows', async () => {
    const [one, same, other] = await Promise.all(databases.map(contents))
    expect(same).toEqual(one as postgres.RowList<postgres.Row[]>[])
    expect(other).not.toEqual(one as postgres.RowList<postgres.Row[]>[])
    expect(one?.map(({ length }) => length)).toEqual([500, 20, 100])
  })

  test('generated employees refer to each other: all but the first have a manager', async () => {
    const [sql] = databases as [postgres.Sql]
    const [found] = await sql`
      select count(*) filter (where manager_id is null)::int as without, max(manager_id)::int as last,
        count(distinct company_id)::int as companies, count(*) filter (where manager_id >= id)::int as late,
        count(*) filter (where display_name is null)::int as nameless
      from employee`
    expect(found).toMatchObject({ without: 1, last: 13, late: 0, nameless: 0 })
    expect(found?.companies).toBeGreaterThan(15)
  })

  test('generated absences have several statuses, types and starts, and some have no employee', async () => {
    const [sql] = databases as [postgres.Sql]
    const [found] = await sql`
      select count(distinct status)::int as states, count(distinct type)::int as types, count(distinct start)::int as starts,
        count(*) filter (where employee_id is null)::int as without from absence`
    expect([found?.states, found?.types]).toEqual([4, 6])
    expect(found?.starts).toBeGreaterThan(400)
    expect(found?.without).toBeGreaterThan(0)
  })

  test('generated absences are of the last three years and the next half year; type, reason, days and hours fit together', async () => {
    const [sql] = databases as [postgres.Sql]
    const [found] = await sql`
      select min(start) > now() - interval '3 years 2 days' and max(start) < now() + interval '184 days' as of_now,
        max(start) > now() + interval '100 days' and min(start) < now() - interval '900 days' as wide,
        bool_and(period_hours = 7.5 * period_days) as hours,
        bool_and(abs(extract(epoch from "end" - start) / 86400 - period_days) < 1) as days,
        bool_and((type = 'Sickness') = (reason in ('Cold', 'Flu', 'Back Pain'))) as reasons
      from absence`
    expect(found).toEqual({ of_now: true, wide: true, hours: true, days: true, reasons: true })
  })

  test('seed can add rows to existing rows', async () => {
    const [, sql] = databases as [postgres.Sql, postgres.Sql]
    expect(await withRows(sql, entities)).toEqual(entities.map(({ plural }) => plural))
    await seed(sql, entities, options(62))
    const [found] = await sql`select count(*)::int as rows, count(distinct employee_number)::int as numbers from employee`
    expect(found).toEqual({ rows: 110, numbers: 110 })
  })
})

describe('generated rows of a project’s entities', () => {
  let sql: postgres.Sql
  let made: Record<string, number>
  beforeAll(async () => {
    sql = await databaseOf(seats)
    // The constraints of the tables are the test: a row that violates one is an error.
    const seeded = await seed(sql, seats, options(3_100))
    made = Object.fromEntries(seeded.map(({ entity, rows }) => [entity.name, rows]))
  })

  test('each entity gets its share of the rows, but not more rows than its unique values allow', async () => {
    expect(sharesOf(seats, 3_100).map(({ entity, rows }) => [entity.name, rows])).toEqual([
      ['Room', 100],
      ['Badge', 500],
      ['Booking', 2_500],
    ])
    // Codes have two letters; numbers go from 5 to 40.
    expect(made).toEqual({ Room: 99, Badge: 36, Booking: 2_500 })
  })

  test('generated references name existing rows, dates are in order, and values use their whole range', async () => {
    const [found] = await sql`
      select count(distinct room_id)::int as rooms, count(distinct badge_id)::int as badges, count(distinct state)::int as states,
        min(people)::int as least, max(people)::int as most, count(distinct day)::int as days,
        count(*) filter (where until > "from")::int as later, count(*) filter (where closes >= opens)::int as closing,
        max(length(note))::int as note, count(distinct period_hint)::int as hints, min(balance)::text as lowest,
        max(balance)::text as highest, min(debt)::int as debt, max(days)::int as long, count(distinct token)::int as tokens,
        count(distinct device)::int = count(device)::int and count(*) > count(device) as devices,
        count(distinct settings)::int as settings, count(*) > count(extra) as "hasNone"
      from booking`
    expect(found).toMatchObject({ rooms: 99, badges: 36, states: 2, least: 1, most: 3, days: 2_500, note: 5, hints: 2 })
    expect(found).toMatchObject({
      lowest: '-5.00',
      highest: '-1.50',
      debt: -30,
      long: 70,
      tokens: 2_500,
      devices: true,
      settings: 200,
      hasNone: true,
    })
    expect([found?.later > 2_000, found?.closing > 2_000]).toEqual([true, true])
  })

  test('an entity whose first row would have to refer to a row of the same entity is refused, with its name', async () => {
    const chain = defineEntity('Link', { id: identity(), beforeId: reference('Link', { required: true }) })
    const links = await databaseOf([chain])
    const refused = seed(links, [chain], options(5))
    await expect(refused).rejects.toThrow(Refused)
    await expect(refused).rejects.toThrow('BeforeId of Link must name a row of Link, which the first cannot')
    await links.end()
  })
})

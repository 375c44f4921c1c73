import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { compileCreate, compileGet, compileUpdate } from '../../src/compile/entity.ts'
import { compileRefusals } from '../../src/compile/refusals.ts'
import { compileRemove } from '../../src/compile/remove.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { Database } from '../../src/execute/database.ts'
import { referringColumns } from '../../src/model/copies.ts'
import { JsonNumber } from '../../src/model/kinds.ts'
import type { Row, Statement } from '../../src/model/sql.ts'
import { parseComplete, parsePartial } from '../../src/parse/assignments.ts'
import { markOf } from '../support/mark.ts'
import { connect, createDatabase } from '../support/postgres.ts'

let sql: postgres.Sql
let database: Database
beforeAll(async () => {
  const url = await createDatabase()
  sql = connect(url)
  database = new Database({ url, poolSize: 2, prepare: true })
})
afterAll(async () => {
  await database.end(1_000)
  await sql.end()
})

const id = (value: string | null | undefined) => new JsonNumber(String(value))
const written = async (statement: Parameters<Database['write']>[0]) => (await database.write(statement))[0] as Row
const createCompany = (name: string) => written(compileCreate(company, parseComplete(company, { name })))
const REFERRING = referringColumns(company, [company, employee, absence])
const TRANSACTION = expect.stringMatching(/^\d+$/)

/** A row of employee as its properties. */
function named(row: Row | undefined): Record<string, string | null> {
  return Object.fromEntries(employee.properties.map(({ name }, index) => [name, row?.[index] ?? null]))
}

/** What is sent when nothing else waits. */
const single = ({ text, values }: Statement) => ({ text, values })

describe('text and parameters', () => {
  test('get', () => {
    expect(single(compileGet(company, '7'))).toEqual({
      text: 'select "id", "name", "enabled", xmin::text as "X" from "company" where id = $1',
      values: ['7'],
    })
  })

  test('what no machine publishes is returned with its version alone, by no function, alone, in a batch and under a key', () => {
    const once = { key: '6ba7b810-9dad-11d1-80b4-00c04fd430c8', request: '6ba7b811-9dad-11d1-80b4-00c04fd430c8' }
    const changes = parsePartial(company, { Enabled: true })
    const statements = [
      compileCreate(company, parseComplete(company, {}), null, 'unpublished'),
      compileUpdate(company, '7', changes, [], null, null, 'unpublished'),
      compileRemove(company, '7', [], null, null, 'unpublished'),
    ]
    for (const { text, batch } of statements)
      for (const each of [text, batch?.text ?? '']) {
        const returned = each.slice(each.indexOf('returning'))
        expect(returned).toMatch(/xmin::text|t\.xmax::text/)
        expect(returned).not.toContain('(')
      }
    expect(compileUpdate(company, '7', changes, [], null, once, 'unpublished').text).not.toContain('emit_message')
    expect(compileUpdate(company, '7', changes).text).toContain('emit_message')
  })

  test('what refers to another row is inserted by a select, with the lock in it, and not among values', () => {
    const { text } = compileCreate(absence, parsePartial(absence, { Status: 'x', EmployeeId: id('3') }))
    expect(text).toMatch(/^insert into "absence" \([^)]*\) select .* for key share\) as /)
    expect(text).not.toContain(' values ')
  })

  test('create sets every writable property', () => {
    expect(single(compileCreate(company, parseComplete(company, { Name: "O'Neil" })))).toEqual({
      text:
        'insert into "company" ("name", "enabled") values ($1, $2) ' +
        'returning "id", "name", "enabled", ' +
        markOf(''),
      values: ["O'Neil", 'false'],
    })
  })

  test('update sets what has changed, and returns the row before it too', () => {
    expect(single(compileUpdate(company, '7', parsePartial(company, { Enabled: true })))).toEqual({
      text:
        'update "company" as t set "enabled" = $1 ' +
        'from (select "id", "name", "enabled", xmin::text as "X" from "company" where id = $2 for no key update) as before ' +
        'where t.id = before.id returning t."id", t."name", t."enabled", ' +
        'before."id", before."name", before."enabled", ' +
        markOf('t.') +
        ', before."X"',
      values: ['true', '7'],
    })
  })

  test('a reference brings its copy along, with the same parameter', () => {
    const { text, values } = compileUpdate(absence, '7', parsePartial(absence, { EmployeeId: id('3') }))
    expect(text).toStartWith(
      'update "absence" as t set "employee_id" = $1, ' +
        '"employee_key" = (select "display_name_key" from "employee" where id = $1 for key share) ' +
        'from (select "id", "status", ',
    )
    // Before its own row is locked, the one that it copies from: a rename locks them in this order too.
    expect(text).toContain(
      ' from "absence" where id = $2 and ' +
        '($1::bigint is null or (select true from "employee" where id = $1 for key share)) for no key update) as before where ',
    )
    expect(values).toEqual(['3', '7'])
  })

  test('a create looks each reference up once, for its copy and for whether there is a row', () => {
    const { text } = compileCreate(absence, parsePartial(absence, { Status: 'x', EmployeeId: id('3') }))
    expect(text).toStartWith(
      'insert into "absence" ("status", "employee_id", "employee_key") select $1, $2, b."K2" ' +
        'from (select (select "display_name_key" from "employee" where id = $2 for key share) as "K2" offset 0) as b ' +
        'where ($2::bigint is null or b."K2" is not null) returning "id", ',
    )
  })

  test('an update of one of two values holds it against the stored other; one of both needs not', () => {
    const textOf = (changes: Record<string, string>) => compileUpdate(absence, '7', parsePartial(absence, changes)).text
    const [Start, End] = ['2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z']
    expect(textOf({ End })).toContain('where id = $2 and ($1 >= "start") is not false for no key update')
    expect(textOf({ Start })).toContain('where id = $2 and ("end" >= $1) is not false for no key update')
    expect(textOf({ Start, End })).toContain('where id = $3 for no key update')
  })

  test('remove locks the row, and then asks who refers to it', () => {
    const { text, values } = compileRemove(absence, '7', [])
    expect(text).toStartWith(
      'delete from "absence" as t using (select id from "absence" where id = $1 for update) as own where t.id = own.id ' +
        'returning t."id", ',
    )
    expect(values).toEqual(['7'])
    const referring = referringColumns(employee, [company, employee, absence])
    expect(compileRemove(employee, '7', referring).text).toContain(
      " where t.id = own.id and own.id <> all (found_now('select array(select id from unnest($1) as own(id) where " +
        'exists (select from "employee" as referring where referring."manager_id" = own.id and referring.id <> own.id) or ' +
        `exists (select from "absence" as referring where referring."employee_id" = own.id))', array[own.id])) returning t."id", `,
    )
  })

  test('a version is asked for where the row is locked, alone and in a batch', () => {
    const update = compileUpdate(company, '7', parsePartial(company, { Enabled: true }), [], '{4711}')
    expect(update.values).toEqual(['true', '{4711}', '7'])
    expect(update.text).toContain(
      'from "company" where id = $3 and xmin::text = any ($2::text[]) for no key update) as before',
    )
    expect(update.batch?.distinct).toBe(2)
    expect(update.batch?.text).toContain(
      ' and own.xmin::text = any (($2::text[])[array_position($3::bigint[], own.id)]::text[]) order by id for no key update) as before',
    )
    const remove = compileRemove(absence, '7', [], '{4711,4712}')
    expect(remove.values).toEqual(['7', '{4711,4712}'])
    expect(remove.text).toContain('where id = $1 and xmin::text = any ($2::text[]) for update) as own')
    expect(remove.batch?.text).toContain(
      ' and xmin::text = any (($2::text[])[array_position($1::bigint[], id)]::text[]) order by id for update)',
    )
  })

  test('refusals ask for each reference that is set, for the rules that the row can break, and for the row', () => {
    const changes = parsePartial(employee, { CompanyId: id('1'), ManagerId: null, Title: 'x' })
    expect(compileRefusals(employee, null, changes)).toEqual({
      text: 'select $1::text where not exists (select from "company" where id = $2::bigint)',
      values: ['company_id', '1'],
    })
    expect(compileRefusals(employee, null, parsePartial(employee, { ManagerId: null, Title: 'x' }))).toBeNull()
    expect(compileRefusals(absence, '7', parsePartial(absence, { End: '2024-01-01T00:00:00Z' }))).toEqual({
      text:
        'select $1::text from "absence" where id = $2::bigint and $3::timestamp(0) with time zone < "start" union all ' +
        'select $4::text where not exists (select from "absence" where id = $2::bigint)',
      values: ['absence_end_not_before_start', '7', '2024-01-01T00:00:00Z', 'id'],
    })
  })
})

describe('on the database', () => {
  test('create returns the row, with its id, and get finds it', async () => {
    const row = await createCompany('Acme')
    expect(row).toEqual([expect.stringMatching(/^[1-9]\d*$/), 'Acme', 'f', TRANSACTION])
    expect(await database.read(compileGet(company, row[0] as string))).toEqual([row])
  })

  test('a create with every property given stores each in its column', async () => {
    const [companyId] = await createCompany('Whole')
    const body: Record<string, unknown> = { CompanyId: id(companyId) }
    for (const { name, kind, writable, reference } of employee.properties)
      if (writable && !reference) body[name] = kind.name === 'instant' ? '2024-01-31T09:00:00Z' : name
    const row = named(await written(compileCreate(employee, parseComplete(employee, body))))
    for (const { name, kind, writable, reference } of employee.properties)
      if (writable && !reference) expect(row[name]).toBe(kind.name === 'instant' ? '2024-01-31 09:00:00+00' : name)
    expect([row.CompanyId, row.Company, row.DisplayName]).toEqual([companyId as string, 'Whole', 'KnownAs LastName'])
  })

  test('the copy follows the row that it was copied from, and a new reference', async () => {
    const [first, second] = [await createCompany('First'), await createCompany('Second')]
    const created = await written(compileCreate(employee, parseComplete(employee, { CompanyId: id(first[0]) })))
    const current = async () => named((await database.read(compileGet(employee, created[0] as string)))[0]).Company
    expect(await current()).toBe('First')
    await database.write(compileUpdate(company, first[0] as string, parsePartial(company, { name: 'Renamed' })))
    expect(await current()).toBe('Renamed')
    await database.write(compileUpdate(company, first[0] as string, parsePartial(company, { name: null })))
    expect(await current()).toBeNull()
    await database.write(
      compileUpdate(employee, created[0] as string, parsePartial(employee, { CompanyId: id(second[0]) })),
    )
    expect(await current()).toBe('Second')
    await database.write(compileUpdate(employee, created[0] as string, parsePartial(employee, { CompanyId: null })))
    expect(await current()).toBeNull()
  })

  const refusals = async (...[entity, row, changes]: Parameters<typeof compileRefusals>) => {
    const statement = compileRefusals(entity, row, changes)
    return statement && (await database.read(statement)).map(([cause]) => cause)
  }

  test('D16: a reference that names no row makes a create write none, and is found by refusals', async () => {
    const changes = parseComplete(employee, { CompanyId: id('999999'), ManagerId: id('0') })
    expect(await database.write(compileCreate(employee, changes))).toEqual([])
    expect(await refusals(employee, null, changes)).toEqual(['company_id', 'manager_id'])
    const [found] = await createCompany('Found')
    expect(await refusals(employee, null, parsePartial(employee, { CompanyId: id(found) }))).toEqual([])
  })

  test('D13, D16: an update leaves a row as it is for a reference that names no row, and for an end before its start', async () => {
    const Start = '2024-01-02T00:00:00Z'
    const [own] = await written(compileCreate(absence, parseComplete(absence, { Start })))
    const refused: [Record<string, unknown>, string[]][] = [
      [{ End: '2024-01-01T23:59:59Z' }, ['absence_end_not_before_start']],
      [{ EmployeeId: id('999999') }, ['employee_id']],
      [{ EmployeeId: id('999999'), End: '2024-01-01T00:00:00Z' }, ['employee_id', 'absence_end_not_before_start']],
    ]
    for (const [changes, causes] of refused) {
      const assignments = parsePartial(absence, changes)
      expect(await database.write(compileUpdate(absence, own as string, assignments))).toEqual([])
      expect(await refusals(absence, own as string, assignments)).toEqual(causes)
    }
    const later = parsePartial(absence, { End: Start })
    expect(await database.write(compileUpdate(absence, own as string, later))).toHaveLength(1)
    const before = parsePartial(absence, { Start: '2024-01-02T00:00:01Z' })
    expect(await database.write(compileUpdate(absence, own as string, before))).toEqual([])
    expect(await refusals(absence, '999999', before)).toEqual(['id'])
    const none = parsePartial(absence, { Start: null })
    expect(await database.write(compileUpdate(absence, own as string, none))).toHaveLength(1)
  })

  test('an update or removal of no row returns none', async () => {
    expect(await database.write(compileUpdate(company, '999999', parsePartial(company, { name: 'x' })))).toEqual([])
    expect(await database.write(compileRemove(company, '999999', REFERRING))).toEqual([])
  })

  test('remove returns the row that was there, and it is gone', async () => {
    const [removed] = await createCompany('Gone')
    const rows = await database.write(compileRemove(company, removed as string, REFERRING))
    expect(rows).toEqual([[removed as string, 'Gone', 'f', TRANSACTION]])
    expect(await database.read(compileGet(company, removed as string))).toEqual([])
  })

  test('D16: a row that others refer to stays', async () => {
    const [referred] = await createCompany('Kept')
    await database.write(compileCreate(employee, parseComplete(employee, { CompanyId: id(referred) })))
    expect(await database.write(compileRemove(company, referred as string, REFERRING))).toEqual([])
    expect(await database.read(compileGet(company, referred as string))).toHaveLength(1)
  })

  test('an update of one property leaves the others', async () => {
    const [changed, , , version] = await createCompany('Same')
    const statement = compileUpdate(company, changed as string, parsePartial(company, { Enabled: true }))
    const [after, before] = [
      [changed as string, 'Same', 't'],
      [changed as string, 'Same', 'f'],
    ]
    expect(await written(statement)).toEqual([...after, ...before, TRANSACTION, version as string])
  })

  test('the transaction is the one that a snapshot taken afterwards sees, and one taken before does not', async () => {
    const seen = async (transaction: string | null | undefined) => {
      const text = 'select pg_visible_in_snapshot($1::xid8, pg_current_snapshot())::text'
      return (await database.read({ text, values: [transaction ?? null] }))[0]?.[0]
    }
    const next = BigInt((await createCompany('One')).at(-1) as string) + 1n
    expect(await seen(String(next))).toBe('false')
    const row = await createCompany('Two')
    expect([await seen(row.at(-1)), BigInt(row.at(-1) as string) >= next]).toEqual(['true', true])
  })

  describe('an update returns the row that it has found', () => {
    /** What the update returned of a row that another client has changed first, and commits while the update waits. */
    async function behind(change: (transaction: postgres.TransactionSql, id: string) => Promise<unknown>) {
      const [waited] = await createCompany('Waited for')
      const update = compileUpdate(company, waited as string, parsePartial(company, { Enabled: true }))
      let updated: Promise<Row[]> | undefined
      await sql.begin(async (transaction) => {
        await change(transaction, waited as string)
        updated = database.write(update)
        const waiting = () => sql`
          select from pg_locks join pg_database on pg_database.oid = pg_locks.database or pg_locks.database is null
          where datname = current_database() and not granted`
        while ((await waiting()).count === 0) await Bun.sleep(5)
      })
      return updated
    }

    test('as it was after what it had to wait for', async () => {
      const [row] =
        (await behind((transaction, id) => transaction`update company set name = 'New' where id = ${id}`)) ?? []
      expect(row?.slice(1, 3)).toEqual(['New', 't'])
      expect(row?.slice(4, 6)).toEqual(['New', 'f'])
    })

    test('or nothing, if it is gone by then', async () => {
      expect(await behind((transaction, id) => transaction`delete from company where id = ${id}`)).toEqual([])
    })
  })
})

test('a row that was written by a server without a cache has the version that it is read with', async () => {
  const [made] = await database.write(
    compileCreate(company, parseComplete(company, { name: 'v' }), null, 'unpublished'),
  )
  const read = async () => (await database.read(compileGet(company, made?.[0] as string)))[0]?.at(-1)
  expect(made?.at(-1)).toBe(await read())
  const changes = parsePartial(company, { name: 'w' })
  const [changed] = await database.write(
    compileUpdate(company, made?.[0] as string, changes, [], null, null, 'unpublished'),
  )
  expect(changed?.at(-2)).toBe(await read())
  expect(changed?.at(-1)).toBe(made?.at(-1) as string)
})

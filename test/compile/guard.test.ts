import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { compileCreate } from '../../src/compile/create.ts'
import { compileCreateRows, writableOf } from '../../src/compile/createRows.ts'
import { checkedGuard, readableTest } from '../../src/compile/guard.ts'
import { shapeOf } from '../../src/compile/parts.ts'
import { compileRemove } from '../../src/compile/remove.ts'
import { compileGet } from '../../src/compile/row.ts'
import { compileUpdate } from '../../src/compile/update.ts'
import type { Guard, RowConditions } from '../../src/model/access.ts'
import type { BatchableStatement, WritePlan } from '../../src/model/batch.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import { JsonNumber } from '../../src/model/kinds.ts'
import type { Assignments, Filter } from '../../src/model/query.ts'
import { arrayText, type Row } from '../../src/model/sql.ts'
import { viewOf, wholeView } from '../../src/model/view.ts'
import { parseNewRow, parsePartial, wholeBody } from '../../src/parse/assignments.ts'
import type { JsonObject } from '../../src/parse/body.ts'
import { addFilter, parseFilter } from '../../src/parse/filter.ts'
import { parseQueryString } from '../../src/parse/parameters.ts'
import { useDatabase } from '../support/database.ts'
import { entities } from '../support/entities.ts'

// Each form of a write admits exactly the rows that a list with the same filters would have.

const { sql, poolOf } = useDatabase()
const database = poolOf()
const entityNamed = (name: string) => entities.find((entity) => entity.name === name) as Entity
const [absence, employee, company] = ['Absence', 'Employee', 'Company'].map(entityNamed) as [Entity, Entity, Entity]

function filtersOf(entity: Entity, query: string): Filter[] {
  const filters: Filter[] = []
  for (const parameter of parseQueryString(query)) addFilter(filters, parseFilter(wholeView(entity), parameter))
  return filters
}

/** A guard of these pairs of conditions. */
function guardOf(entity: Entity, pairs: readonly (readonly [before: string, after: string])[], more: Partial<Guard> = {}): Guard {
  const conditions = pairs.map(
    ([before, after]): RowConditions => ({ before: filtersOf(entity, before), after: filtersOf(entity, after) }),
  )
  const { references = new Map<Property, readonly Filter[]>(), readable = [] } = more
  const lists = [...conditions.flatMap(({ before, after }) => [before, after]), ...references.values(), readable ?? []]
  return { pairs: conditions, references, readable, shape: lists.map((filters) => shapeOf(filters)).join('|') }
}

const NO_VALUES: Assignments = new Map()
let keys = 0
function planOf(guard: Guard | null, more: Partial<WritePlan>): WritePlan {
  return { id: '', values: NO_VALUES, versions: null, claim: null, keyId: 'key', guard, ...more }
}
/** A claim of a new Idempotency-Key. */
const newClaim = () => ({ key: (++keys).toString(16).padStart(32, '0'), request: '0'.repeat(32) })

function newRow(entity: Entity, body: JsonObject): Assignments {
  const { settable, ...access } = wholeBody(entity)
  return parseNewRow(entity, { ...access, settable, rights: [{ settable, presets: new Map(), guard: null }] }, body).values
}
const changesOf = (entity: Entity, body: JsonObject) => parsePartial(entity, wholeBody(entity), body)
const number = (source: string) => new JsonNumber(source)

/** Writes at once, so that most are one batch; returns the row of each. */
const writeAll = (statements: readonly BatchableStatement[]) =>
  Promise.all(statements.map(async (statement) => (await database.write(statement))[0]))

beforeAll(async () => {
  await sql`insert into company (name) values ('One'), ('Two')`
  await sql`insert into employee (first_name, company_id, company_key) values ('Ann', 1, '=One'), ('Bob', 2, '=Two'), ('Cid', null, null)`
  await sql`update employee set manager_id = id - 1, manager_key = (select display_name_key from employee as other where other.id = employee.id - 1) where id > 1`
})
beforeEach(async () => {
  await sql`delete from absence`
})

const TEXTS = [null, '', 'New', 'new', 'a', 'B', 'b', 'é', 'É', 'Zoë', 'zoe', '>x', 'l·la', '"{}\\,', ' ']
const TIMES = [null, '2024-01-01T00:00:00Z', '2023-12-31T23:59:59Z', '2024-06-01T12:00:00Z']
const DAYS = [null, '0', '1', '1.5', '1.50000001', '9999999999']

const CASES: [entity: Entity, property: string, values: readonly unknown[], queries: readonly string[]][] = [
  [
    absence,
    'Status',
    TEXTS,
    [
      ...['Status=New', 'Status=!=New', 'Status=', 'Status=!=', 'Status=<b', 'Status=<=b', 'Status=>B', 'Status=>=é', 'Status=>'],
      ...['Status[]=New&Status[]=a', 'Status[]=New&Status[]=', 'Status[contains]=E', 'Status[begins]=zO', 'Status[contains]=l·l'],
      ...['Status=>a&Status=<z', 'Status=!=&Status=!=New'],
    ].filter((query) => query !== 'Status=>'),
  ],
  [
    absence,
    'Start',
    TIMES,
    [
      'Start=2024-01-01T00:00:00Z',
      'Start=',
      'Start=!=',
      'Start=>=2024-01-01T01:00:00%2B01:00',
      'Start=<2024-01-01T00:00:00Z',
      'Start[]=2024-06-01T12:00:00Z&Start[]=',
    ],
  ],
  [
    absence,
    'Period.Days',
    DAYS.map((text) => (text === null ? null : number(text))),
    [
      'Period.Days=1.5',
      'Period.Days=>1.5',
      'Period.Days=<=1.5000000',
      'Period.Days=!=1',
      'Period.Days=',
      'Period.Days[]=1&Period.Days[]=0',
      'Period.Days=>=99999999999999999999',
    ],
  ],
  [
    absence,
    'EmployeeId',
    [null, number('1'), number('2'), number('3')],
    [
      ...['EmployeeId=1', 'EmployeeId=!=1', 'EmployeeId=', 'EmployeeId[]=1&EmployeeId[]=', 'EmployeeId=>1'],
      ...['EmployeeId.CompanyId=1', 'EmployeeId.CompanyId=!=1', 'EmployeeId.CompanyId=', 'EmployeeId.CompanyId=!='],
      ...['EmployeeId.CompanyId[]=2&EmployeeId.CompanyId[]=', 'EmployeeId.CompanyId.Name[begins]=o&EmployeeId.Department='],
      ...['EmployeeId.CompanyId.Name=!=One', 'EmployeeId.FirstName=>A', 'EmployeeId.ManagerId[under]=1'],
    ],
  ],
  [company, 'Enabled', [true, false], ['Enabled=true', 'Enabled=!=true', 'Enabled[]=false']],
]

const bodyOf = (name: string, value: unknown): JsonObject => {
  const [first = '', part] = name.split('.')
  return part === undefined ? { [first]: value } : { [first]: { [part]: value } }
}

for (const [entity, name, values, queries] of CASES)
  describe.each(queries)(`a guard of ${entity.plural} by %s admits the rows that a list by this filter has`, (query) => {
    const filters = filtersOf(entity, query)
    const bodies = values.map((value) => bodyOf(name, value))
    const property = entity.properties.find((one) => one.name === name) as Property
    const at = entity.properties.indexOf(property)
    let expected: boolean[]
    /** Rows of all values, as they are stored. */
    let stored: Row[]
    beforeEach(async () => {
      stored = (await writeAll(
        bodies.map((body) => compileCreate(entity, planOf(null, { values: newRow(entity, body) }))),
      )) as Row[]
      const found = await Promise.all(stored.map(([id]) => database.read(compileGet(entity, id as string, filters))))
      expected = found.map((rows) => rows.length > 0)
    })
    const printed = (rows: readonly (Row | undefined)[]) => rows.map((row) => (row ? [row[at]] : null))
    const wanted = () => stored.map((row, index) => (expected[index] ? [row[at]] : null))

    test.each(['one by one', 'concurrently', 'with an Idempotency-Key'])('when rows are created %s', async (way) => {
      const guard = guardOf(entity, [['', query]])
      const statements = bodies.map((body) =>
        compileCreate(
          entity,
          planOf(guard, { values: newRow(entity, body), claim: way === 'with an Idempotency-Key' ? newClaim() : null }),
        ),
      )
      const rows: (Row | undefined)[] = []
      if (way === 'concurrently') rows.push(...(await writeAll(statements)))
      else for (const statement of statements) rows.push((await database.write(statement))[0])
      expect(printed(rows)).toEqual(wanted())
    })

    test.each([false, true])('when one statement creates several rows; with an Idempotency-Key: %p', async (isKeyed) => {
      const guard = guardOf(entity, [['', query]])
      const create = async (indexes: readonly number[]) => {
        const rows = indexes.map((index) => newRow(entity, bodies[index] as JsonObject))
        const arrays = writableOf(entity).map((one) => arrayText(rows.map((row) => row.get(one) ?? null)))
        const checked = checkedGuard(entity, guard, rows)
        return database.write(compileCreateRows(entity, arrays, isKeyed ? newClaim() : null, 'key', checked))
      }
      const indexes = [...expected.keys()]
      const admitted = indexes.filter((index) => expected[index])
      expect(printed(await create(admitted.length === 0 ? [0] : admitted))).toEqual(
        admitted.map((index) => [(stored[index] as Row)[at]]) as never,
      )
      // One that is not admitted refuses all.
      for (const index of indexes.filter((one) => !expected[one])) expect(await create([...admitted, index])).toEqual([])
    })

    test.each(['one by one', 'concurrently', 'with an Idempotency-Key'])('when rows are updated %s', async (way) => {
      const guard = guardOf(entity, [['', query]])
      const statements = stored.map((_, index) =>
        compileUpdate(
          entity,
          planOf(guard, {
            id: (stored[(index + 1) % stored.length] as Row)[0] as string,
            values: changesOf(entity, bodies[index] as JsonObject),
            claim: way === 'with an Idempotency-Key' ? newClaim() : null,
          }),
        ),
      )
      const rows: (Row | undefined)[] = []
      if (way === 'concurrently') rows.push(...(await writeAll(statements)))
      else for (const statement of statements) rows.push((await database.write(statement))[0])
      expect(printed(rows)).toEqual(wanted())
    })

    test.each(['one by one', 'concurrently', 'with an Idempotency-Key'])(
      'before and after another property is updated %s',
      async (way) => {
        const other = entity === company ? { Name: 'x' } : { Type: 'x' }
        for (const pair of [
          [query, ''],
          ['', query],
          [query, query],
        ] as const) {
          const guard = guardOf(entity, [pair])
          const statements = stored.map(([id]) =>
            compileUpdate(
              entity,
              planOf(guard, {
                id: id as string,
                values: changesOf(entity, other),
                claim: way === 'with an Idempotency-Key' ? newClaim() : null,
              }),
            ),
          )
          const rows: (Row | undefined)[] = []
          if (way === 'concurrently') rows.push(...(await writeAll(statements)))
          else for (const statement of statements) rows.push((await database.write(statement))[0])
          expect(printed(rows)).toEqual(wanted())
        }
      },
    )

    test.each([false, true])('when rows are deleted; with an Idempotency-Key: %p', async (isKeyed) => {
      const guard = guardOf(entity, [[query, '']])
      const rows: (Row | undefined)[] = []
      for (const [id] of stored) {
        const plan = planOf(guard, { id: id as string, claim: isKeyed ? newClaim() : null })
        rows.push((await database.write(compileRemove(entity, plan, [])))[0])
      }
      expect(printed(rows)).toEqual(wanted())
    })

    test('when it decides whether the answer to a write may show the row', async () => {
      const guard = guardOf(entity, [['', '']], { readable: filters })
      const created = await writeAll(bodies.map((body) => compileCreate(entity, planOf(guard, { values: newRow(entity, body) }))))
      const updated = await writeAll(
        stored.map(([id], index) =>
          compileUpdate(entity, planOf(guard, { id: id as string, values: changesOf(entity, bodies[index] as JsonObject) })),
        ),
      )
      const single = await database.write(
        compileCreate(entity, planOf(guard, { values: newRow(entity, bodies[0] as JsonObject), claim: newClaim() })),
      )
      const isReadable = readableTest(viewOf(entity, new Set(entity.properties), filters, query))
      const isShown = (row: Row | undefined) => isReadable(row as Row)
      for (const rows of [created, updated]) expect(rows.map(isShown)).toEqual(expected)
      expect(isShown(single[0])).toBe(expected[0] as boolean)
    })
  })

describe('a guard with several pairs of filters admits an update only if one pair matches the row before and after', () => {
  const PAIRS = [
    ['Status=Requested', 'Status=Approved'],
    ['Status=Approved&Type=Sick', 'Status[]=Cancelled&Status[]=Approved'],
  ] as const
  test.each([
    [{ Status: 'Requested' }, { Status: 'Approved' }, true],
    [{ Status: 'Requested' }, { Status: 'Cancelled' }, false],
    [{ Status: 'Requested', Type: 'Sick' }, { Status: 'Cancelled' }, false],
    [{ Status: 'Approved' }, { Status: 'Cancelled' }, false],
    [{ Status: 'Approved', Type: 'Sick' }, { Status: 'Cancelled' }, true],
    [{ Status: 'Approved', Type: 'Sick' }, { Type: 'Holiday' }, true],
    [{ Status: 'Requested' }, { Type: 'Holiday' }, false],
    [{ Status: 'Declined', Type: 'Sick' }, { Status: 'Approved' }, false],
  ])('row %j, body %j: admitted %p', async (before, change, isAdmitted) => {
    const guard = guardOf(absence, PAIRS)
    const rows = (await writeAll(
      Array.from({ length: 4 }, () => compileCreate(absence, planOf(null, { values: newRow(absence, before) }))),
    )) as Row[]
    const values = changesOf(absence, change)
    const update = (row: Row, more: Partial<WritePlan> = {}) =>
      compileUpdate(absence, planOf(guard, { id: row[0] as string, values, ...more }))
    const [first, second, third, fourth] = rows as [Row, Row, Row, Row]
    const written = [
      await database.write(update(first)),
      await database.write(update(second, { claim: newClaim() })),
      ...(await Promise.all([third, fourth].map((row) => database.write(update(row))))),
    ]
    expect(written.map((one) => one.length)).toEqual(Array(4).fill(isAdmitted ? 1 : 0))
  })

  test('a guard without a pair of filters admits no write', async () => {
    const guard = guardOf(absence, [])
    const values = newRow(absence, {})
    expect(await database.write(compileCreate(absence, planOf(guard, { values })))).toEqual([])
    const [row] = await database.write(compileCreate(absence, planOf(null, { values })))
    const id = row?.[0] as string
    expect(
      await database.write(compileUpdate(absence, planOf(guard, { id, values: changesOf(absence, { Type: 'x' }) }))),
    ).toEqual([])
    expect(await database.write(compileRemove(absence, planOf(guard, { id }), []))).toEqual([])
  })
})

describe('a reference names only rows that match the filters of the right to read', () => {
  const reference = absence.properties.find(({ name }) => name === 'EmployeeId') as Property
  const guard = guardOf(absence, [['', '']], { references: new Map([[reference, filtersOf(employee, 'CompanyId=1')]]) })
  const bodies = [null, '1', '2', '3', '99', '1'].map((id) => ({ EmployeeId: id === null ? null : number(id) }))
  const expected = [null, 'Ann', undefined, undefined, undefined, 'Ann']
  const copied = (rows: readonly (Row | undefined)[]) => rows.map((row) => row?.[absence.properties.indexOf(reference) + 1])

  test('when rows are created and updated, in a batch and one by one', async () => {
    const created = await writeAll(bodies.map((body) => compileCreate(absence, planOf(guard, { values: newRow(absence, body) }))))
    expect(copied(created)).toEqual(expected)
    const rows = (await writeAll(
      bodies.map(() => compileCreate(absence, planOf(null, { values: newRow(absence, {}) }))),
    )) as Row[]
    const updates = rows.map(([id], index) =>
      compileUpdate(absence, planOf(guard, { id: id as string, values: changesOf(absence, bodies[index] as JsonObject) })),
    )
    expect(copied(await writeAll(updates))).toEqual(expected)
    const alone: (Row | undefined)[] = []
    for (const statement of updates) alone.push((await database.write(statement))[0])
    expect(copied(alone)).toEqual(expected)
  })

  test('when one statement creates several rows', async () => {
    const create = (ids: readonly (string | null)[]) => {
      const rows = ids.map((id) => newRow(absence, { EmployeeId: id === null ? null : number(id) }))
      const arrays = writableOf(absence).map((one) => arrayText(rows.map((row) => row.get(one) ?? null)))
      return database.write(compileCreateRows(absence, arrays, null, 'key', guard))
    }
    expect(copied(await create(['1', null, '1']))).toEqual(['Ann', null, 'Ann'])
    expect(await create(['1', '2'])).toEqual([])
  })
})

test('an answer shows a row if the copied name after the write matches, also for a row that refers to itself', async () => {
  const [row] = await database.write(compileCreate(employee, planOf(null, { values: newRow(employee, { KnownAs: 'Eva' }) })))
  const id = row?.[0] as string
  const guard = guardOf(employee, [['', '']], { readable: filtersOf(employee, 'Manager=Mia') })
  const update = (body: JsonObject) =>
    database.write(compileUpdate(employee, planOf(guard, { id, values: changesOf(employee, body) })))
  const isReadable = ([written]: readonly Row[]) => written?.[employee.properties.length + 1]
  expect(isReadable(await update({ ManagerId: number(id) }))).toBe('f')
  expect(isReadable(await update({ KnownAs: 'Mia' }))).toBe('t')
  expect(isReadable(await update({ KnownAs: 'Eva' }))).toBe('f')
})

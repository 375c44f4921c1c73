import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { compileList } from '../../src/compile/list.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { Database } from '../../src/execute/database.ts'
import type { Entity } from '../../src/model/entity.ts'
import { type OrderKey, order } from '../../src/model/order.ts'
import { parseList } from '../../src/parse/list.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { type Compare, compareOf as compareOfKind } from '../support/predicate.ts'
import { Random } from '../support/random.ts'
import { insertRows } from '../support/randomRows.ts'

/** A row's values of the keys, as PostgreSQL prints them. */
type Position = readonly (string | null)[]

/** Which of two positions comes first, as PostgreSQL orders them: below 0, 0, above 0. Null: it alone can decide. */
function comparePositions(keys: readonly OrderKey[]): ((one: Position, other: Position) => number) | null {
  const compares = keys.map(({ property }) => compareOfKind(property.kind))
  if (compares.includes(null)) return null
  return (one, other) => {
    for (let index = 0; index < keys.length; index++) {
      const [first, second] = [one[index] as string | null, other[index] as string | null]
      // Nothing is greater than having no value.
      const order =
        first === null || second === null
          ? Number(first === null) - Number(second === null)
          : (compares[index] as Compare)(first, second)
      if (order !== 0) return (keys[index] as OrderKey).descending ? -order : order
    }
    return 0
  }
}

const compareOf = (entity: Entity, sort: string) => comparePositions(order(entity, parseList(entity, `sort=${sort}`).sorts))

describe('which of two positions comes first', () => {
  test('booleans: false is before true', () => {
    const compare = compareOf(company, 'Enabled')
    expect(compare?.(['f', '2'], ['t', '1'])).toBeLessThan(0)
  })

  test('of texts only PostgreSQL knows, wherever they stand; behind the id they do not count', () => {
    for (const sort of ['Status', '-Status', 'Start,Status', 'Start,-Employee,Id']) expect(compareOf(absence, sort)).toBeNull()
    expect(compareOf(absence, 'Start,Id,Status')).not.toBeNull()
  })
})

describe('on the database', () => {
  let sql: postgres.Sql
  let database: Database
  beforeAll(async () => {
    const url = await createDatabase()
    sql = connect(url)
    database = new Database({ url, poolSize: 1, prepare: true })
    await insertRows(sql, new Random(3), 'Employees', 5)
    await insertRows(sql, new Random(3), 'Absences', 50)
  })
  afterAll(async () => {
    await database.end(1_000)
    await sql.end()
  })

  test.each([
    '',
    '-Id',
    'Start',
    '-Start',
    'Period.Days',
    '-Period.Days,Start',
    'EmployeeId,-Period.Hours',
    '-EmployeeId,-Start',
    'EmployeeId,-Id',
    '-Start,Id',
  ])('rows that PostgreSQL has sorted ascend, each with each: %s', async (sort) => {
    const query = { ...parseList(absence, `sort=${sort}`), pageSize: 50 }
    const keys = order(absence, query.sorts)
    const rows = await database.read(compileList(absence, query))
    const positions = rows.map(
      (row): Position => keys.map(({ property }) => row[1 + absence.properties.indexOf(property)] as string | null),
    )
    expect(positions).toHaveLength(50)
    const compare = compareOf(absence, sort)
    const wrong = positions.flatMap((first, one) =>
      positions.flatMap((second, other) =>
        Math.sign(compare?.(first, second) ?? Number.NaN) === Math.sign(one - other) ? [] : [[first, second]],
      ),
    )
    expect(wrong).toEqual([])
  })
})

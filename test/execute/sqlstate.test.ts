import { describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import { ConstraintViolation, classify, isAway, type Verdict } from '../../src/execute/outcomes.ts'
import { useDatabase } from '../support/database.ts'
import { freePort } from '../support/process.ts'

const { url, sql } = useDatabase()

const fault = (query: Promise<unknown>) =>
  query.then(
    () => null,
    (error) => error,
  )

describe('verdicts on errors of PostgreSQL', () => {
  const queries: [string, Verdict][] = [
    ["insert into absence (start, \"end\") values ('2024-01-02', '2024-01-01')", 'constraint'],
    ["insert into employee (company_id, company_key) values (9, 'x')", 'constraint'],
    ['insert into employee (company_id) values (9)', 'constraint'],
    ['insert into company (enabled) values (null)', 'constraint'],
    ["set statement_timeout = '10ms'; select pg_sleep(5)", 'refused'],
    ['set transaction read only; create table t ()', 'refused'],
    ['select pg_terminate_backend(pg_backend_pid())', 'lost'],
    ['select nothing_of_the_kind', 'fault'],
    ["select 'x'::int", 'fault'],
    ['select 1 / 0', 'fault'],
    ['this is no SQL', 'fault'],
  ]
  for (const [text, verdict] of queries)
    test(`the error of the statement ${text} gets the verdict ${verdict}`, async () => {
      const own = postgres(url, { max: 1, onnotice: () => undefined })
      expect(classify(await fault(own.unsafe(text)))).toBe(verdict)
      await own.end({ timeout: 1 })
    })
})

describe('the verdict on an error that a test cannot cause', () => {
  test.each([
    // Errors of a full disk, among others.
    [
      'refused',
      ['53100', '58030', '58P01', '42501', '55006', 'XX000', 'XX001', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ],
    ['noConnection', ['53300']],
    ['notSent', ['57P03', 'CONNECT_TIMEOUT', 'EMFILE', 'ENFILE']],
    ['lost', ['57P02', '08006', 'CONNECTION_DESTROYED']],
    ['rolledBack', ['40001']],
    ['locked', ['55P03']],
    ['constraint', ['23000']],
    // The last ones are no SQLSTATE, though they begin like one.
    ['fault', ['42601', '42703', '22P02', 'MAX_PARAMETERS_EXCEEDED', '08', '530000']],
  ] as const)('is %s for the codes %p', (verdict, codes) =>
    expect(codes.map((code) => classify({ code }))).toEqual(codes.map(() => verdict)),
  )

  test('is fault for an error without a code', () => {
    for (const error of [null, undefined, 'x', new Error('x'), { code: 5 }]) expect(classify(error)).toBe('fault')
  })
})

test('a ConstraintViolation has the name of the constraint, and says whether it is a foreign key', async () => {
  const violation = async (text: string) => {
    const { constraint, isForeignKey } = new ConstraintViolation(await fault(sql.unsafe(text)))
    return [constraint, isForeignKey]
  }
  await sql`with c as (insert into company (name) values ('kept') returning id, name_key)
    insert into employee (company_id, company_key) select id, name_key from c`
  for (const [text, constraint, isForeignKey] of [
    ["insert into absence (start, \"end\") values ('2024-01-02', '2024-01-01')", 'absence_end_not_before_start', false],
    ["insert into employee (company_id, company_key) values (9, 'x')", 'employee_company_id_current', true],
    ["delete from company where name = 'kept'", 'employee_company_id_current', true],
    ['insert into company (enabled) values (null)', '', false],
  ] as const)
    expect(await violation(text)).toEqual([constraint, isForeignKey])
})

describe('isAway', () => {
  const failureAt = async (change: (address: URL) => void) => {
    const address = new URL(url)
    change(address)
    const own = postgres(address.href, { max: 1, connect_timeout: 2 })
    const error = await fault(own`select 1`)
    await own.end({ timeout: 0 })
    return error
  }
  for (const [what, change, away] of [
    ['where nothing listens', (address: URL) => (address.port = String(freePort())), true],
    ['where the name is unknown', (address: URL) => (address.hostname = 'no-such-host.invalid'), true],
    ['where the password is wrong', (address: URL) => (address.password = 'wrong'), false],
    ['where there is no such role', (address: URL) => (address.username = 'nobody'), false],
    ['where there is no such database', (address: URL) => (address.pathname = '/nowhere'), false],
    // template0 never accepts a connection.
    ['where it is template0', (address: URL) => (address.pathname = '/template0'), true],
  ] as const)
    test(`a database ${away ? 'counts' : 'does not count'} as away ${what}`, async () => {
      const error = await failureAt(change)
      expect(isAway(error)).toBe(away)
      if (error.code !== 'ENOTFOUND' && error.code !== 'ECONNREFUSED') expect(classify(error)).toBe('refused')
      expect(isAway(new Error('the start failed', { cause: new Error('for a reason', { cause: error }) }))).toBe(away)
    })

  test('a database counts as away if it starts, stops, is read-only or has no connection left, but not if a statement is wrong', () => {
    const are = (codes: string[]) => codes.map((code) => isAway(Object.assign(new Error(), { code })))
    expect(are(['57P03', '57P01', '53300', '25006', 'CONNECT_TIMEOUT'])).toEqual([true, true, true, true, true])
    expect(are(['42501', '42P01', '22012', '55P03', '57014', 'DEPTH_ZERO_SELF_SIGNED_CERT'])).toEqual(Array(6).fill(false))
    expect(isAway(new Error('0017_baseline.sql was edited'))).toBe(false)
  })
})

import { beforeEach, describe, expect, test } from 'bun:test'
import { untilInMemory } from '../support/inMemory.ts'
import { useServer } from '../support/start.ts'

// D70: every read includes every write that had committed when the request arrived.

const PATH = '/Employees?sort=-Company,Id&PageSize=50'

const environment = { PUBLIC_URL: 'http://roster.test' }
const one = useServer({ environment })
const other = useServer(() => ({ environment, databaseUrl: one.databaseUrl }))
const plain = useServer(() => ({ environment: { ...environment, MEMORY_MB: '0' }, databaseUrl: one.databaseUrl }))

beforeEach(async () => {
  // A truncation would end the copies. Loads that are of no use for long are paused for up to a minute, the longer the slower.
  for (const table of ['absence', 'employee', 'company']) {
    await one.sql`delete from ${one.sql(table)}`
    await one.sql`select setval(pg_get_serial_sequence(${table}, 'id'), 1, false)`
  }
  await one.sql`insert into company (name) values ('Acme'), ('Bolt')`
  await one.sql`
    insert into employee (first_name, company_id, company_key)
    select 'n' || n, company.id, name_key from generate_series(1, 20) as n join company on company.id = 1 + n % 2`
  await Promise.all([untilInMemory(one, 'employee', PATH), untilInMemory(other, 'employee', PATH)])
})

const WRITES: readonly [name: string, write: () => Promise<unknown>][] = [
  ['a create over the same server', () => one.post('/Employees', { FirstName: 'new', CompanyId: 1 })],
  ['a change over the other server', () => other.patch('/Employees/3', { FirstName: 'changed' })],
  ['a deletion', () => other.remove('/Employees/4')],
  ['a rename, whose copies a cascade writes', () => other.patch('/Companies/1', { Name: `Renamed ${Math.random()}` })],
  ['a create of several rows', () => one.send('POST', '/Employees', [{ FirstName: 'a' }, { FirstName: 'b' }])],
  ['an update by psql', () => one.sql`update employee set last_name = 'psql' where id % 3 = 0`],
  ['a rename by psql', () => one.sql`update company set name = name || '!' where id = 2`],
  ['a deletion by psql', () => one.sql`delete from employee where id > 15`],
  ['a change of an id', () => one.sql`update employee set id = default where id = 5`],
  ['a truncation', () => one.sql`truncate employee cascade`],
  [
    'an insert of more rows than one row of row_change has ids for',
    () => one.sql`insert into employee (first_name) select 'many' from generate_series(1, 1500)`,
  ],
  [
    'a transaction with two savepoints, one of which was rolled back',
    () =>
      one.sql.begin(async (transaction) => {
        await transaction`update employee set title = 'one' where id = 1`
        await transaction
          .savepoint(async (inner) => {
            await inner`update employee set title = 'undone' where id = 2`
            throw new Error('undone')
          })
          .catch(() => undefined)
        await transaction.savepoint((inner) => inner`update employee set title = 'two' where id = 2`)
      }),
  ],
  [
    'a transaction with more statements than it records in row_change',
    () =>
      one.sql.begin(async (transaction) => {
        for (let write = 0; write < 300; write++) await transaction`update employee set title = ${`${write}`} where id = 7`
      }),
  ],
  [
    'an update in a session that fires no ordinary triggers',
    () =>
      one.sql.begin(async (transaction) => {
        await transaction`set local session_replication_role = replica`
        await transaction`update employee set title = 'replica'`
      }),
  ],
  ['a rewrite of the table by VACUUM FULL', () => one.sql`vacuum full employee`],
  [
    'the commit of a transaction that began long before',
    async () => {
      const early = await one.sql.reserve()
      await early`begin`
      await early`update employee set title = 'early' where id = 1`
      await one.patch('/Employees/2', { Title: 'late' })
      expect((await one.get(PATH)).text).toBe((await plain.get(PATH)).text)
      await early`commit`
      early.release()
    },
  ],
]

describe('lists from memory of every server equal lists from PostgreSQL immediately after', () => {
  test.each(WRITES)('%s', async (_, write) => {
    for (let round = 0; round < 2; round++) {
      await write()
      const [first, second, truth] = await Promise.all([one.get(PATH), other.get(PATH), plain.get(PATH)])
      for (const answer of [first, second]) {
        expect(answer.text).toBe(truth.text)
        expect(answer.headers.get('x-total-count')).toBe(truth.headers.get('x-total-count'))
        expect(answer.headers.get('link')).toBe(truth.headers.get('link'))
      }
    }
    await untilInMemory(one, 'employee', PATH)
  })
})

test('a list from memory is answered while its table is locked in access exclusive mode', async () => {
  await one.sql.begin(async (transaction) => {
    await transaction`lock table employee in access exclusive mode`
    expect((await one.get(PATH)).status).toBe(200)
    expect((await one.get('/Employees?FirstName=n3')).headers.get('x-total-count')).toBe('1')
  })
})

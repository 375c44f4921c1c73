import { beforeEach, describe, expect, test } from 'bun:test'
import { createRow, createRows, emptyTables } from '../support/rows.ts'
import type { Answer, Json } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

const server = useServer()
beforeEach(async () => {
  await emptyTables(server.sql)
})

/** Holds the row while `during` runs. */
async function whileLocked(table: string, id: number, during: () => Promise<void>) {
  await server.sql.begin(async (transaction) => {
    await transaction`select from ${transaction(table)} where id = ${id} for update`
    await during()
  })
}

/** Asks and, a moment later, asks the next: each is a statement of its own. */
async function oneByOne(count: number, ask: () => Promise<Answer>) {
  const answers: Promise<Answer>[] = []
  for (let index = 0; index < count; index++) {
    answers.push(ask())
    await Bun.sleep(20)
  }
  return answers
}

describe('a row that another transaction has locked', () => {
  test('delays only the updates of this row, not updates of other rows in the same batch or later', async () => {
    const [held, ...others] = await createRows(
      server,
      '/Absences',
      times(12, () => ({})),
    )
    const patch = (id: number, Status: string) => server.patch(`/Absences/${id}`, { Status })
    let waiting: Promise<Answer>[] = []
    const ended: number[] = []
    const note = ({ status }: Answer) => ended.push(status)
    await whileLocked('absence', held.id, async () => {
      const together = [held, ...others].map(({ id }) => patch(id, 'together'))
      for (const { status, body } of await Promise.all(together.slice(1)))
        expect([status, body.status]).toEqual([200, 'together'])
      waiting = [together[0] as Promise<Answer>, ...(await oneByOne(4, () => patch(held.id, 'alone')))]
      for (const answer of waiting) answer.then(note)
      for (const { id } of others.slice(0, 4)) expect((await patch(id, 'later')).status).toBe(200)
      expect(ended).toEqual([])
    })
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(waiting.map(() => 200))
  })

  test('delays the creates that refer to it, and no other creates', async () => {
    const [held, other] = await createRows(server, '/Employees', [{ FirstName: 'held' }, { FirstName: 'other' }])
    const create = (EmployeeId: number | null, Status: string) => server.post('/Absences', { EmployeeId, Status })
    let waiting: Promise<Answer>[] = []
    const ended: number[] = []
    const note = ({ status }: Answer) => ended.push(status)
    await whileLocked('employee', held.id, async () => {
      const together = [held.id, other.id, null, other.id].map((id) => create(id, 'together'))
      for (const { status } of await Promise.all(together.slice(1))) expect(status).toBe(201)
      waiting = [together[0] as Promise<Answer>, ...(await oneByOne(4, () => create(held.id, 'alone')))]
      for (const answer of waiting) answer.then(note)
      for (const id of [null, other.id]) expect((await create(id, 'later')).status).toBe(201)
      expect(ended).toEqual([])
    })
    for (const { status, body } of await Promise.all(waiting)) expect([status, body.employee]).toEqual([201, 'held'])
    const rows = await server.sql`select status, count(*)::int as n from absence group by status order by status`
    expect(rows.map(({ status, n }) => [status, n])).toEqual([
      ['alone', 4],
      ['later', 2],
      ['together', 4],
    ])
  })
})

test('a client finds its own write as soon as it is answered: by id, in lists, and in lists filtered by a reference', async () => {
  const employees = await createRows(
    server,
    '/Employees',
    times(8, (index) => ({ FirstName: `e${index}` })),
  )
  const client = async (EmployeeId: number) => {
    const mine = `/Absences?EmployeeId=${EmployeeId}&sort=-Id&PageSize=5`
    for (let round = 1; round <= 15; round++) {
      const { id } = await createRow(server, '/Absences', { EmployeeId, Status: 'new' })
      const [one, list] = await Promise.all([server.get(`/Absences/${id}`), server.get(mine)])
      expect([one.body.id, list.headers.get('x-total-count'), list.body[0].id]).toEqual([id, `${round}`, id])
      const all = await server.get('/Absences?sort=-Id&PageSize=50')
      expect(all.body.map((row: Json) => row.id)).toContain(id)
      expect((await server.patch(`/Absences/${id}`, { Status: `${round}` })).body.status).toBe(`${round}`)
      const [again, changed] = await Promise.all([server.get(`/Absences/${id}`), server.get(mine)])
      expect([again.body.status, changed.body[0].status]).toEqual([`${round}`, `${round}`])
    }
  }
  await Promise.all(employees.map(({ id }) => client(id)))
})

test('concurrent lists filtered by one reference have the same rows, order, total and links as when they are requested one by one', async () => {
  await server.sql`insert into employee (first_name) select 'e' || n from generate_series(1, 12) as n`
  await server.sql`
    insert into absence (employee_id, employee_key, status, start, period_days)
    select id, display_name_key, 's' || n % 3, timestamptz '2024-01-01Z' + n % 7 * interval '1 day', n % 5 / 4.0
    from generate_series(1, 90) as n join employee on n % id in (0, 1)`
  const filters = ['', '&Start=>=2024-01-03T00:00:00Z', '&Period.Days=!=0.25', '&Period.Days=>=0.000000001', '&Status=s1']
  const orders = ['', '&sort=-Start', '&sort=Status,-Period.Days', '&sort=-Employee&PageSize=5', '&page=2&PageSize=7']
  const queries = filters.flatMap((filter) => orders.map((order) => filter + order))
  const paths = queries.flatMap((query) => [1, 2, 3, 2, 12, 99].map((id) => `/Absences?EmployeeId=${id}${query}`))
  const together = await Promise.all(paths.map((path) => server.get(path)))
  for (const [index, path] of paths.entries())
    expect([path, compared(together[index] as Answer)]).toEqual([path, compared(await server.get(path))])
})

function compared({ status, text, headers }: Answer) {
  const names = ['x-total-count', 'link', 'location']
  return { status, text, headers: names.map((name) => headers.get(name)) }
}

test('concurrent renames and references to the renamed rows leave correct copies', async () => {
  const companies = await createRows(
    server,
    '/Companies',
    times(6, (index) => ({ Name: `c${index}` })),
  )
  const employees = await createRows(
    server,
    '/Employees',
    times(6, (index) => ({ CompanyId: companies[index].id })),
  )
  const renames = times(10, (round) =>
    companies.flatMap(({ id }, index) => [
      server.patch(`/Companies/${id}`, { Name: `c${index} ${round}` }),
      server.patch(`/Employees/${employees[index].id}`, { LastName: `e${index} ${round}` }),
      server.post('/Employees', { CompanyId: id, ManagerId: employees[index].id }),
      server.post('/Absences', { EmployeeId: employees[index].id }),
    ]),
  ).flat()
  const answers = await Promise.all(renames)
  expect(answers.filter(({ status }) => status !== 200 && status !== 201)).toEqual([])
  const [row] = await server.sql`
    select
      (select count(*)::int from employee e join company c on c.id = e.company_id where e.company = c.name) as companies,
      (select count(*)::int from employee e join employee m on m.id = e.manager_id where e.manager = m.display_name) as managers,
      (select count(*)::int from absence a join employee e on e.id = a.employee_id where a.employee = e.display_name) as employees`
  expect(row).toEqual({ companies: 66, managers: 60, employees: 60 })
})

/** How many transactions have last written the rows. */
async function transactionsOf(table: string): Promise<number> {
  const [row] = await server.sql`select count(distinct xmin::text)::int as n from ${server.sql(table)}`
  return row?.n
}

test('concurrent renames are written by separate statements, and all copies get the new names', async () => {
  const rows = times(20, () => ({}))
  const companies = await createRows(server, '/Companies', rows)
  const employees = await Promise.all(companies.map(({ id }) => createRow(server, '/Employees', { CompanyId: id })))
  await Promise.all([
    ...companies.map(({ id }) => server.patch(`/Companies/${id}`, { Name: 'renamed' })),
    ...employees.map(({ id }) => server.patch(`/Employees/${id}`, { LastName: 'renamed' })),
  ])
  expect(await transactionsOf('company')).toBe(rows.length)
  const ids = employees.map(({ id }) => id as number)
  const [row] = await server.sql`
    select count(*)::int as n from employee where id = any (${ids}) and display_name = 'renamed' and company = 'renamed'`
  expect(row?.n).toBe(rows.length)
})

test('when connections are killed, reads are answered, writes are 201 or 503, and nothing is written twice', async () => {
  const { id } = await createRow(server, '/Companies', { Name: 'kept' })
  let isOver = false
  const reads: number[] = []
  const writes = new Map<string, number>()
  const reader = async () => {
    while (!isOver) reads.push((await server.get(`/Companies/${id}`)).status)
  }
  const writer = async (_: unknown, client: number) => {
    for (let round = 0; !isOver; round++) {
      const Name = `w${client} ${round}`
      writes.set(Name, (await server.post('/Companies', { Name })).status)
    }
  }
  const clients = [...times(8, reader), ...times(24, (index) => writer(null, index))]
  for (let kill = 0; kill < 5; kill++) {
    await Bun.sleep(250)
    await server.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'roster'`
  }
  isOver = true
  await Promise.all(clients)
  expect([...new Set(reads)]).toEqual([200])
  expect([...new Set(writes.values())].filter((status) => status !== 201 && status !== 503)).toEqual([])
  const rows = await server.sql`select name, count(*)::int as n from company where name like 'w%' group by name`
  expect(rows.filter(({ n }) => n !== 1)).toEqual([])
  const names = new Set(rows.map(({ name }) => name as string))
  for (const [name, status] of writes) if (status === 201) expect(names).toContain(name)
})

// The list parameter `may` finds the rows that the caller may write: compared with writes that are tried row by row. D109
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Claims } from '../../src/model/token.ts'
import { pageLinksOf } from '../support/pageLinks.ts'
import { PlainIssuer } from '../support/plainIssuer.ts'
import { keyWith } from '../support/rights.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'
import { createRow, emptyTables } from '../support/rows.ts'
import { type Answer, type Json, makeKey, type TestServer } from '../support/server.ts'
import { allowSeveralRights } from '../support/severalRights.ts'
import { useServer } from '../support/start.ts'

afterAll(allowSeveralRights())

const STATUSES = ['Requested', 'Approved', 'Declined', 'Cancelled']
type Headers = Record<string, string>

/** Employee 1 is the manager of 2 and 3, and 3 of 4; 5 is nobody's. */
const EMPLOYEES = [
  { KnownAs: 'Ann', WorkEmail: 'ann@example.com', ManagerId: null },
  { KnownAs: 'Bob', WorkEmail: 'bob@example.com', ManagerId: 1 },
  { KnownAs: 'Cid', WorkEmail: 'cid@example.com', ManagerId: 1 },
  { KnownAs: 'Dan', WorkEmail: 'dan@example.com', ManagerId: 3 },
  { KnownAs: 'Eve', WorkEmail: 'eve@example.com', ManagerId: null },
]
const ABSENCES = [1, 2, 3, 4, 5, null].flatMap((EmployeeId) =>
  STATUSES.map((Status, at) => ({
    EmployeeId,
    Status,
    Type: at % 2 === 0 ? 'Holiday' : 'Illness',
    Reason: 'Rest',
    Start: at < 2 ? '2000-01-31T09:00:00Z' : '2999-01-31T09:00:00Z',
  })),
)

async function fill(server: TestServer) {
  await emptyTables(server.sql)
  for (const employee of EMPLOYEES) await createRow(server, '/Employees', employee)
  for (const absence of ABSENCES) await createRow(server, '/Absences', absence)
}

/** Sends requests of one caller. */
class Caller {
  constructor(
    private readonly server: TestServer,
    private readonly headers: Headers,
  ) {}

  send(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Answer> {
    return this.server.send(method, path, body, { ...headers, ...this.headers })
  }

  /** Ids of all rows of a list, by its cursors. */
  async ids(query: string, pageSize = 50): Promise<number[]> {
    const ids: number[] = []
    let path = `/Absences?${query}&PageSize=${pageSize}`
    for (;;) {
      const answer = await this.send('GET', path)
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`)
      ids.push(...answer.body.map(({ id }: Json) => id))
      const next = pageLinksOf(answer).find(({ relation }) => relation === 'next')
      if (!next) return ids
      path = `${next.url.pathname}${next.url.search}`
    }
  }

  async streamed(query: string): Promise<number[]> {
    const { text } = await this.send('GET', `/Absences?${query}`, undefined, { accept: 'application/x-ndjson' })
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).id)
  }

  async counted(query: string): Promise<number> {
    return (await this.send('GET', `/Absences/Summary?${query}`)).body[0].count
  }

  async headed(query: string): Promise<number> {
    return Number((await this.send('HEAD', `/Absences?${query}`)).headers.get('x-total-count'))
  }

  /** Ids of the rows that the caller reads, and that a write is tried for with success. */
  async tried(may: string): Promise<number[]> {
    const ids = await this.ids('sort=Id')
    const are = await Promise.all(ids.map((id) => this.mayWrite(id, may)))
    return ids.filter((_, at) => are[at])
  }

  /** Tries writes, and restores the row. */
  private async mayWrite(id: number, may: string): Promise<boolean> {
    const { sql } = this.server
    for (const body of bodiesOf(may)) {
      const [row] = await sql`select * from absence where id = ${id}`
      const { status } = await this.send(body === null ? 'DELETE' : 'PATCH', `/Absences/${id}`, body ?? undefined)
      if (status !== 200 && status !== 204 && status !== 403) throw new Error(`the write of ${id} was ${status}`)
      if (status === 403) continue
      const kept = row as Json
      if (status === 204)
        await sql`insert into absence (id, status, employee_id, employee_key, type, reason, start) overriding system value
          values (${id}, ${kept.status}, ${kept.employee_id}, ${kept.employee_key}, ${kept.type}, ${kept.reason}, ${kept.start})`
      else await sql`update absence set status = ${kept.status}, type = ${kept.type}, reason = ${kept.reason} where id = ${id}`
      return true
    }
    return false
  }
}

/** Bodies of PATCH that set the properties, with all values that a right may want; null: DELETE. */
function bodiesOf(may: string): (object | null)[] {
  if (may === 'delete') return [null]
  const names = /\((.*)\)/.exec(may)?.[1]?.split(',') ?? []
  const others = Object.fromEntries(names.filter((name) => name !== 'Status').map((name) => [name, 'Holiday']))
  return names.includes('Status') ? STATUSES.map((Status) => ({ ...others, Status })) : [others]
}

const WRITES = ['update', 'update(Status)', 'update(Reason)', 'update(Reason,Status)', 'update(Type)', 'delete']

/** Expects that each form of a list with `may` has these rows, however often it is asked. */
async function expectListed(caller: Caller, may: string, expected: readonly number[]) {
  const query = `may=${may}`
  for (let time = 0; time < 2; time++) {
    const found = await Promise.all([
      caller.ids(`${query}&sort=Id`),
      caller.ids(`${query}&sort=-Status`, 5).then((ids) => ids.toSorted((one, other) => one - other)),
      caller.streamed(`sort=Id&${query}`),
      caller.counted(query),
      caller.headed(query),
    ])
    expect(found).toEqual([[...expected], [...expected], [...expected], expected.length, expected.length])
  }
}

/** The rights of employee `id` by two roles. */
const rolesOf = (id: number) => [
  `read Employees?Id=${id}`,
  `read Employees?ManagerId=${id}`,
  `read Absences?EmployeeId=${id}`,
  `update Absences?EmployeeId=${id}&Status=Requested&fields=Status becomes Status=Cancelled`,
  `update Absences?EmployeeId=${id}&fields=Type,Reason`,
  `delete Absences?EmployeeId=${id}&Status=Requested`,
  `read Absences?EmployeeId.ManagerId=${id}`,
  `update Absences?EmployeeId.ManagerId=${id}&Status=Requested&fields=Status,Reason becomes Status[]=Approved&Status[]=Declined`,
  `delete Absences?EmployeeId.ManagerId=${id}&Status=Declined`,
]
const KEYS = {
  'a key with all rights': makeKey(),
  'a key that reads': keyWith('read Absences', 'read Employees'),
  'a key that writes all rows': keyWith('read Absences', 'read Employees', 'write Absences'),
  'a key that decides': keyWith(
    'read Absences',
    'update Absences?Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined',
  ),
  'a key whose right compares properties that it does not see': keyWith(
    'read Absences?Status[]=Requested&Status[]=Declined&fields=Status,Type,Reason',
    'update Absences?Start=<2024-01-31T09:00:00Z&EmployeeId.KnownAs[contains]=B&fields=Reason',
    'delete Absences?Start=>2024-01-31T09:00:00Z&EmployeeId=2',
  ),
  'a key that reads few of the rows that it may write': keyWith(
    'read Absences?EmployeeId=2',
    'update Absences?Status=!=Approved&fields=Status,Reason,Type',
    'delete Absences?Status=!=Approved',
  ),
  'a key that updates all rows below a manager': keyWith(
    'read Absences',
    'update Absences?EmployeeId.ManagerId[under]=1&fields=Reason',
  ),
  'a key without an employee': keyWith('read Absences', 'update Absences?EmployeeId=&fields=Reason,Status'),
  'an employee and manager': keyWith(...rolesOf(1)),
  'a report and manager': keyWith(...rolesOf(3)),
  'several rights of different properties': keyWith(
    'read Absences',
    'read Employees',
    'update Absences?EmployeeId=1',
    'update Absences?fields=Reason',
    'update Absences?Status=Approved&fields=Status',
  ),
}

describe('D109: rows that a key may write', () => {
  const keys = Object.values(KEYS).map(({ record }) => record)
  const memory = useServer({ keys })
  const database = useServer(() => ({ keys, environment: { MEMORY_MB: '0' }, databaseUrl: memory.databaseUrl }))
  beforeAll(() => fill(memory))

  for (const [name, { headers }] of Object.entries(KEYS))
    test.each(WRITES)(`${name}: a list with may=%s has the rows for which the write succeeds, also from memory`, async (may) => {
      const expected = await new Caller(memory, headers).tried(may)
      for (const server of [memory, database]) await expectListed(new Caller(server, headers), may, expected)
    })
})

describe.each([
  ['from memory', {}],
  ['from the database', { MEMORY_MB: '0' }],
])('D109: rows that a person may write, %s', (_where, environment) => {
  const issuer = new PlainIssuer()
  const roles = `${ROLES_FILE}
role planner when {groups} has planners
  update Absences?Start=>{now}&fields=Reason
  delete Absences?Type[]={types}
`
  const server = useServer(() => ({
    environment: { ...issuer.settings, ...environment, RATE_LIMITS_PERSONS: '10000/1s' },
    roles,
    hasForeignRows: true,
  }))
  const callerOf = (claims: Claims) => {
    const token = issuer.token({ sub: JSON.stringify(claims), email_verified: true, ...claims })
    return new Caller(server, { authorization: `Bearer ${token}` })
  }
  beforeAll(() => fill(server))

  test.each<[string, Claims]>([
    ['a manager', { email: 'ann@example.com' }],
    ['an employee', { email: 'bob@example.com' }],
    ['an employee who is also a manager', { email: 'cid@example.com' }],
    ['HR', { email: 'eve@example.com', groups: ['hr'] }],
    ['a planner', { email: 'eve@example.com', groups: ['planners', 'hr'], types: ['Illness', 'Holiday'] }],
    ['a planner without a value of a variable', { email: 'bob@example.com', groups: ['planners'] }],
  ])('for %s, a list with each form of may has the rows for which the write succeeds', async (_who, claims) => {
    const caller = callerOf(claims)
    for (const may of WRITES) await expectListed(caller, may, await caller.tried(may))
  })

  test('may=update(Status) lists the absences that an employee may cancel, and those that her manager may decide', async () => {
    expect(await callerOf({ email: 'bob@example.com' }).ids('may=update(Status)')).toEqual([5])
    expect(await callerOf({ email: 'ann@example.com' }).ids('may=update(Status)&sort=Id')).toEqual([1, 5, 9])
    expect(await callerOf({ email: 'ann@example.com' }).ids('may=update(Status)&EmployeeId=!=1&sort=Id')).toEqual([5, 9])
    expect(await callerOf({ email: 'ann@example.com' }).headed('Id=6&may=update(Status)')).toBe(0)
  })

  test('may=update(Status) lists the absences of an employee exactly while the person is her manager', async () => {
    const { sql } = server
    const eve = callerOf({ email: 'eve@example.com' })
    expect(await eve.ids('may=update(Status)')).toEqual([17])
    for (const [manager, ids] of [
      [5, [13, 17]],
      [3, [17]],
    ] as const) {
      await sql`update employee set manager_id = m.id, manager_key = m.key
        from (select id, display_name_key as key from employee where id = ${manager}) as m where employee.id = 4`
      expect(await eve.ids('may=update(Status)&sort=Id')).toEqual([...ids])
    }
  })

  test('with the parameter may, a list of a named view has no rows', async () => {
    const hr = callerOf({ email: 'eve@example.com', groups: ['hr'] })
    expect((await hr.send('GET', '/Employees?may=update(JobTitle)')).body).toHaveLength(5)
    const view = await hr.send('GET', '/Directory?may=update(JobTitle)')
    expect([view.status, view.body, view.headers.get('x-total-count')]).toEqual([200, [], '0'])
    expect((await hr.send('GET', '/Directory?may=delete')).body).toEqual([])
  })
})

describe('D109: a list with may', () => {
  const READ = 'read Absences?fields=Status,EmployeeId'
  const keys = {
    first: keyWith(READ, 'update Absences?Status=Requested&fields=Status'),
    second: keyWith(READ, 'update Absences?Status=Approved&fields=Status'),
    none: keyWith(READ),
  }
  const memory = useServer({ keys: Object.values(keys).map(({ record }) => record) })
  const database = useServer(() => ({
    keys: Object.values(keys).map(({ record }) => record),
    environment: { MEMORY_MB: '0' },
    databaseUrl: memory.databaseUrl,
  }))
  beforeAll(() => fill(memory))
  const as = (key: keyof typeof keys, server = memory) => new Caller(server, keys[key].headers)

  test('is not answered from the cached list of a key that reads the same rows, but may write other rows', async () => {
    for (let time = 0; time < 3; time++) {
      const statuses = async (key: keyof typeof keys) =>
        (await as(key).send('GET', '/Absences?may=update&fields=Status')).body.map(({ status }: Json) => status)
      expect(new Set(await statuses('first'))).toEqual(new Set(['Requested']))
      expect(new Set(await statuses('second'))).toEqual(new Set(['Approved']))
      expect(await statuses('none')).toEqual([])
      expect((await as('second').send('GET', '/Absences/Summary?may=update(Status)&groupBy=Status')).body).toEqual([
        { status: 'Approved', count: 6 },
      ])
      expect((await as('first').send('GET', '/Absences/Summary?may=update(Status)&groupBy=Status')).body).toEqual([
        { status: 'Requested', count: 6 },
      ])
    }
  })

  test('has the same bytes from memory and from the database, and is 304 for a page that the client has', async () => {
    for (const path of [
      '/Absences?may=update&sort=-Id&PageSize=5',
      '/Absences?may=update(Status)&page=2&PageSize=5',
      '/Absences?may=delete',
      '/Absences/Summary?may=update&groupBy=EmployeeId',
    ]) {
      const [one, other] = await Promise.all([as('first'), as('first', database)].map((caller) => caller.send('GET', path)))
      expect(one?.text).toBe(other?.text as string)
      expect(one?.headers.get('x-total-count')).toBe(other?.headers.get('x-total-count') as string)
      const held = await as('first').send('GET', path, undefined, { 'if-none-match': one?.headers.get('etag') as string })
      expect(held.status).toBe(304)
    }
  })

  test('is 400 with a cursor of a list for another write, for other rights or for all rows', async () => {
    const cursorOf = async (key: keyof typeof keys, query: string) => {
      const links = pageLinksOf(await as(key).send('GET', `/Absences?${query}&PageSize=5`))
      return links.find(({ relation }) => relation === 'next')?.url.searchParams.get('cursor')
    }
    const statusWith = async (key: keyof typeof keys, query: string, cursor: unknown) =>
      (await as(key).send('GET', `/Absences?${query}&PageSize=5&page=2&cursor=${cursor}`)).status
    const cursor = await cursorOf('first', 'may=update')
    expect(await statusWith('first', 'may=update', cursor)).toBe(200)
    expect(await statusWith('second', 'may=update', cursor)).toBe(400)
    expect(await statusWith('none', 'may=update', cursor)).toBe(400)
    expect(await statusWith('first', 'may=update(Status)', cursor)).toBe(400)
    expect(await statusWith('first', 'Status=Requested', cursor)).toBe(400)
    expect(await statusWith('first', '', cursor)).toBe(400)
    expect(await statusWith('first', 'may=update', await cursorOf('first', ''))).toBe(400)
  })

  test('keeps the parameter may in its links, as the client wrote it', async () => {
    const links = pageLinksOf(await as('first').send('GET', '/Absences?MAY=Update(status)&PageSize=5'))
    expect(links.map(({ url }) => url.searchParams.get('MAY'))).toEqual(['Update(status)', 'Update(status)'])
  })
})

import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { useIssuer } from '../support/issuer.ts'
import { DEEP_ROLES, headersOf, insertPeople, rolesFile, setManager } from '../support/people.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import type { Asked } from '../support/requests.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'
import type { Json } from '../support/server.ts'
import { useProcess } from '../support/start.ts'

// The roles of a company, tested with real tokens on servers in processes of their own. D106: rights are as fresh as any read.

const issuer = useIssuer()
const PEOPLE = ['Max', 'Mia', 'Ann', 'Bob', 'Hanna', 'Twin', 'Old', 'New', 'Nobody'] as const
type Name = (typeof PEOPLE)[number] | 'Empty' | 'Missing'

let databaseUrl = ''
let sql: postgres.Sql
const people = {} as Record<Name, Record<string, string>>

beforeAll(async () => {
  databaseUrl = await createDatabase()
  sql = connect(databaseUrl)
  for (const name of PEOPLE) people[name] = await headersOf(issuer, name, name === 'Hanna' ? { groups: ['staff', 'hr'] } : {})
  people.Empty = await headersOf(issuer, 'Empty', { email: '' })
  people.Missing = { authorization: `Bearer ${await issuer.tokenFor({ sub: 'Missing', email_verified: true })}` }
})

beforeEach(() => insertPeople(sql))

const SERVERS = [
  ['from memory', '64'],
  ['with MEMORY_MB=0', '0'],
] as const

/** What persons get: the ids of lists, with their exact totals. */
const ASKED: readonly (readonly [name: Name, request: string, status: number, ids: readonly number[] | null])[] = [
  ['Ann', 'GET /Directory?sort=Id', 200, [1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ['Ann', 'GET /Employees', 200, [3]],
  ['Ann', 'GET /Employees/3', 200, null],
  ['Ann', 'GET /Employees/4', 404, null],
  ['Ann', 'GET /Absences?sort=Id', 200, [1, 5]],
  ['Ann', 'GET /Absences?EmployeeId=4', 200, []],
  ['Ann', 'GET /Absences/2', 404, null],
  ['Ann', 'GET /Companies', 403, null],
  ['Mia', 'GET /Absences?sort=Id', 200, [1, 2, 3, 5, 7]],
  ['Mia', 'GET /Absences?sort=-Id&Status=Requested', 200, [7, 3, 1]],
  ['Mia', 'GET /Absences/4', 404, null],
  ['Max', 'GET /Absences?sort=Id', 200, [3, 4]],
  ['Hanna', 'GET /Employees?sort=Id', 200, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
  ['Hanna', 'GET /Absences?sort=Id', 200, [1, 2, 3, 4, 5, 6, 7]],
  ['Old', 'GET /Employees', 200, [10]],
]

/** Requests over new connections, so that both workers get some. */
const AT_ONCE = 12

describe.each(SERVERS)('%s', (_, MEMORY_MB) => {
  const settings = (roles: string, WORKERS: string) => ({
    ...issuer.settings,
    DATABASE_URL: databaseUrl,
    ROLES_FILE: rolesFile(roles),
    RATE_LIMITS_PERSONS: '3000/1s',
    WORKERS,
    MEMORY_MB,
  })
  const server = useProcess(() => settings(ROLES_FILE, '2'))
  const deep = useProcess(() => settings(DEEP_ROLES, '1'))

  const asks =
    (of: typeof server) =>
    (name: Name, request: string, body?: object, more: Record<string, string> = {}): Promise<Asked> => {
      const [method = '', path = ''] = request.split(' ')
      return of.ask(method, path, body, { ...people[name], connection: 'close', ...more })
    }
  const ask = asks(server)
  const askDeep = asks(deep)

  /** Asks several times at once, and returns the only answer of all. */
  async function everywhere(name: Name, request: string): Promise<{ status: number; ids: Json }> {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => ask(name, request)))
    const seen = answers.map(({ status, body }) => JSON.stringify({ status, ids: status === 200 ? idsOf(body) : null }))
    expect(new Set(seen).size).toBe(1)
    return JSON.parse(seen[0] as string)
  }

  test.each(ASKED)('%s sends %s and gets %i, with the ids %j', async (name, request, status, ids) => {
    const answer = await ask(name, request)
    expect(answer.status).toBe(status)
    if (ids === null) return
    expect(idsOf(answer.body)).toEqual([...ids])
    expect(answer.headers.get('x-total-count')).toBe(String(ids.length))
  })

  test('an employee sees of other employees only the properties in the directory, and a filter on another property is 400', async () => {
    const { body } = await ask('Ann', 'GET /Directory?Id=4')
    expect(Object.keys(body[0])).toEqual(['id', 'displayName', 'workEmail', 'department', 'location', 'jobTitle', 'manager'])
    expect((await ask('Ann', 'GET /Directory?WorkPhone=1')).status).toBe(400)
  })

  test.each<[name: Name]>([['Nobody'], ['Empty'], ['Missing'], ['Twin']])(
    'a valid token of %s, whose address is that of no row or of several rows, gives no rights: 403',
    async (name) => {
      // The last two get the same answer, since only those who may read a view are told that it exists.
      for (const path of ['Employees', 'Absences', 'Employees/6', 'Changes', 'Directory', 'Nothing'])
        expect([path, (await ask(name, `GET /${path}`)).status]).toEqual([path, 403])
      expect((await ask(name, 'GET /Rights')).body).toEqual([])
    },
  )

  test('if two rows have the e-mail address of a person, she gets rights as soon as one of them has another address', async () => {
    expect((await everywhere('Twin', 'GET /Employees')).status).toBe(403)
    await sql`update employee set work_email = 'tom@acme.example' where id = 9`
    expect(await everywhere('Twin', 'GET /Employees')).toEqual({ status: 200, ids: [8] })
  })

  test('an employee asks for leave, the manager decides once, and nobody decides about their own leave', async () => {
    const wanted = { Type: 'Holiday', Start: '2026-05-01T00:00:00Z', End: '2026-05-08T00:00:00Z' }
    const created = await ask('Ann', 'POST /Absences', wanted)
    expect([created.status, created.body]).toEqual([
      201,
      expect.objectContaining({ employeeId: 3, status: 'Requested', type: 'Holiday', employee: 'Ann Lee' }),
    ])
    const { id } = created.body
    for (const body of [
      { ...wanted, EmployeeId: 4 },
      { ...wanted, Status: 'Approved' },
    ])
      expect((await ask('Ann', 'POST /Absences', body)).status).toBe(403)
    expect((await ask('Ann', `PATCH /Absences/${id}`, { Status: 'Approved' })).status).toBe(403)
    expect((await ask('Bob', `PATCH /Absences/${id}`, { Status: 'Approved' })).status).toBe(404)
    expect((await ask('Max', `PATCH /Absences/${id}`, { Status: 'Approved' })).status).toBe(404)
    expect((await ask('Mia', `PATCH /Absences/${id}`, { Status: 'Cancelled' })).status).toBe(403)
    expect((await ask('Mia', `PATCH /Absences/${id}`, { Type: 'Sickness' })).status).toBe(403)
    const approved = await ask('Mia', `PATCH /Absences/${id}`, { Status: 'Approved' })
    expect([approved.status, approved.body.status]).toEqual([200, 'Approved'])
    expect((await ask('Mia', `PATCH /Absences/${id}`, { Status: 'Declined' })).status).toBe(403)
    expect((await ask('Ann', `PATCH /Absences/${id}`, { Status: 'Cancelled' })).status).toBe(403)
    // Her own absence, about which only her manager decides.
    expect((await ask('Mia', 'PATCH /Absences/3', { Status: 'Approved' })).status).toBe(403)
    expect((await ask('Mia', 'PATCH /Absences/3', { Status: 'Cancelled' })).status).toBe(200)
    expect((await ask('Max', 'DELETE /Absences/4')).status).toBe(403)
  })

  test('nobody decides about their own leave: neither a person who is her own manager, nor a person in HR', async () => {
    await setManager(sql, 2, 2)
    expect((await ask('Mia', 'GET /Absences/3')).status).toBe(200)
    expect((await ask('Mia', 'PATCH /Absences/3', { Status: 'Approved' })).status).toBe(403)
    await sql`update absence set status = 'Requested' where id = 4`
    expect((await ask('Hanna', 'PATCH /Absences/4', { Status: 'Declined' })).status).toBe(200)
    const { body } = await ask('Hanna', 'POST /Absences', { Type: 'Holiday', Start: '2026-05-01T00:00:00Z' })
    expect((await ask('Hanna', `PATCH /Absences/${body.id}`, { Status: 'Approved' })).status).toBe(403)
    expect((await ask('Hanna', `PATCH /Absences/${body.id}`, { Status: 'Cancelled' })).status).toBe(200)
  })

  test('of two managers who decide about one absence at the same time, one gets 200 and the other 412', async () => {
    const path = '/Absences/1'
    const [mine, hers] = await Promise.all([askDeep('Mia', `GET ${path}`), askDeep('Max', `GET ${path}`)])
    const tagOf = ({ headers }: Asked) => ({ 'if-match': headers.get('etag') ?? '' })
    const answers = await Promise.all([
      askDeep('Mia', `PATCH ${path}`, { Status: 'Approved' }, tagOf(mine)),
      askDeep('Max', `PATCH ${path}`, { Status: 'Declined' }, tagOf(hers)),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412])
    const { body } = answers.find(({ status }) => status === 200) as Asked
    expect((await askDeep('Ann', `GET ${path}`)).body.status).toBe(body.status)
  })

  test('by [under], managers see and decide about absences of all employees below them', async () => {
    expect(idsOf((await askDeep('Max', 'GET /Absences?sort=Id')).body)).toEqual([1, 2, 3, 4, 5, 7])
    expect((await askDeep('Max', 'PATCH /Absences/7', { Status: 'Declined' })).status).toBe(200)
    await setManager(sql, 4, null)
    expect(idsOf((await askDeep('Max', 'GET /Absences?sort=Id')).body)).toEqual([1, 3, 4, 5])
  })

  test('HR and an employee change the employee’s row at the same time, and each may set only properties of their own right', async () => {
    const changed = await Promise.all([
      askDeep('Hanna', 'PATCH /Employees/3', { JobLevel: 'Senior' }),
      askDeep('Ann', 'PATCH /Employees/3', { WorkPhone: '12' }),
    ])
    expect(changed.map(({ status }) => status)).toEqual([200, 200])
    expect((await askDeep('Ann', 'GET /Employees/3')).body).toMatchObject({ jobLevel: 'Senior', workPhone: '12' })
    for (const body of [{ JobLevel: 'Chief' }, { WorkPhone: '13', JobLevel: 'Chief' }])
      expect((await askDeep('Ann', 'PATCH /Employees/3', body)).status).toBe(403)
    expect((await askDeep('Ann', 'PATCH /Employees/4', { WorkPhone: '13' })).status).toBe(404)
    expect((await askDeep('Hanna', 'PATCH /Employees/5', { WorkPhone: '14', JobLevel: 'Head' })).status).toBe(200)
  })

  describe('immediately, on every worker,', () => {
    const ofBob = 'GET /Absences?EmployeeId=4&sort=Id'

    test.each<[what: string, write: () => Promise<unknown>]>([
      ['by the API', () => ask('Hanna', 'PATCH /Employees/4', { ManagerId: 1 })],
      ['by psql', () => setManager(sql, 4, 1)],
    ])(
      'absences of an employee who gets another manager %s are visible to the new manager, and no longer to the old one',
      async (_, write) => {
        expect(await everywhere('Mia', ofBob)).toEqual({ status: 200, ids: [2, 7] })
        expect(await everywhere('Max', ofBob)).toEqual({ status: 200, ids: [] })
        await write()
        expect(await everywhere('Mia', ofBob)).toEqual({ status: 200, ids: [] })
        expect(await everywhere('Max', ofBob)).toEqual({ status: 200, ids: [2, 7] })
        expect((await ask('Mia', 'PATCH /Absences/7', { Status: 'Approved' })).status).toBe(404)
        expect((await ask('Max', 'PATCH /Absences/7', { Status: 'Approved' })).status).toBe(200)
      },
    )

    test('a person gets the rights of a manager with her first report, and loses them with her last', async () => {
      const rights = async () => (await ask('Ann', 'GET /Rights')).body.length
      const own = await rights()
      await setManager(sql, 4, 3)
      expect(await everywhere('Ann', 'GET /Absences?sort=Id')).toEqual({ status: 200, ids: [1, 2, 5, 7] })
      expect(await rights()).toBeGreaterThan(own)
      await setManager(sql, 4, 2)
      expect(await everywhere('Ann', 'GET /Absences?sort=Id')).toEqual({ status: 200, ids: [1, 5] })
      expect(await rights()).toBe(own)
    })

    test('a changed e-mail address in a row ends the rights of one person, and gives them to another', async () => {
      expect((await everywhere('New', 'GET /Absences')).status).toBe(403)
      expect((await ask('Hanna', 'PATCH /Employees/3', { WorkEmail: 'new@acme.example' })).status).toBe(200)
      expect((await everywhere('Ann', 'GET /Absences')).status).toBe(403)
      expect(await everywhere('New', 'GET /Absences?sort=Id')).toEqual({ status: 200, ids: [1, 5] })
      expect((await ask('New', 'GET /Employees/3')).status).toBe(200)
    })

    test('a deleted row ends all rights of its person', async () => {
      expect((await everywhere('Old', 'GET /Employees')).status).toBe(200)
      expect((await ask('Hanna', 'DELETE /Employees/10')).status).toBe(204)
      expect((await everywhere('Old', 'GET /Employees')).status).toBe(403)
      expect((await ask('Old', 'GET /Directory/1')).status).toBe(403)
    })
  })
})

function idsOf(rows: Json): number[] {
  return rows.map(({ id }: { id: number }) => id)
}

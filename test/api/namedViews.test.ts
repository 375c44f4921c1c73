import { beforeAll, describe, expect, test } from 'bun:test'
import { outcomeOf } from '../support/cases.ts'
import { keyWith } from '../support/rights.ts'
import { createRows } from '../support/rows.ts'
import { type Answer, type Json, KEY, makeKey, type TestKey } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'

const DIRECTORY = 'Employees?EmploymentEnd=&fields=DisplayName,Department,JobTitle,ManagerId,Manager'
const OTHERS = `
# Of the same rows and properties, with another name.
view People ${DIRECTORY}
view Leave Absences?Status=Approved&fields=EmployeeId,Employee,Start,Period.Days
view Firms Companies?fields=Name`
const ROLES = `view Directory ${DIRECTORY}\n${OTHERS}`

const reader = keyWith('read Directory')
const ofIt = keyWith('read Directory?Department=IT&fields=DisplayName,Department')
/** Its filter is by a property that the view does not show. */
const ofPhones = keyWith('read Directory?WorkPhone[begins]=1')
const ofAll = keyWith('read Directory', 'read People', 'read Leave', 'read Firms')
const ofEntities = keyWith('read Employees', 'read Companies')
const both = keyWith('read Directory', 'read Employees?Department=HR&fields=DisplayName,WorkEmail')
const leave = keyWith('read Leave', 'read Employees?Department=IT&fields=DisplayName,JobTitle')
const whole = makeKey({ rights: '*:read' })
const writer = makeKey({ rights: '*:write,Employees:read' })
const referrer = keyWith(
  'create Absences?fields=EmployeeId,Type',
  'update Absences?fields=EmployeeId',
  'read Absences?fields=Id,EmployeeId',
  'read Directory?Department=IT',
  'read Employees?Department=HR&fields=Id,DisplayName',
)
const keys = [reader, ofIt, ofPhones, ofAll, ofEntities, both, leave, whole, writer, referrer]
const records = keys.map(({ record }) => record)

const PEOPLE = [
  { FirstName: 'Ada', Department: 'IT', JobTitle: 'Head', WorkEmail: 'ada@example.com', WorkPhone: '111' },
  { FirstName: 'Ben', Department: 'IT', JobTitle: 'Engineer', WorkEmail: 'ben@example.com', WorkPhone: '123', ManagerId: 1 },
  { FirstName: 'Cid', Department: 'HR', JobTitle: 'Clerk', WorkEmail: 'cid@example.com', WorkPhone: '222', ManagerId: 1 },
  // Has left, so the directory does not show her.
  {
    FirstName: 'Dot',
    Department: 'IT',
    JobTitle: 'Engineer',
    EmploymentEnd: '2026-01-31T00:00:00Z',
    WorkPhone: '155',
    ManagerId: 2,
  },
  { FirstName: 'Eve', Department: 'IT', JobTitle: 'Engineer', WorkEmail: 'eve@example.com', WorkPhone: '333', ManagerId: 4 },
]
const ABSENCES = [
  { EmployeeId: 2, Type: 'Holiday', Status: 'Approved', Start: '2026-03-02T09:00:00Z', Period: { Days: 2.5, Hours: 20 } },
  { EmployeeId: 3, Type: 'Sick leave', Status: 'Requested', Start: '2026-03-03T09:00:00Z', Period: { Days: 1 } },
  { EmployeeId: 4, Type: 'Holiday', Status: 'Approved', Start: '2026-03-04T09:00:00Z', Period: { Hours: 3 } },
]

/** Each answer is as it is with and without lists from memory. */
describe.each(['0', '64'])('D105 a named view, with MEMORY_MB=%s', (MEMORY_MB) => {
  const server = useServer({ roles: ROLES, keys: records, environment: { MEMORY_MB, RATE_LIMIT_CLIENTS: '32' } })
  beforeAll(async () => {
    await createRows(server, '/Companies', [{ Name: 'Acme' }, { Name: 'Bolt' }])
    await createRows(server, '/Employees', PEOPLE)
    await createRows(server, '/Absences', ABSENCES)
  })
  const get = (key: TestKey, path: string, headers: Record<string, string> = {}) =>
    server.get(path, { ...key.headers, ...headers })
  /** Asks twice: the second answer may be a kept one. */
  const rows = async (key: TestKey, path: string): Promise<Json[]> => {
    const [first, second] = [await get(key, path), await get(key, path)]
    expect(second.text).toBe(first.text)
    expect([path, first.status]).toEqual([path, 200])
    return first.body
  }
  const ids = async (key: TestKey, path: string) => (await rows(key, path)).map(({ id }) => id)

  test('is read as a list of the rows and properties that it defines, with the total of these rows', async () => {
    const { body, headers } = await get(reader, '/Directory')
    expect(headers.get('x-total-count')).toBe('4')
    expect(body.map(({ id }: Json) => id)).toEqual([1, 2, 3, 5])
    expect(body[1]).toEqual({ id: 2, displayName: 'Ben', department: 'IT', jobTitle: 'Engineer', managerId: 1, manager: 'Ada' })
  })

  test('can be filtered and sorted by the properties that it shows', async () => {
    expect(await ids(reader, '/Directory?Department=IT&sort=-DisplayName')).toEqual([5, 2, 1])
    expect(await ids(reader, '/directory?displayname[contains]=E&sort=Manager,-Id')).toEqual([2, 5])
    expect(await ids(reader, '/Directory?ManagerId=')).toEqual([1])
    expect(await rows(reader, '/Directory?Id=3&fields=jobTitle')).toEqual([{ jobTitle: 'Clerk' }])
  })

  test.each(['WorkEmail', 'EmploymentEnd', 'FirstName', 'CompanyId', 'Status', 'Company'])(
    'hides %s: filters, sorts, fields, groups and aggregates by it are 400, as by an unknown name',
    async (name) => {
      const absent = 'Nmxyz'
      for (const query of [
        `?${name}=a`,
        `?sort=${name}`,
        `?fields=${name}`,
        `/Summary?groupBy=${name}`,
        `/Summary?minimum=${name}`,
        `/1?fields=${name}`,
      ]) {
        const [hidden, unknown] = await Promise.all([
          get(reader, `/Directory${query}`),
          get(reader, `/Directory${query.replace(name, absent)}`),
        ])
        expect([query, hidden.status]).toEqual([query, 400])
        expect(hidden.text.replaceAll(name, absent)).toBe(unknown.text)
      }
    },
  )

  test('shows the rows and properties that both the view and the right of the key have', async () => {
    expect(await rows(ofIt, '/Directory')).toEqual([
      { id: 1, displayName: 'Ada', department: 'IT' },
      { id: 2, displayName: 'Ben', department: 'IT' },
      { id: 5, displayName: 'Eve', department: 'IT' },
    ])
    expect(await ids(ofPhones, '/Directory')).toEqual([1, 2])
    expect(outcomeOf(await get(ofPhones, '/Directory?WorkPhone=111'))).toBe('400 UnknownParameter WorkPhone')
  })

  test('has links and cursors at its own path', async () => {
    for (const number of [6, 7, 8, 9])
      await createRows(server, '/Employees', [{ FirstName: `X${number}`, Department: 'Temporary' }])
    try {
      const page = await get(reader, '/Directory?PageSize=5&sort=-Id')
      const [, next = ''] = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '') ?? []
      const { pathname, search } = new URL(next)
      expect(pathname).toBe('/Directory')
      expect(search).toContain('cursor=')
      expect(await ids(reader, pathname + search)).toEqual([3, 2, 1])
      // A cursor is valid for one view: neither for another view of the same rows, nor for the entity.
      for (const [key, path] of [
        [ofAll, '/People'],
        [ofIt, '/Directory'],
        [whole, '/Employees'],
      ] as const)
        expect(outcomeOf(await get(key, path + search))).toBe('400 InvalidCursor cursor')
    } finally {
      await server.sql`delete from employee where department = 'Temporary'`
    }
  })

  test('has single rows with ETags, and a row outside of the view is 404 like a row that does not exist', async () => {
    const row = await get(reader, '/Directory/2')
    expect(row.body).toEqual({ id: 2, displayName: 'Ben', department: 'IT', jobTitle: 'Engineer', managerId: 1, manager: 'Ada' })
    const tag = row.headers.get('etag') as string
    expect((await get(reader, '/Directory/2', { 'if-none-match': tag })).status).toBe(304)
    expect((await get(reader, '/Directory/2', { 'if-match': tag })).status).toBe(200)
    // The entity has another representation of the row.
    const ofEntity = (await get(ofEntities, '/Employees/2')).headers.get('etag') as string
    expect(ofEntity).not.toBe(tag)
    expect((await get(reader, '/Directory/2', { 'if-none-match': ofEntity })).status).toBe(200)
    expect((await get(reader, '/Directory/2', { 'if-match': ofEntity })).body.Error.Message).toStartWith('Directory 2 now has')
    expect((await get(reader, '/Directory/4')).text).toBe((await get(reader, '/Directory/999')).text.replace('999', '4'))
    expect((await get(reader, '/Directory/4')).body.Error.Message).toBe('There is no row of Directory with id 4.')
    expect(outcomeOf(await get(ofIt, '/Directory/3'))).toBe('404 NotFound Api')
    expect((await get(reader, '/Directory/2?fields=jobTitle,manager')).body).toEqual({ jobTitle: 'Engineer', manager: 'Ada' })
    expect((await server.send('HEAD', '/Directory/2', undefined, reader.headers)).headers.get('etag')).toBe(tag)
  })

  test('is 304 for its own ETag, and 200 for the ETag of a page for other rights or of another view', async () => {
    const tagOf = async (key: TestKey, path: string) => (await get(key, path)).headers.get('etag') as string
    const tag = await tagOf(reader, '/Directory')
    expect((await get(reader, '/Directory', { 'if-none-match': tag })).status).toBe(304)
    expect((await get(ofIt, '/Directory', { 'if-none-match': tag })).status).toBe(200)
    expect((await get(ofAll, '/Firms', { 'if-none-match': tag })).status).toBe(200)
  })

  test('has summaries of its rows', async () => {
    expect(await rows(reader, '/Directory/Summary?groupBy=Department&sort=Department')).toEqual([
      { department: 'HR', count: 1 },
      { department: 'IT', count: 3 },
    ])
    expect(await rows(ofIt, '/Directory/Summary')).toEqual([{ count: 3 }])
    expect(await rows(ofAll, '/Leave/Summary?sum=Period.Days')).toEqual([{ count: 2, sum: { period: { days: 2.5 } } }])
    const csv = await get(reader, '/Directory/Summary?groupBy=Department', { accept: 'text/csv' })
    expect(csv.headers.get('content-disposition')).toContain('DirectorySummary')
    expect(csv.text.trim().split(/\r?\n/).slice(1).sort()).toEqual(['HR,1', 'IT,3'])
  })

  test('streams as CSV and NDJSON, without a token of changes', async () => {
    const csv = await get(ofIt, '/Directory?sort=-Id', { accept: 'text/csv' })
    expect(csv.text.trim().split(/\r?\n/)).toEqual(['id,displayName,department', '5,Eve,IT', '2,Ben,IT', '1,Ada,IT'])
    expect(csv.headers.get('content-disposition')).toContain('Directory')
    const ndjson = await get(ofAll, '/Firms', { accept: 'application/x-ndjson' })
    expect(ndjson.text).toBe('{"id":1,"name":"Acme"}\n{"id":2,"name":"Bolt"}\n')
    // The stream has all rows, but no feed has changes of a view.
    expect(ndjson.headers.has('x-changes-after')).toBe(false)
  })

  test('shows only the visible parts of an object', async () => {
    expect(await rows(ofAll, '/Leave')).toEqual([
      { id: 1, employeeId: 2, employee: 'Ben', start: '2026-03-02T09:00:00Z', period: { days: 2.5 } },
      { id: 3, employeeId: 4, employee: 'Dot', start: '2026-03-04T09:00:00Z', period: null },
    ])
  })

  test('has paths to the rows and properties of entities that the key may read, and none to views', async () => {
    expect(await rows(leave, '/Leave?fields=Id,EmployeeId.JobTitle')).toEqual([
      { id: 1, 'employeeId.jobTitle': 'Engineer' },
      { id: 3, 'employeeId.jobTitle': 'Engineer' },
    ])
    expect(await ids(leave, '/Leave?EmployeeId.DisplayName=Ben')).toEqual([1])
    expect(outcomeOf(await get(leave, '/Leave?EmployeeId.WorkEmail=x'))).toBe('400 UnknownParameter EmployeeId.WorkEmail')
    expect(outcomeOf(await get(ofAll, '/Leave?EmployeeId.DisplayName=Ben'))).toBe('400 UnknownParameter EmployeeId.DisplayName')
  })

  test('follows [under] only through its own rows, whatever the key may read of the entity', async () => {
    // The manager of Eve is Dot, who has left; the manager of Dot is Ben, and that of Ben is Ada.
    expect(await ids(whole, '/Employees?ManagerId[under]=1')).toEqual([2, 3, 4, 5])
    for (const key of [reader, both, whole]) expect(await ids(key, '/Directory?ManagerId[under]=1')).toEqual([2, 3])
    expect(await ids(reader, '/Directory?ManagerId[under]=4')).toEqual([5])
  })

  test('gives no right to its entity (403), and a right to the entity gives none to its views (404)', async () => {
    expect(outcomeOf(await get(reader, '/Employees'))).toBe('403 Forbidden Api')
    expect(outcomeOf(await get(reader, '/Employees/1'))).toBe('403 Forbidden Api')
    expect(outcomeOf(await get(ofEntities, '/Directory'))).toBe('404 NotFound Api')
    expect(await ids(both, '/Employees')).toEqual([3])
    expect(await ids(both, '/Directory')).toEqual([1, 2, 3, 5])
  })

  test('can be read by a key with the right *:read', async () => {
    expect(await ids(whole, '/Directory')).toEqual([1, 2, 3, 5])
    expect((await get(whole, '/Directory/4')).status).toBe(404)
    expect((await get(whole, '/Employees/4')).status).toBe(200)
    expect((await server.get('/Firms')).body).toHaveLength(2)
  })

  describe('is read-only', () => {
    test.each([
      ['POST', '/Directory', { DisplayName: 'x' }],
      ['PUT', '/Directory/1', {}],
      ['PATCH', '/Directory/1', {}],
      ['DELETE', '/Directory/1', undefined],
      ['DELETE', '/Directory/Summary', undefined],
      ['PATCH', '/directory/', {}],
    ])('%s %s is 405', async (method, path, body) => {
      for (const key of [reader, whole]) {
        const answer = await server.send(method, path, body, key.headers)
        expect(outcomeOf(answer)).toBe('405 MethodNotAllowed Api')
        expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
      }
    })

    test('OPTIONS names GET and HEAD', async () => {
      for (const path of ['/Directory', '/Directory/1', '/Directory/Summary', '/DIRECTORY/']) {
        const answer = await server.send('OPTIONS', path, undefined, reader.headers)
        expect([answer.status, answer.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
      }
    })

    test('and has no changes: no history, no events', async () => {
      expect(outcomeOf(await get(whole, '/Directory/1/Changes'))).toBe('404 NotFound Api')
      expect(outcomeOf(await get(whole, '/Changes?entity=Directory'))).toBe('400 InvalidFilter entity')
      expect(outcomeOf(await get(ofAll, '/Changes'))).toBe('403 Forbidden Api')
      expect((await get(whole, '/Changes')).text).not.toContain('Directory')
    })
  })

  describe('is hidden from a key that may not read it', () => {
    /** An answer without what differs by its path. */
    const said = ({ status, headers, text }: Answer, path: string) => [
      status,
      headers.get('allow'),
      text.replaceAll(path.split(/[/?]/)[1] ?? '', '<name>'),
    ]

    test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
      '%s is answered as at a path that does not exist',
      async (method) => {
        for (const rest of ['', '/', '/1', '/Summary', '?x=y', '/1/Changes', '/1?fields=Xyz'])
          for (const headers of [
            ofEntities.headers,
            writer.headers,
            ofIt.headers,
            { authorization: '' },
            { authorization: 'ApiKey unknown' },
          ]) {
            // No right of these keys is to People, and nothing is at Pxoplq.
            const [there, absent] = [`/People${rest}`, `/Pxoplq${rest}`]
            const [one, other] = await Promise.all([there, absent].map((path) => server.send(method, path, undefined, headers)))
            expect(said(one as Answer, there)).toEqual(said(other as Answer, absent))
          }
      },
    )

    test('hints name only views that the key may read', async () => {
      const hintFor = async (key: TestKey, path: string) => (await get(key, path)).body.Error.Message
      expect(await hintFor(reader, '/Directoy')).toBe('There is nothing at this path. Did you mean Directory?')
      expect(await hintFor(ofEntities, '/Directoy')).toBe('There is nothing at this path.')
      expect(await hintFor(ofIt, '/Peeple')).toBe('There is nothing at this path.')
      expect(await hintFor(ofAll, '/Peeple')).toBe('There is nothing at this path. Did you mean People?')
      expect(await hintFor(ofEntities, '/Employes')).toBe('There is nothing at this path. Did you mean Employees?')
    })
  })

  test('an error message names a view in the singular (Directory has), and an entity in the plural (Employees have)', async () => {
    const beginningOf = async (key: TestKey, path: string) => (await get(key, path)).body.Error.Message.replace(/\..*/, '')
    expect(
      await Promise.all(
        ['/Directory?fields=Nmae', '/Directory/1?fields=Nmae', '/Directory/Summary?groupBy=Nmae'].map((path) =>
          beginningOf(reader, path),
        ),
      ),
    ).toEqual(Array(3).fill('Directory has no property "Nmae"'))
    expect(await beginningOf(ofAll, '/Firms/Summary?sum=Nmae')).toBe('Firms has no property "Nmae"')
    expect(await beginningOf(ofEntities, '/Employees?fields=Nmae')).toBe('Employees have no property "Nmae"')
    expect(await beginningOf(reader, '/Directory/99')).toBe('There is no row of Directory with id 99')
  })

  describe('answers about the rights of a key', () => {
    test('GET /Rights has rights to views like rights to entities', async () => {
      expect((await get(both, '/Rights')).body).toMatchObject([
        { text: 'read Directory', collection: 'Directory', verb: 'read', properties: null, filters: [] },
        { text: 'read Employees?Department=HR&fields=Id,DisplayName,WorkEmail', collection: 'Employees' },
      ])
      expect((await get(whole, '/Rights')).body.map(({ collection }: Json) => collection)).toEqual([
        ...['Absences', 'Companies', 'Employees'],
        ...['Directory', 'People', 'Leave', 'Firms'],
      ])
    })

    test('the document has the views that the key may read, with only their visible properties', async () => {
      const { paths, components } = (await get(ofIt, '/openapi.json')).body
      expect(Object.keys(paths).filter((path) => /^\/[A-Z]/.test(path))).toEqual([
        '/Directory',
        '/Directory/Summary',
        '/Directory/{id}',
        '/Rights',
      ])
      expect(Object.keys(paths['/Directory'])).toEqual(['parameters', 'get'])
      expect(Object.keys(components.schemas.Directory.properties)).toEqual(['id', 'displayName', 'department'])
      expect(components.schemas.Directory['x-rows-of']).toBe('Employee')
      expect(JSON.stringify(paths)).not.toContain('WorkEmail')
      expect(JSON.stringify(paths)).not.toContain('People')
      expect(paths['/Directory'].get.responses[200].headers).not.toHaveProperty('X-Changes-After')
    })

    test('the document without a key has no views, nor has that of a key that may not read them', async () => {
      for (const headers of [{ authorization: '' }, ofEntities.headers]) {
        const { paths, components } = (await server.get('/openapi.json', headers)).body
        const names = [...Object.keys(paths), ...Object.values(components).flatMap((part) => Object.keys(part as object))]
        expect(names.filter((name) => /Directory|People|Firms|Leave/.test(name))).toEqual([])
      }
      const { paths } = (await get(whole, '/openapi.json')).body
      expect(Object.keys(paths)).toContain('/Firms/{id}')
      expect(Object.keys(paths)).not.toContain('/Firms/{id}/Changes')
    })

    test('the landing page lists no views', async () => {
      expect((await server.get('/', reader.headers)).text).not.toContain('Directory')
    })
  })

  describe('references', () => {
    const create = (EmployeeId: number) => server.send('POST', '/Absences', { EmployeeId, Type: 'Other' }, referrer.headers)

    test('name rows that the key may read in the entity or in a view of it', async () => {
      // The key reads employees of IT who have not left by the view, and those of HR by the right to the entity.
      for (const [id, outcome] of [
        [1, '201'],
        [2, '201'],
        [3, '201'],
        [5, '201'],
        [4, '409 ReferenceNotFound EmployeeId'],
        [999, '409 ReferenceNotFound EmployeeId'],
      ] as const)
        expect([id, outcomeOf(await create(id))]).toEqual([id, outcome])
      const { id } = (await create(1)).body
      const change = (EmployeeId: number) => server.send('PATCH', `/Absences/${id}`, { EmployeeId }, referrer.headers)
      expect(outcomeOf(await change(4))).toBe('409 ReferenceNotFound EmployeeId')
      expect((await change(5)).status).toBe(200)
      await server.sql`delete from absence where type = 'Other'`
    })
  })

  test('shows a change of a row immediately', async () => {
    expect(await ids(reader, '/Directory')).toEqual([1, 2, 3, 5])
    await server.patch('/Employees/3', { EmploymentEnd: '2026-02-01T00:00:00Z' })
    expect(await ids(reader, '/Directory')).toEqual([1, 2, 5])
    expect((await get(reader, '/Directory/3')).status).toBe(404)
    await server.patch('/Employees/3', { EmploymentEnd: null })
    expect(await ids(reader, '/Directory')).toEqual([1, 2, 3, 5])
  })

  test('is 404 on a server that does not declare it, where a key with a right to it has no rights (403)', async () => {
    const { databaseUrl } = server
    const without = await startServer({ databaseUrl, roles: OTHERS, environment: { MEMORY_MB } })
    expect(outcomeOf(await without.get('/Directory', reader.headers))).toBe('404 NotFound Api')
    const rights = await without.get('/Rights', both.headers)
    expect(outcomeOf(rights)).toBe('403 Forbidden Api')
    expect(rights.body.Error.Message).toContain('there is no collection "Directory"')
    expect(outcomeOf(await without.get('/Employees', both.headers))).toBe('403 Forbidden Api')
    expect((await without.get('/People', { authorization: `ApiKey ${KEY}` })).status).toBe(200)
  })
})

import { describe, expect, test } from 'bun:test'
import { createSampleDatabase } from '../support/postgres.ts'
import { errorOf, type Json, KEY, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const withRights = (...rights: string[]) => makeKey({ rights: '', addresses: rights.join('\n') })
const payroll = withRights(
  'read Absences?Status=Approved&fields=Id,EmployeeId,Start,End,Period',
  'read Employees?fields=Id,EmployeeNumber,CompanyId,Started,EmploymentEnd',
)
const desk = withRights(
  'read Absences',
  'update Absences?Status=Requested&fields=Status becomes Status[]=Declined&Status[]=Approved',
)
const reader = makeKey({ rights: '*:read' })
const everything = makeKey({ rights: '*:write,*:read' })
/** Its right names a property that there is no longer. */
const outdated = withRights('read Absences?Colour=Red')

const keys = [payroll, desk, reader, everything, outdated].map(({ record }) => record)
const server = useServer(async () => ({ databaseUrl: await createSampleDatabase(), keys }))
const open = { authorization: '' }

/** The document as text, as a key gets it. */
async function documentFor(headers: Record<string, string>, from = server): Promise<string> {
  const { status, text } = await from.get('/openapi.json', headers)
  expect(status).toBe(200)
  return text
}

describe('D88: /openapi.json with a key', () => {
  test('has only the paths, methods and properties that the key may use', async () => {
    const { paths, components } = JSON.parse(await documentFor(payroll.headers)) as Json
    const own = Object.keys(paths).filter((path) => /^\/[A-Z]/.test(path))
    expect(own).toEqual([
      ...['/Absences', '/Absences/Summary', '/Absences/{id}', '/Employees', '/Employees/Summary', '/Employees/{id}'],
      ...['/Employees/{id}/Changes', '/Changes', '/Rights'],
    ])
    expect(Object.keys(paths['/Absences'])).toEqual(['parameters', 'get'])
    expect(Object.keys(components.schemas.Absence.properties)).toEqual([
      ...['id', 'employeeId', 'start', 'end', 'period'],
      // Properties of employees that its right shows through the reference.
      ...['id', 'employeeNumber', 'companyId', 'started', 'employmentEnd'].map((name) => `employeeId.${name}`),
    ])
  })

  test('says which entity the references of a request body name', async () => {
    const { components } = JSON.parse(await documentFor(open)) as Json
    const bodies = [components.schemas.AbsenceWrite, components.schemas.EmployeeWrite]
    const named = bodies.flatMap(({ properties }) => Object.entries<Json>(properties).filter(([, part]) => part['x-references']))
    expect(named.map(([name, part]) => [name, part['x-references']])).toEqual([
      ...[
        ['employeeId', 'Employee'],
        ['companyId', 'Company'],
        ['managerId', 'Employee'],
      ],
    ])
  })

  test('equals the document without a key if the key has all rights', async () => {
    const whole = await documentFor(open)
    expect(await documentFor(everything.headers)).toBe(whole)
    expect(await documentFor({ authorization: `ApiKey ${KEY}` })).toBe(whole)
    expect(await documentFor(reader.headers)).not.toBe(whole)
  })

  test('is Cache-Control: private, and its Vary names Authorization', async () => {
    const headersOf = async (headers: Record<string, string>) => {
      const answer = await server.get('/openapi.json', headers)
      return [answer.headers.get('cache-control'), answer.headers.get('vary')]
    }
    expect(await headersOf(open)).toEqual(['no-cache', 'Authorization, Accept-Encoding'])
    for (const { headers } of [payroll, everything])
      expect(await headersOf(headers)).toEqual(['private, no-cache', 'Authorization, Accept-Encoding'])
  })

  test('is 304 for the ETag of the key’s own document, and 200 for another key that sends this ETag', async () => {
    const { headers } = await server.get('/openapi.json', payroll.headers)
    const known = { 'If-None-Match': headers.get('etag') as string }
    expect((await server.get('/openapi.json', { ...payroll.headers, ...known })).status).toBe(304)
    for (const other of [desk.headers, open]) expect((await server.get('/openapi.json', { ...other, ...known })).status).toBe(200)
  })

  test('is 401 for a key that is unknown, revoked or malformed', async () => {
    const unauthorized = { status: 401, code: 'Unauthorized', target: 'Api' }
    for (const authorization of [makeKey().headers.authorization, 'ApiKey wrong', 'apikey', 'ApiKey  a b', `ApiKey ${KEY}x`])
      expect(errorOf(await server.get('/openapi.json', { authorization }))).toEqual(unauthorized)
    await server.replaceKeys(keys.filter(({ id }) => id !== desk.record.id))
    expect(errorOf(await server.get('/openapi.json', desk.headers))).toEqual(unauthorized)
    await server.replaceKeys(keys)
    expect((await server.get('/openapi.json', desk.headers)).status).toBe(200)
  })

  test('is the document without a key for a header Basic or Bearer, which a gateway may add', async () => {
    for (const authorization of ['Basic dTpw', 'Bearer abc'])
      expect(await documentFor({ authorization })).toBe(await documentFor(open))
  })

  test('is the right one for each key when twenty keys request it in turn', async () => {
    const many = Array.from({ length: 20 }, (_, place) =>
      withRights(`read Companies?Id=${place}&fields=Id,Name`, `read Absences?Id=>${place}`),
    )
    await server.replaceKeys([...keys, ...many.map(({ record }) => record)])
    const first = await Promise.all(many.map(({ headers }) => documentFor(headers)))
    // Filters of rights are in no document, so the documents of these keys are equal.
    expect(new Set(first).size).toBe(1)
    expect(await documentFor(desk.headers)).not.toBe(first[0] as string)
    expect(await documentFor(many[0]?.headers as Record<string, string>)).toBe(first[0] as string)
    await server.replaceKeys(keys)
  })
})

test('A new key gets its own document immediately', async () => {
  const fresh = withRights('create Companies?fields=Name')
  const { sql } = server
  const { id, name, hash, addresses } = fresh.record
  await sql.begin(async (transaction) => {
    await transaction`update api_key_version set version = version + 1`
    await transaction`insert into api_key (id, name, hash, rights, addresses) values (${id}, ${name}, ${Buffer.from(hash, 'hex')}, '', ${addresses})`
  })
  const { paths } = JSON.parse(await documentFor(fresh.headers)) as Json
  expect(Object.keys(paths).filter((path) => /^\/[A-Z]/.test(path))).toEqual(['/Companies', '/Rights'])
})

describe('D88: DOCUMENT_NEEDS_KEY=1', () => {
  const closed = useServer(async () => ({
    databaseUrl: await createSampleDatabase(),
    keys,
    environment: { DOCUMENT_NEEDS_KEY: '1' },
  }))

  test('makes requests without a valid key 401', async () => {
    for (const headers of [open, { authorization: 'Basic dTpw' }, makeKey().headers])
      expect((await closed.get('/openapi.json', headers)).status).toBe(401)
    const { paths } = JSON.parse(await documentFor(payroll.headers, closed)) as Json
    expect(paths['/openapi.json'].get.security).toBeUndefined()
    expect(Object.keys(paths)).not.toContain('/Companies')
  })

  test('keeps the names of resources off the pages that need no key', async () => {
    for (const path of ['/', '/docs', '/explore'])
      for (const accept of ['text/html', 'application/json']) {
        const { status, text } = await closed.get(path, { ...open, accept })
        expect([path, status, /Absences|Employees|WorkEmail/.test(text)]).toEqual([path, 200, false])
      }
  })
})

describe('D88: GET /Rights', () => {
  const rightsOf = async (headers: Record<string, string>, path = '/Rights') => (await server.get(path, headers)).body

  test('returns the rights of the key, as text and as data', async () => {
    expect(await rightsOf(desk.headers)).toEqual([
      {
        text: 'read Absences',
        role: null,
        template: null,
        collection: 'Absences',
        verb: 'read',
        properties: null,
        filters: [],
        becomes: null,
      },
      {
        text: 'update Absences?Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined',
        role: null,
        template: null,
        collection: 'Absences',
        verb: 'update',
        properties: ['Status'],
        filters: [{ property: 'Status', operator: '=', value: 'Requested' }],
        becomes: [{ property: 'Status', operator: '[]', values: ['Approved', 'Declined'] }],
      },
    ])
    expect((await rightsOf(payroll.headers, '/rights/'))[0]).toMatchObject({
      properties: ['Id', 'EmployeeId', 'Start', 'End', 'Period.Prefered', 'Period.Days', 'Period.Hours'],
    })
  })

  test('returns a right for each verb and entity to a key with rights to whole entities', async () => {
    const texts = (body: Json[]) => body.map(({ text }) => text)
    expect(texts(await rightsOf(reader.headers))).toEqual(['read Absences', 'read Companies', 'read Employees'])
    expect(texts(await rightsOf(everything.headers))).toHaveLength(12)
  })

  test('is 403 with the reason for a key whose rights do not fit the entities any more', async () => {
    const answer = await server.get('/Rights', outdated.headers)
    expect(errorOf(answer)).toEqual({ status: 403, code: 'Forbidden', target: 'Api' })
    expect(answer.body.Error.Message).toContain('Absences has no parameter "Colour"')
    const { paths } = JSON.parse(await documentFor(outdated.headers)) as Json
    expect(Object.keys(paths).filter((path) => /^\/[A-Z]/.test(path))).toEqual(['/Rights'])
  })

  test('needs a key (401), refuses other methods (405) and parameters (400), and must not be cached', async () => {
    expect((await server.get('/Rights', open)).status).toBe(401)
    const { status, headers } = await server.send('POST', '/Rights', {})
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    expect(errorOf(await server.get('/Rights?verb=read'))).toMatchObject({ status: 400, code: 'UnknownParameter' })
    expect((await server.get('/Rights')).headers.get('cache-control')).toBe('no-store')
    expect((await server.send('HEAD', '/Rights')).status).toBe(200)
  })
})

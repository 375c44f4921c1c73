// Persons with the roles of a file, over HTTP: whose rows they see, what they may write, and that claims are only values.
import { beforeAll, describe, expect, test } from 'bun:test'
import type { Claims } from '../../src/model/token.ts'
import { PlainIssuer } from '../support/plainIssuer.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'
import type { Answer } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'

const issuer = new PlainIssuer()
const ROLES = `${ROLES_FILE}
role one      when {kind} has one
  read Companies?Name={x}
role others   when {kind} has others
  read Companies?Name=!={x}
role several  when {kind} has several
  read Companies?Name[]={x}
role numbered when {kind} has numbered
  read Companies?Id={x}
`
const [MAX, ANN, BOB, EVE] = [1, 2, 3, 4]

describe.each([
  ['from memory', {}],
  ['from the database', { MEMORY_MB: '0' }],
])('D100: roles, %s', (_where, environment) => {
  // The document with which answers are compared is not that of a person.
  const server = useServer(() => ({ environment: { ...issuer.settings, ...environment }, roles: ROLES, hasForeignRows: true }))
  const send = (claims: Claims, method: string, path: string, body?: unknown): Promise<Answer> => {
    const authorization = `Bearer ${issuer.token({ sub: JSON.stringify(claims), email_verified: true, ...claims })}`
    return server.send(method, path, body, { authorization })
  }
  const as = (name: string, more: Claims = {}): Claims => ({ email: `${name}@example.com`, ...more })
  const idsFor = async (claims: Claims, path: string) => {
    const { status, body } = await send(claims, 'GET', path)
    return status === 200 ? body.map(({ id }: { id: number }) => id) : status
  }

  beforeAll(async () => {
    const { sql } = server
    await sql`insert into employee (known_as, work_email) values ('Max', 'max@example.com'), ('Ann', 'ann@example.com'), ('Bob', 'bob@example.com'), ('Eve', '')`
    await sql`update employee set manager_id = m.id, manager_key = m.key from (select id, display_name_key as key from employee where id = ${MAX}) as m where employee.id = ${ANN}`
    await sql`insert into absence (employee_id, employee_key, status) select id, display_name_key, 'Requested' from employee order by id`
    await sql`insert into company (name) values ('Acme'), (''), ('!=Acme'), ('>5'), ('*'), ('Acme&fields=Id')`
  })

  test('a person reads her own rows, those of her reports, and the directory', async () => {
    expect(await idsFor(as('ann'), '/Absences')).toEqual([ANN])
    expect(await idsFor(as('max'), '/Absences')).toEqual([MAX, ANN])
    expect(await idsFor(as('ann'), '/Employees')).toEqual([ANN])
    expect(await idsFor(as('ann'), '/Directory')).toEqual([MAX, ANN, BOB, EVE])
    expect(await idsFor(as('ann'), `/Absences/${BOB}`)).toBe(404)
    expect(await idsFor(as('ann'), '/Companies')).toBe(403)
    expect(await idsFor(as('ann', { groups: ['it', 'hr'] }), '/Employees')).toEqual([MAX, ANN, BOB, EVE])
  })

  test('an employee asks for leave, and only her manager may approve it', async () => {
    const asked = await send(as('ann'), 'POST', '/Absences', { type: 'Holiday' })
    expect([asked.status, asked.body]).toEqual([
      201,
      expect.objectContaining({ employeeId: ANN, status: 'Requested', type: 'Holiday' }),
    ])
    const path = `/Absences/${asked.body.id}`
    expect((await send(as('ann'), 'POST', '/Absences', { employeeId: BOB })).status).toBe(403)
    expect((await send(as('ann'), 'PATCH', path, { status: 'Approved' })).status).toBe(403)
    expect((await send(as('bob'), 'PATCH', path, { status: 'Cancelled' })).status).toBe(404)
    expect((await send(as('max'), 'PATCH', path, { status: 'Cancelled' })).status).toBe(403)
    expect(await send(as('max'), 'PATCH', path, { status: 'Approved' })).toMatchObject({
      status: 200,
      body: { status: 'Approved' },
    })
    expect((await send(as('max'), 'PATCH', path, { status: 'Declined' })).status).toBe(403)
    await server.remove(path)
  })

  test('GET /Rights has the rights of a person with her values, and no rights of a key’s block', async () => {
    const { body } = await send(as('ann'), 'GET', '/Rights')
    expect(body.map(({ text }: { text: string }) => text)).toEqual([
      'read Directory',
      `read Employees?Id=${ANN}`,
      `read Absences?EmployeeId=${ANN}`,
      `create Absences?EmployeeId=${ANN}&Status=Requested&fields=Type,Reason,Start,End,Period.Prefered,Period.Days,Period.Hours`,
      `update Absences?EmployeeId=${ANN}&Status=Requested&fields=Status becomes Status=Cancelled`,
    ])
  })

  test('GET /Rights says which role gives each right, and how the file writes it', async () => {
    const { body } = await send(as('max'), 'GET', '/Rights')
    const origins = body.map(({ role, template }: { role: string; template: string }) => `${role}: ${template}`)
    expect(origins).toContain('employee: read Absences?EmployeeId={me.Id}')
    expect(origins).toContain('manager: read Absences?EmployeeId.ManagerId={me.Id}')
    expect(origins).toContain('employee: read Directory')
  })

  test('the message of a 403 says that the roles give no right', async () => {
    const { status, body } = await send(as('ann'), 'DELETE', `/Employees/${ANN}`)
    expect([status, body.Error.Message]).toEqual([403, 'Your roles give no right to delete Employees.'])
  })

  test.each<[name: string, request: string, body: unknown, status: number, message: string]>([
    ['ann', `PATCH /Absences/${ANN}`, { type: 'x' }, 403, 'You have no right to set Type.'],
    [
      'ann',
      `PATCH /Absences/${ANN}`,
      { status: 'Approved' },
      403,
      'After the write, Status must be Cancelled: you have no right to another value.',
    ],
    [
      'ann',
      `PUT /Absences/${ANN}`,
      { status: 'Cancelled' },
      403,
      'You have no right to set all properties of Absences, which PUT does; change those that you may set by PATCH.',
    ],
    ['ann', 'POST /Absences', { employeeId: BOB }, 403, 'You have no right to set EmployeeId.'],
    ['ann', 'GET /Changes', undefined, 403, 'You may not read changes, because each of your rights to read has filters.'],
    [
      'ann',
      'GET /Changes?entity=Absences',
      undefined,
      403,
      'You may not read changes of Absences, because your right to read them has filters.',
    ],
    [
      'ann',
      'GET /Absences?EmployeeId.CompanyId.Name=x',
      undefined,
      400,
      'Absences has no parameter "EmployeeId.CompanyId.Name". You may not read Companies, to which CompanyId leads.',
    ],
    [
      'max',
      `PATCH /Absences/${MAX}`,
      { status: 'Approved' },
      403,
      'After the write, Status must be Cancelled: you have no right to another value.',
    ],
  ])('the message of a refusal speaks to a person, not about a key: %s, %s %j', async (name, request, body, status, message) => {
    const [method = '', path = ''] = request.split(' ')
    const answer = await send(as(name), method, path, body)
    expect([answer.status, answer.body.Error?.Message]).toEqual([status, message])
  })

  test.each<[string, Claims]>([
    ['an empty address, although the address of an employee is empty', { email: '' }],
    ['no address, although the address of an employee is empty', {}],
    ['an address of null', { email: null }],
    ['an address that nobody has', as('nobody')],
    ['an address that is not verified', as('ann', { email_verified: false })],
    ['an address without the claim email_verified', as('ann', { email_verified: undefined })],
    ['a list of addresses', { email: ['ann@example.com'] }],
    ['an object', { email: { '!=': '' } }],
    ['an operator', { email: '!=nobody' }],
    ['a pattern', { email: '%' }],
  ])('a person whose token has %s has no rights', async (_what, claims) => {
    for (const path of ['/Employees', '/Absences', `/Employees/${EVE}`, '/Companies'])
      expect([path, await idsFor({ groups: ['hr'], kind: 'others', x: 'y', ...claims }, path)]).toEqual([path, 403])
    expect((await send(claims, 'POST', '/Absences', {})).status).toBe(403)
    expect(await send(claims, 'GET', '/Rights')).toMatchObject({ status: 200, body: [] })
  })

  const UNKNOWN = 'no row of Employees is yours by the roles file, or several are'
  const UNUSABLE = 'the claim email of your token has no value that could be used'
  test.each<[why: string, Claims]>([
    [UNKNOWN, as('nobody')],
    ['your e-mail address is not verified', as('ann', { email_verified: false })],
    ['your e-mail address is not verified', as('ann', { email_verified: 'true' })],
    ['your token has no claim email', {}],
    ['your token has no claim email', { email: null }],
    ['the claim email of your token is empty', { email: '' }],
    ['the claim email of your token is empty', { email: [] }],
    [UNUSABLE, { email: ['ann@example.com'] }],
    [UNUSABLE, { email: { name: 'ann@example.com' } }],
    [UNUSABLE, { email: 7 }],
  ])('a person without any right gets 403 at each path, which says that %s: %j', async (why, claims) => {
    for (const method of ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS'])
      for (const path of ['/Directory', '/directory/1', '/Directory/Summary', '/Nothing', '/Absencs', '/Nothing/1/2']) {
        const { status, body, headers } = await send(claims, method, path)
        expect([method, path, status, headers.get('allow')]).toEqual([method, path, 403, null])
        if (method !== 'HEAD') expect([path, body.Error.Message]).toEqual([path, `You have no rights: ${why}.`])
      }
    for (const path of ['/Absences', '/Absences/1', '/Employees?x=y', '/Changes', '/Changes?entity=Absences'])
      expect([path, (await send(claims, 'GET', path)).body.Error?.Message]).toEqual([path, `You have no rights: ${why}.`])
    for (const path of ['/Rights', '/', '/docs', '/livez'])
      expect([path, (await send(claims, 'GET', path)).status]).toEqual([path, 200])
  })

  test('a person who has rights gets 404 at a missing path', async () => {
    expect((await send(as('ann'), 'GET', '/Nothing')).body.Error.Message).toBe('There is nothing at this path.')
    expect(await idsFor(as('ann'), '/Directory/99')).toBe(404)
  })

  test.each<[kind: string, x: unknown, outcome: number[] | 403]>([
    ['one', 'Acme', [1]],
    ['one', '!=Acme', [3]],
    ['one', '>5', [4]],
    ['one', '*', [5]],
    ['one', 'Acme&fields=Id', [6]],
    ['one', '=Acme', []],
    ['one', "' or true --", []],
    ['one', '', 403],
    ['one', [], 403],
    ['one', ['Acme'], 403],
    ['one', { '!=': 'Acme' }, 403],
    ['one', 5, 403],
    ['one', true, 403],
    ['one', null, 403],
    ['others', 'Acme', [2, 3, 4, 5, 6]],
    ['others', '!=Acme', [1, 2, 4, 5, 6]],
    ['others', '', 403],
    ['others', [], 403],
    ['others', undefined, 403],
    ['several', ['Acme', '!=Acme', 'x'], [1, 3]],
    ['several', 'Acme', [1]],
    ['several', ['Acme', ''], 403],
    ['several', ['Acme', null], 403],
    ['several', [], 403],
    ['several', '', 403],
    ['numbered', 2, [2]],
    ['numbered', '2', [2]],
    ['numbered', '>1', 403],
    ['numbered', '2 or 1=1', 403],
    ['numbered', 1.5, 403],
  ])('a claim is only a value: a list by the role %s with the claim %j has %j', async (kind, x, outcome) => {
    expect(await idsFor(as('ann', { kind, x }), '/Companies')).toEqual(outcome)
  })
})

test('a person who has a row, but no right by any role, gets 403 at each path, and the message says so', async () => {
  const roles =
    'me Employees?WorkEmail={email}\nview Team Employees\nrole hr when {groups} has hr\n  read Team\nrole all\n  read Companies?Name={x}\n'
  const server = await startServer({ environment: { ...issuer.settings }, roles })
  await server.sql`insert into employee (known_as, work_email) values ('Ann', 'ann@example.com')`
  const authorization = `Bearer ${issuer.token({ email: 'ann@example.com', email_verified: true })}`
  for (const path of ['/Team', '/Nothing', '/Companies', '/Changes']) {
    const { status, body } = await server.send('GET', path, undefined, { authorization })
    expect([path, status, body.Error.Message]).toEqual([path, 403, 'You have no rights: no role gives you one.'])
  }
})

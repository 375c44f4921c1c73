import { beforeEach, describe, expect, test } from 'bun:test'
import { faultsOf, outcomeOf } from '../support/cases.ts'
import { keyWith } from '../support/rights.ts'
import { createRow, emptyTables } from '../support/rows.ts'
import type { Answer, TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// What a key may write, status by status. Company 1 is the partner's own, company 2 is another one.

const KEYS = {
  whole: keyWith('read Absences', 'write Absences', 'read Employees'),
  desk: keyWith('read Absences', 'update Absences?Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined'),
  blindDesk: keyWith('update Absences?Status=Requested&fields=Status,Type becomes Status[]=Approved&Status[]=Declined'),
  ats: keyWith('create Employees?Status=New&fields=FirstName,LastName,CompanyId,Started'),
  partner: keyWith(
    'read Employees?CompanyId=1&fields=Id,FirstName,LastName,CompanyId,Status',
    'create Employees?CompanyId=1&fields=FirstName,LastName,CompanyId',
    'update Employees?CompanyId=1&fields=FirstName,LastName,CompanyId',
    'delete Employees?CompanyId=1&Status=New',
  ),
  mover: keyWith(
    'read Employees',
    'update Employees?CompanyId=1&Status=New&fields=CompanyId,Status,JobTitle becomes Status=Current',
  ),
  clerk: keyWith(
    'read Employees?CompanyId=1',
    'read Absences?EmployeeId=!=',
    'create Absences?fields=EmployeeId,Status,Start,End',
    'update Absences?fields=EmployeeId,Status',
  ),
  parts: keyWith('read Absences?fields=Period,Reason', 'update Absences?fields=Period.Days'),
  hidden: keyWith(
    'read Employees?fields=FirstName',
    'update Employees?JobTitle=Secret&fields=FirstName',
    'delete Employees?JobTitle=Secret',
  ),
  day: keyWith('read Absences?fields=Period.Days', 'update Absences?fields=Period.Days'),
} satisfies Record<string, TestKey>
type KeyName = keyof typeof KEYS

const server = useServer({ keys: Object.values(KEYS).map(({ record }) => record) })

/** Rows of each test: employee 1 and 3 of company 1, 2 of company 2; absences 1 requested, 2 approved, 3 of nobody. */
beforeEach(async () => {
  await emptyTables(server.sql)
  for (const Name of ['Own', 'Other']) await createRow(server, '/Companies', { Name })
  await createRow(server, '/Employees', { FirstName: 'Ann', CompanyId: 1, Status: 'Current', JobTitle: 'Secret' })
  await createRow(server, '/Employees', { FirstName: 'Bob', CompanyId: 2, Status: 'New' })
  await createRow(server, '/Employees', { FirstName: 'Cid', CompanyId: 1, Status: 'New' })
  await createRow(server, '/Absences', { EmployeeId: 1, Status: 'Requested', Reason: 'Secret', Period: { Days: 1, Hours: 8 } })
  await createRow(server, '/Absences', { EmployeeId: 2, Status: 'Approved' })
  await createRow(server, '/Absences', { Status: 'Requested' })
})

function send(key: KeyName, line: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const [method = '', path = ''] = line.split(' ')
  return server.send(method, path, body, { ...KEYS[key].headers, ...headers })
}

const contents = async () =>
  JSON.stringify(
    await server.sql`
    select (select jsonb_agg(to_jsonb(e) order by id) from employee as e) as e, (select jsonb_agg(to_jsonb(a) order by id) from absence as a) as a`,
  )

/** A request of a key, and its outcome: `403 Forbidden Status`; nothing is written then. */
const REFUSED: [subject: string, key: KeyName, line: string, body: unknown, outcome: string][] = [
  ['a verb without a right', 'desk', 'POST /Absences', {}, '403 Forbidden Api'],
  ['a verb without a right', 'desk', 'DELETE /Absences/1', undefined, '403 Forbidden Api'],
  ['PUT by a key that may not set all', 'desk', 'PUT /Absences/1', { Status: 'Approved' }, '403 Forbidden Api'],
  ['PUT of a missing row by a key that may not set all', 'desk', 'PUT /Absences/99', 'no JSON', '403 Forbidden Api'],
  ['a property that is read and not set', 'desk', 'PATCH /Absences/1', { Reason: 'x' }, '403 Forbidden Reason'],
  ['two properties that are read and not set', 'desk', 'PATCH /Absences/1', { Reason: 'x', Type: 'y' }, '403 Forbidden Body'],
  [
    'a property that does not exist for the key',
    'partner',
    'PATCH /Employees/1',
    { JobTitle: 'x' },
    '400 UnknownProperty JobTitle',
  ],
  [
    'a copied property that does not exist for the key',
    'partner',
    'PATCH /Employees/1',
    { Company: 'x' },
    '400 UnknownProperty Company',
  ],
  ['faults of several kinds', 'partner', 'PATCH /Employees/1', { JobTitle: 1, Status: 'x' }, '400 ValidationFailed Body'],
  [
    'a fault of the body, also for a row that is out of reach',
    'desk',
    'PATCH /Absences/99',
    { Reason: 'x' },
    '403 Forbidden Reason',
  ],
  ['a row that is neither read nor within reach', 'partner', 'PATCH /Employees/2', { FirstName: 'x' }, '404 NotFound Api'],
  ['a row that is neither read nor within reach', 'partner', 'DELETE /Employees/2', undefined, '404 NotFound Api'],
  ['a row that is neither read nor within reach', 'blindDesk', 'PATCH /Absences/2', { Type: 'x' }, '404 NotFound Api'],
  ['a row that is read and out of reach', 'desk', 'PATCH /Absences/2', { Status: 'Declined' }, '403 Forbidden Status'],
  ['a row that is read and not deleted', 'partner', 'DELETE /Employees/1', undefined, '403 Forbidden Status'],
  ['a value that the right does not admit', 'desk', 'PATCH /Absences/1', { Status: 'Cancelled' }, '403 Forbidden Status'],
  ['a row that would leave the reach', 'partner', 'PATCH /Employees/1', { CompanyId: 2 }, '403 Forbidden CompanyId'],
  [
    'a row that would leave the reach, with no company',
    'partner',
    'PATCH /Employees/1',
    { CompanyId: null },
    '403 Forbidden CompanyId',
  ],
  ['a row that would enter the reach', 'partner', 'PATCH /Employees/2', { CompanyId: 1 }, '404 NotFound Api'],
  ['a move under becomes', 'mover', 'PATCH /Employees/3', { CompanyId: 2, Status: 'Current' }, '403 Forbidden CompanyId'],
  ['an unchanged value that becomes does not admit', 'mover', 'PATCH /Employees/3', { JobTitle: 'x' }, '403 Forbidden Status'],
  ['a new row that the right does not admit', 'partner', 'POST /Employees', { CompanyId: 2 }, '403 Forbidden CompanyId'],
  [
    'a new row with nothing where the right has a value',
    'partner',
    'POST /Employees',
    { CompanyId: null },
    '403 Forbidden CompanyId',
  ],
  ['a property that only the right sets', 'ats', 'POST /Employees', { Status: 'New' }, '400 UnknownProperty Status'],
  [
    'a reference to a row that the key may not read',
    'clerk',
    'POST /Absences',
    { EmployeeId: 2 },
    '409 ReferenceNotFound EmployeeId',
  ],
  ['a reference to a missing row', 'clerk', 'POST /Absences', { EmployeeId: 99 }, '409 ReferenceNotFound EmployeeId'],
  [
    'a reference to a row that the key may not read',
    'clerk',
    'PATCH /Absences/1',
    { EmployeeId: 2 },
    '409 ReferenceNotFound EmployeeId',
  ],
  ['clearing an object of which a part is only read', 'parts', 'PATCH /Absences/1', { Period: null }, '403 Forbidden Period'],
  ['a part that is only read', 'parts', 'PATCH /Absences/1', { Period: { Hours: 1 } }, '403 Forbidden Period.Hours'],
  [
    'a part that does not exist for the key',
    'day',
    'PATCH /Absences/1',
    { Period: { Hours: 1 } },
    '400 UnknownProperty Period.Hours',
  ],
]

test.each(REFUSED)('refuses %s: by the key %s, %s %j is %s', async (_, key, line, body, outcome) => {
  const before = await contents()
  expect(outcomeOf(await send(key, line, body))).toBe(outcome)
  // Under an Idempotency-Key, and again under it: a refusal is not stored.
  for (let time = 0; time < 2; time++)
    expect(outcomeOf(await send(key, line, body, { 'idempotency-key': 'refused' }))).toBe(outcome)
  expect(await contents()).toBe(before)
})

/** A request of a key, and the whole body of its answer. */
const ADMITTED: [subject: string, key: KeyName, line: string, body: unknown, answer: unknown][] = [
  [
    'a value that the right admits',
    'desk',
    'PATCH /Absences/1',
    { Status: 'Approved' },
    expect.objectContaining({ id: 1, status: 'Approved', reason: 'Secret' }),
  ],
  ['a row within reach that is not read', 'blindDesk', 'PATCH /Absences/1', { Status: 'Approved' }, { id: 1 }],
  [
    'a row that the key reads in part, of which the answer has that part',
    'partner',
    'PATCH /Employees/1',
    { FirstName: 'New' },
    { id: 1, firstName: 'New', lastName: null, companyId: 1, status: 'Current' },
  ],
  [
    'the value that the row already has',
    'partner',
    'PATCH /Employees/1',
    { CompanyId: 1 },
    { id: 1, firstName: 'Ann', lastName: null, companyId: 1, status: 'Current' },
  ],
  [
    'read-only properties that the key sees',
    'partner',
    'PATCH /Employees/1',
    { Id: 5 },
    { id: 1, firstName: 'Ann', lastName: null, companyId: 1, status: 'Current' },
  ],
  [
    'a value that becomes names',
    'mover',
    'PATCH /Employees/3',
    { Status: 'Current' },
    expect.objectContaining({ id: 3, status: 'Current', companyId: 1 }),
  ],
  [
    'a new row with a value that the right sets',
    'partner',
    'POST /Employees',
    { FirstName: 'Dan' },
    { id: 4, firstName: 'Dan', lastName: null, companyId: 1, status: null },
  ],
  [
    'a new row with the same value as the right would set',
    'partner',
    'POST /Employees',
    { FirstName: 'Dan', CompanyId: 1 },
    { id: 4, firstName: 'Dan', lastName: null, companyId: 1, status: null },
  ],
  ['a new row that is not read', 'ats', 'POST /Employees', { FirstName: 'Dan', CompanyId: 2 }, { id: 4 }],
  ['a new row that the key reads only with an employee', 'clerk', 'POST /Absences', { Status: 'x' }, { id: 4 }],
  ['a row that the key cannot read after the write', 'clerk', 'PATCH /Absences/1', { EmployeeId: null }, { id: 1 }],
  [
    'a reference to a row that the key may read',
    'clerk',
    'PATCH /Absences/2',
    { EmployeeId: 3 },
    expect.objectContaining({ id: 2, employee: 'Cid' }),
  ],
  ['clearing an object of which the key sees one part', 'day', 'PATCH /Absences/1', { Period: null }, { id: 1, period: null }],
  [
    'PUT by a key that may set all',
    'whole',
    'PUT /Absences/2',
    { Status: 'x' },
    expect.objectContaining({ id: 2, status: 'x', employeeId: null }),
  ],
]

test.each(ADMITTED)('admits %s: by the key %s, %s %j', async (_, key, line, body, answer) => {
  const got = await send(key, line, body)
  expect([got.status, got.body]).toEqual([line.startsWith('POST') ? 201 : 200, answer])
})

test('clearing an object leaves the parts that the key does not see unchanged', async () => {
  await send('day', 'PATCH /Absences/1', { Period: null })
  expect((await server.get('/Absences/1')).body.period).toEqual({ prefered: null, days: null, hours: 8 })
})

test('default values, and values that the right sets, are written for a key that may read nothing', async () => {
  await send('ats', 'POST /Employees', { FirstName: 'Dan' })
  const { body } = await server.get('/Employees/4')
  expect(body).toMatchObject({ firstName: 'Dan', status: 'New', companyId: null, jobTitle: null })
})

test('a row that the right to delete admits is deleted: 204', async () => {
  expect((await send('partner', 'DELETE /Employees/3')).status).toBe(204)
  expect((await server.get('/Employees/3')).status).toBe(404)
})

describe('the messages of refused writes', () => {
  const MESSAGES: [key: KeyName, line: string, body: unknown, message: string][] = [
    [
      'desk',
      'PUT /Absences/1',
      {},
      'You have no right to set all properties of Absences, which PUT does; change those that you may set by PATCH.',
    ],
    ['desk', 'PATCH /Absences/1', { Reason: 'x' }, 'You have no right to set Reason.'],
    ['desk', 'PATCH /Absences/2', { Status: 'Declined' }, 'You may only update Absences with Status=Requested.'],
    [
      'desk',
      'PATCH /Absences/1',
      { Status: 'x' },
      'After the write, Status must be Approved or Declined: you have no right to another value.',
    ],
    ['partner', 'POST /Employees', { CompanyId: 2 }, 'After the write, CompanyId must be 1: you have no right to another value.'],
    ['partner', 'PATCH /Employees/1', { JobTitel: 'x' }, 'Employee has no property "JobTitel".'],
    [
      'parts',
      'PATCH /Absences/1',
      { Period: null },
      'You have no right to clear Period: that would set Period.Prefered and Period.Hours.',
    ],
    ['clerk', 'POST /Absences', { EmployeeId: 2 }, 'EmployeeId names no Employee: there is none with id 2.'],
  ]

  test.each(MESSAGES)('say what is allowed: by the key %s, %s %j: %s', async (key, line, body, message) => {
    expect((await send(key, line, body)).body.Error.Message).toBe(message)
  })

  test('do not name a property of the right that the key does not see', async () => {
    for (const [method, body, verb] of [
      ['PATCH', { FirstName: 'x' }, 'update'],
      ['PATCH', {}, 'update'],
      ['DELETE', undefined, 'delete'],
    ] as const) {
      const answer = await send('hidden', `${method} /Employees/2`, body)
      expect(outcomeOf(answer)).toBe('403 Forbidden Api')
      expect(answer.body.Error.Message).toBe(`Your right to ${verb} Employees is not for Employee 2.`)
    }
    expect((await send('hidden', 'PATCH /Employees/1', { FirstName: 'x' })).body).toEqual({ id: 1, firstName: 'x' })
  })

  test('have the same bytes for a hidden property as for a property that does not exist', async () => {
    const [hidden, unknown] = await Promise.all(
      ['JobTitle', 'JobTxtle'].map(async (name) => (await send('partner', 'PATCH /Employees/1', { [name]: 'x' })).text),
    )
    expect(hidden?.replaceAll('JobTitle', 'JobTxtle')).toBe(unknown as string)
  })

  test('have the same bytes for a hidden row as for a row that does not exist', async () => {
    for (const [method, body] of [
      ['PATCH', { FirstName: 'x' }],
      ['PATCH', {}],
      ['DELETE', undefined],
    ] as const)
      for (const headers of [{}, { 'if-match': '*' }, { 'if-none-match': '"x"' }, { 'if-none-match': '*' }] as Record<
        string,
        string
      >[]) {
        const [hidden, missing] = await Promise.all(
          [2, 99].map(async (id) => (await send('partner', `${method} /Employees/${id}`, body, headers)).text),
        )
        expect([method, headers, hidden?.replaceAll('id 2', 'id 99')] as unknown[]).toEqual([method, headers, missing])
      }
  })

  test('name every fault of a body', async () => {
    const answer = await send('partner', 'PATCH /Employees/1', { JobTitle: 1, Status: 'x', FirstName: 5 })
    expect(faultsOf(answer)).toEqual(['UnknownProperty JobTitle', 'Forbidden Status', 'InvalidValue FirstName'])
  })
})

describe('If-Match', () => {
  test('is checked before the right: for a row that another client has changed, the answer is 412 and not 403', async () => {
    const tag = (await send('desk', 'GET /Absences/1')).headers.get('etag') as string
    await send('desk', 'PATCH /Absences/1', { Status: 'Approved' })
    const body = { Status: 'Declined' }
    expect(outcomeOf(await send('desk', 'PATCH /Absences/1', body, { 'if-match': tag }))).toBe('412 PreconditionFailed If-Match')
    expect(outcomeOf(await send('desk', 'PATCH /Absences/1', body))).toBe('403 Forbidden Status')
    const now = (await send('desk', 'GET /Absences/1')).headers.get('etag') as string
    expect(outcomeOf(await send('desk', 'PATCH /Absences/1', body, { 'if-match': now }))).toBe('403 Forbidden Status')
  })

  test('is 404 for a hidden row, and 412 for a row that the key may update but not read', async () => {
    const headers = { 'if-match': '"other"' }
    expect(outcomeOf(await send('partner', 'PATCH /Employees/2', { FirstName: 'x' }, headers))).toBe('404 NotFound Api')
    expect(outcomeOf(await send('partner', 'DELETE /Employees/2', undefined, headers))).toBe('404 NotFound Api')
    expect(outcomeOf(await send('blindDesk', 'PATCH /Absences/2', { Type: 'x' }, headers))).toBe('404 NotFound Api')
    expect(outcomeOf(await send('blindDesk', 'PATCH /Absences/1', { Type: 'x' }, headers))).toBe(
      '412 PreconditionFailed If-Match',
    )
  })
})

describe('PATCH without properties', () => {
  test.each<[KeyName, string, string, unknown]>([
    ['partner', '/Employees/1', '200', { id: 1, firstName: 'Ann', lastName: null, companyId: 1, status: 'Current' }],
    ['partner', '/Employees/2', '404 NotFound Api', undefined],
    ['desk', '/Absences/2', '403 Forbidden Status', undefined],
    ['blindDesk', '/Absences/1', '200', { id: 1 }],
    ['blindDesk', '/Absences/2', '404 NotFound Api', undefined],
    ['clerk', '/Absences/3', '200', { id: 3 }],
  ])('needs a row that the key may update: by the key %s, %s is %s', async (key, path, outcome, body) => {
    const answer = await send(key, `PATCH ${path}`, {})
    expect(outcomeOf(answer)).toBe(outcome)
    if (body) expect(answer.body).toEqual(body)
  })
})

describe('dry runs', () => {
  test.each<[KeyName, unknown, string]>([
    ['partner', { FirstName: 'x' }, '200'],
    ['partner', { CompanyId: 2 }, '403 Forbidden CompanyId'],
    ['partner', [{ CompanyId: 1 }, { CompanyId: 2 }], '403 Forbidden [1].CompanyId'],
    ['partner', [{ JobTitle: 'x' }], '400 UnknownProperty [0].JobTitle'],
    ['ats', { FirstName: 'x' }, '200'],
  ])('have the outcome of the create: by the key %s, %j is %s', async (key, body, outcome) => {
    const before = await contents()
    expect(outcomeOf(await send(key, 'POST /Employees?dryRun=1', body))).toBe(outcome)
    expect(await contents()).toBe(before)
    expect(outcomeOf(await send(key, 'POST /Employees', body)).replace('201', '200')).toBe(outcome)
  })

  test.each<[unknown, string]>([
    [{ EmployeeId: 2 }, '409 ReferenceNotFound EmployeeId'],
    [[{ EmployeeId: 1 }, { EmployeeId: 2 }], '409 ReferenceNotFound [1].EmployeeId'],
  ])('refuse references to rows that the key may not read: %j is %s', async (body, outcome) => {
    expect(outcomeOf(await send('clerk', 'POST /Absences?dryRun=1', body))).toBe(outcome)
    expect(outcomeOf(await send('clerk', 'POST /Absences', body))).toBe(outcome)
  })
})

describe('several rows in one POST', () => {
  test('are written all or none, and each fault has its index', async () => {
    const before = await contents()
    const answer = await send('partner', 'POST /Employees', [{ CompanyId: 1 }, { CompanyId: 2 }, {}, { CompanyId: null }])
    expect(outcomeOf(answer)).toBe('403 Forbidden Body')
    expect(faultsOf(answer)).toEqual(['Forbidden [1].CompanyId', 'Forbidden [3].CompanyId'])
    expect(await contents()).toBe(before)
  })

  test.each([{}, { 'idempotency-key': 'rows' }])(
    'get the values that the right sets, and the answer has each row as the key may read it (headers %j)',
    async (headers) => {
      const rows = [{ EmployeeId: 1, Status: 'a' }, { Status: 'b' }, { EmployeeId: 3 }]
      const { status, body } = await send('clerk', 'POST /Absences', rows, headers)
      expect(status).toBe(201)
      expect(body).toEqual([
        expect.objectContaining({ id: 4, employee: 'Ann' }),
        { id: 5 },
        expect.objectContaining({ id: 6, employee: 'Cid' }),
      ])
      const { body: own } = await send('partner', 'POST /Employees', [{ FirstName: 'x' }, { CompanyId: 1 }], headers)
      expect(own.map((row: { companyId: number }) => row.companyId)).toEqual([1, 1])
    },
  )
})

describe('a deletion of a row that others refer to', () => {
  const DELETE = 'delete Companies'
  const REFUSED = 'Company 1 was not deleted: other rows refer to it'
  test.each([
    ['counts rows of a collection that the key reads', ['read Employees'], `${REFUSED}: 2 of Employees (CompanyId=1).`],
    ['does not count rows if the key reads some of them', ['read Employees?CompanyId=1'], `${REFUSED}.`],
    ['does not count rows if the key reads none', [], `${REFUSED}.`],
    ['does not name a property that the key does not read', ['read Employees?fields=FirstName'], `${REFUSED}.`],
  ])('%s: %j', async (_, rights, message) => {
    const key = keyWith(DELETE, ...rights)
    await server.replaceKeys([...Object.values(KEYS), key].map(({ record }) => record))
    const answer = await server.send('DELETE', '/Companies/1', undefined, key.headers)
    expect([outcomeOf(answer), answer.body.Error.Message]).toEqual(['409 StillReferenced Api', message])
  })
})

test.each([
  [
    'create Absences?Start=2024-01-02T00:00:00Z&fields=End',
    { End: '2024-01-01T00:00:00Z' },
    'End must not be before what your right sets.',
  ],
  [
    'create Absences?End=2024-01-02T00:00:00Z&fields=Start',
    { Start: '2024-01-03T00:00:00Z' },
    'Start must not be after what your right sets.',
  ],
])(
  'a create that breaks a rule between a value of the client and a value of the right is 400: %s',
  async (right, body, message) => {
    const key = keyWith(right)
    await server.replaceKeys([...Object.values(KEYS), key].map(({ record }) => record))
    const answer = await server.send('POST', '/Absences', body, key.headers)
    expect([answer.status, answer.body.Error.Message]).toEqual([400, message])
  },
)

test('no error names a reference that the right sets and the key does not see', async () => {
  const key = keyWith('create Employees?CompanyId=9&fields=FirstName')
  await server.replaceKeys([...Object.values(KEYS), key].map(({ record }) => record))
  for (const [body, path] of [
    [{}, '/Employees'],
    [[{}], '/Employees'],
    [{}, '/Employees?dryRun=1'],
  ] as const) {
    const answer = await server.send('POST', path, body, key.headers)
    const target = Array.isArray(body) ? '[0].Body' : 'Body'
    expect(outcomeOf(answer)).toBe(`409 ReferenceNotFound ${target}`)
    expect(answer.text).not.toContain('CompanyId')
  }
})

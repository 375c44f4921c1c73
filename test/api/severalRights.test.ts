import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { faultsOf, outcomeOf } from '../support/cases.ts'
import { keyWith } from '../support/rights.ts'
import { createRow, emptyTables } from '../support/rows.ts'
import type { Answer, TestKey } from '../support/server.ts'
import { allowSeveralRights } from '../support/severalRights.ts'
import { useServer } from '../support/start.ts'

// Several rights to one verb: a person who is an employee and the manager of others.

afterAll(allowSeveralRights())

/** The rights of employee `id` by two roles. */
const rolesOf = (id: number) => [
  `read Employees?Id=${id}`,
  `read Employees?ManagerId=${id}`,
  `read Absences?EmployeeId=${id}`,
  `create Absences?EmployeeId=${id}&Status=Requested&fields=Type,Reason,Start,End`,
  `update Absences?EmployeeId=${id}&Status=Requested&fields=Status becomes Status=Cancelled`,
  `update Absences?EmployeeId=${id}&fields=Type,Reason`,
  `delete Absences?EmployeeId=${id}&Status=Requested`,
  `read Absences?EmployeeId.ManagerId=${id}`,
  `create Absences?EmployeeId.ManagerId=${id}&fields=EmployeeId,Status,Type`,
  `update Absences?EmployeeId.ManagerId=${id}&Status=Requested&fields=Status,Reason becomes Status[]=Approved&Status[]=Declined`,
  `delete Absences?EmployeeId.ManagerId=${id}&Status=Declined`,
]
const KEYS = {
  ann: keyWith(...rolesOf(1)),
  bob: keyWith(...rolesOf(2)),
  /** Sets everything in her own rows, and a part in all. */
  clerk: keyWith('read Absences', 'update Absences?EmployeeId=1', 'update Absences?fields=Reason', 'read Employees'),
  /** May write values that one right admits by themselves, and the other by more than equality. */
  editor: keyWith(
    'read Absences?Id=!=9&Reason[contains]=b',
    'read Absences?Id=<9',
    'update Absences?fields=Status,Type,Reason becomes Status=!=',
    'update Absences?fields=Status,Type,Reason becomes Type=Holiday&Reason[contains]=a',
  ),
} satisfies Record<string, TestKey>
type KeyName = keyof typeof KEYS

const server = useServer({ keys: Object.values(KEYS).map(({ record }) => record) })

/** Employee 1 is the manager of 2 and 3, and 3 of 4. Absences 1 to 4 are of the employee with this id; 5 is of nobody. */
beforeEach(async () => {
  await emptyTables(server.sql)
  for (const [KnownAs, ManagerId] of [
    ['Ann', null],
    ['Bob', 1],
    ['Cid', 1],
    ['Dan', 3],
  ] as const)
    await createRow(server, '/Employees', { KnownAs, ManagerId })
  for (const EmployeeId of [1, 2, 3, 4, null])
    await createRow(server, '/Absences', { EmployeeId, Status: 'Requested', Type: 'Holiday' })
})

function send(key: KeyName, line: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const [method = '', path = ''] = line.split(' ')
  return server.send(method, path, body, { ...KEYS[key].headers, ...headers })
}

const idsOf = ({ body }: Answer) => body.map(({ id }: { id: number }) => id)

describe('of several rights to read, the rows of each are read', () => {
  test.each([
    ['ann', '/Absences', [1, 2, 3]],
    ['bob', '/Absences', [2]],
    ['ann', '/Absences?sort=-Id&Type=Holiday', [3, 2, 1]],
    ['ann', '/Absences?EmployeeId=3', [3]],
    ['ann', '/Absences?EmployeeId=4', []],
    ['ann', '/Absences?EmployeeId.KnownAs[]=Bob&EmployeeId.KnownAs[]=Dan', [2]],
    ['ann', '/Employees', [1, 2, 3]],
  ] as const)(
    'by the key %s, %s has the rows %j in lists, streams and totals, also when it is repeated',
    async (key, path, ids) => {
      for (let time = 0; time < 2; time++) {
        const list = await send(key, `GET ${path}`)
        expect(idsOf(list)).toEqual([...ids])
        expect(list.headers.get('x-total-count')).toBe(String(ids.length))
        const stream = await send(key, `GET ${path}`, undefined, { accept: 'application/x-ndjson' })
        const rows = stream.text.split('\n').filter((line) => line !== '' && !line.includes('X-Changes'))
        expect(rows.map((line) => JSON.parse(line).id)).toEqual([...ids])
        const [plural, query = ''] = path.split('?')
        const summary = await send(key, `GET ${plural}/Summary?${query.replace(/sort=-?Id&?/, '')}`)
        expect(summary.body[0].count).toBe(ids.length)
      }
    },
  )

  test('and other rows are 404 by their id, in concurrent and in single requests', async () => {
    const outcomes = await Promise.all([1, 2, 3, 4, 5, 99].map(async (id) => (await send('ann', `GET /Absences/${id}`)).status))
    expect(outcomes).toEqual([200, 200, 200, 404, 404, 404])
    for (const [id, status] of [200, 200, 200, 404].entries())
      expect((await send('ann', `GET /Absences/${id + 1}`)).status).toBe(status)
  })

  test('and related rows show what the same person may read of them', async () => {
    const { body } = await send('ann', 'GET /Absences?fields=Id,EmployeeId.KnownAs,EmployeeId.ManagerId.KnownAs')
    expect(body).toEqual([
      { id: 1, 'employeeId.knownAs': 'Ann', 'employeeId.managerId.knownAs': null },
      { id: 2, 'employeeId.knownAs': 'Bob', 'employeeId.managerId.knownAs': 'Ann' },
      { id: 3, 'employeeId.knownAs': 'Cid', 'employeeId.managerId.knownAs': 'Ann' },
    ])
    const bob = await send('bob', 'GET /Absences?fields=Id,EmployeeId.KnownAs,EmployeeId.ManagerId.KnownAs')
    expect(bob.body).toEqual([{ id: 2, 'employeeId.knownAs': 'Bob', 'employeeId.managerId.knownAs': null }])
  })

  test('as of the time of the request: absences of an employee are shown only while she reports to the person', async () => {
    expect(idsOf(await send('bob', 'GET /Absences'))).toEqual([2])
    await server.patch('/Employees/4', { ManagerId: 2 })
    expect(idsOf(await send('bob', 'GET /Absences'))).toEqual([2, 4])
    await server.patch('/Employees/4', { ManagerId: null })
    expect(idsOf(await send('bob', 'GET /Absences'))).toEqual([2])
  })

  test('and a cursor leads to the next page for the same person, and is 400 for another one', async () => {
    for (let row = 0; row < 6; row++) await createRow(server, '/Absences', { EmployeeId: 2 })
    const page = await send('ann', 'GET /Absences?PageSize=5')
    const next = new URL(/<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? '', server.url)
    expect(idsOf(await send('ann', `GET ${next.pathname}${next.search}`))).toEqual([8, 9, 10, 11])
    expect(outcomeOf(await send('bob', `GET ${next.pathname}${next.search}`))).toBe('400 InvalidCursor cursor')
  })

  test('concurrent lists of several persons each have the rows of their own person', async () => {
    const keys = Array.from({ length: 12 }, (_, index): KeyName => (index % 2 === 0 ? 'ann' : 'bob'))
    for (const environment of ['GET /Absences', 'GET /Absences/3', 'GET /Absences/2']) {
      const answers = await Promise.all(keys.map((key) => send(key, environment)))
      const [ann, bob] = await Promise.all((['ann', 'bob'] as const).map((key) => send(key, environment)))
      expect(answers.map(({ text }) => text)).toEqual(keys.map((key) => (key === 'ann' ? ann : bob)?.text as string))
    }
  })
})

const REFUSED: [subject: string, key: KeyName, line: string, body: unknown, outcome: string][] = [
  [
    'properties that only different rights let the key set',
    'ann',
    'PATCH /Absences/1',
    { Status: 'Cancelled', Type: 'x' },
    '403 Forbidden Type',
  ],
  [
    'properties of one right in the row of another',
    'ann',
    'PATCH /Absences/1',
    { Status: 'Approved', Reason: 'x' },
    '403 Forbidden Api',
  ],
  [
    'a value that the right to own rows admits, in another row',
    'ann',
    'PATCH /Absences/2',
    { Status: 'Cancelled' },
    '403 Forbidden Status',
  ],
  [
    'a value that the right to the rows of a team admits, in the own row',
    'ann',
    'PATCH /Absences/1',
    { Status: 'Approved' },
    '403 Forbidden Status',
  ],
  ['properties of the right to own rows, in another row', 'ann', 'PATCH /Absences/2', { Type: 'x' }, '403 Forbidden EmployeeId'],
  ['a row out of reach of all rights', 'ann', 'PATCH /Absences/4', { Status: 'Approved' }, '404 NotFound Api'],
  ['a property that no right sets', 'ann', 'PATCH /Absences/1', { Period: { Days: 1 } }, '403 Forbidden Period.Days'],
  ['PUT, since no right sets everything', 'ann', 'PUT /Absences/1', {}, '403 Forbidden Api'],
  ['PUT of a row that the whole right does not reach', 'clerk', 'PUT /Absences/2', {}, '403 Forbidden EmployeeId'],
  [
    'properties that only the right to own rows sets together, in another row',
    'clerk',
    'PATCH /Absences/2',
    { Reason: 'x', Type: 'y' },
    '403 Forbidden EmployeeId',
  ],
  [
    'a new row whose properties no right has together',
    'ann',
    'POST /Absences',
    { Type: 'x', Start: null, Status: 'New' },
    '403 Forbidden Status',
  ],
  [
    'a new row that the only right to set all its properties does not admit',
    'ann',
    'POST /Absences',
    { EmployeeId: 1, Type: 'x' },
    '403 Forbidden EmployeeId',
  ],
  ['a new row of somebody who is hidden', 'ann', 'POST /Absences', { EmployeeId: 4 }, '409 ReferenceNotFound EmployeeId'],
  [
    'several new rows that no right sets together',
    'ann',
    'POST /Absences',
    [
      { Type: 'x', Start: null },
      { Type: 'y', EmployeeId: 2 },
    ],
    '403 Forbidden [1].EmployeeId',
  ],
  [
    'a row that another right would delete if it had been declined',
    'ann',
    'DELETE /Absences/2',
    undefined,
    '403 Forbidden EmployeeId',
  ],
  ['the deletion of a row out of reach', 'ann', 'DELETE /Absences/4', undefined, '404 NotFound Api'],
]

test.each(REFUSED)('refuses %s: by key %s, %s %j is %s, and nothing is written', async (_, key, line, body, outcome) => {
  const contents = async () => JSON.stringify(await server.sql`select to_jsonb(a) from absence as a order by id`)
  const before = await contents()
  expect(outcomeOf(await send(key, line, body))).toBe(outcome)
  expect(outcomeOf(await send(key, line, body, { 'idempotency-key': 'refused' }))).toBe(outcome)
  expect(await contents()).toBe(before)
})

const ADMITTED: [subject: string, key: KeyName, line: string, body: unknown, answer: object][] = [
  ['the own row by the first right', 'ann', 'PATCH /Absences/1', { Status: 'Cancelled' }, { id: 1, status: 'Cancelled' }],
  ['the own row by another right', 'ann', 'PATCH /Absences/1', { Type: 'x', Reason: 'y' }, { id: 1, type: 'x', reason: 'y' }],
  ['a row of the team', 'ann', 'PATCH /Absences/2', { Status: 'Approved', Reason: 'y' }, { id: 2, status: 'Approved' }],
  ['a PATCH without properties, in a row that one right reaches', 'ann', 'PATCH /Absences/3', {}, { id: 3, status: 'Requested' }],
  [
    'PUT by the right that sets everything',
    'clerk',
    'PUT /Absences/1',
    { EmployeeId: 1 },
    { id: 1, employeeId: 1, status: null },
  ],
  [
    'a property that one right lets the key set in any row',
    'clerk',
    'PATCH /Absences/4',
    { Reason: 'x' },
    { id: 4, reason: 'x' },
  ],
  [
    'a new row by the first right, which sets the rest',
    'ann',
    'POST /Absences',
    { Type: 'x' },
    { id: 6, employeeId: 1, status: 'Requested' },
  ],
  ['an empty new row by the first right', 'ann', 'POST /Absences', {}, { id: 6, employeeId: 1, status: 'Requested' }],
  [
    'a new row by the second right',
    'ann',
    'POST /Absences',
    { EmployeeId: 3, Type: 'x' },
    { id: 6, employeeId: 3, status: null },
  ],
]

test.each(ADMITTED)('admits %s: by the key %s, %s %j', async (_, key, line, body, answer) => {
  const got = await send(key, line, body)
  expect([got.status, got.body]).toEqual([line.startsWith('POST') ? 201 : 200, expect.objectContaining(answer)])
})

test.each(['PATCH /Absences/1', 'PATCH /Absences?Id=1'])(
  '%s is done if one right admits its values, although another right would not admit them',
  async (line) => {
    const values = { Status: 'Approved', Type: 'Holiday', Reason: 'b' }
    expect((await send('editor', line, values)).status).toBe(200)
    expect((await send('editor', 'GET /Absences/1')).body).toMatchObject({ status: 'Approved', reason: 'b' })
  },
)

test('several new rows are created by the first right that lets the key set all their properties', async () => {
  const first = await send('ann', 'POST /Absences', [{ Type: 'x' }, { Reason: 'y' }])
  expect(first.body.map(({ employeeId }: { employeeId: number }) => employeeId)).toEqual([1, 1])
  const second = await send('ann', 'POST /Absences', [{ Type: 'x', EmployeeId: 2 }, { EmployeeId: 3 }])
  expect(second.body.map(({ employeeId }: { employeeId: number }) => employeeId)).toEqual([2, 3])
  expect(second.body.map(({ status }: { status: string | null }) => status)).toEqual([null, null])
})

test('a dry run has the outcome of the create', async () => {
  for (const [body, outcome] of [
    [{ Type: 'x' }, '200'],
    [{ EmployeeId: 3, Type: 'x' }, '200'],
    [{ Type: 'x', Start: null, Status: 'New' }, '403 Forbidden Status'],
    [[{ Type: 'x', Start: null }, { EmployeeId: 2 }], '403 Forbidden [1].EmployeeId'],
    [{ EmployeeId: 4 }, '409 ReferenceNotFound EmployeeId'],
  ] as const)
    expect([body, outcomeOf(await send('ann', 'POST /Absences?dryRun=1', body))]).toEqual([body, outcome])
  expect((await server.get('/Absences')).headers.get('x-total-count')).toBe('5')
})

test('a row is deleted if any of the rights admits that, and is 403 if none does', async () => {
  expect((await send('ann', 'DELETE /Absences/1')).status).toBe(204)
  await server.patch('/Absences/2', { Status: 'Declined' })
  expect((await send('ann', 'DELETE /Absences/2')).status).toBe(204)
  expect(outcomeOf(await send('ann', 'DELETE /Absences/3'))).toBe('403 Forbidden EmployeeId')
})

describe('the messages of refused writes name the nearest right', () => {
  test.each([
    [
      'PATCH /Absences/1',
      { Status: 'Cancelled', Type: 'x' },
      'You have no right to set Type together with Status, which the nearest right sets.',
    ],
    [
      'PATCH /Absences/1',
      { Status: 'Approved' },
      'After the write, Status must be Cancelled: you have no right to another value.',
    ],
    ['DELETE /Absences/2', undefined, 'Your nearest right is to delete Absences with EmployeeId=1.'],
    ['PATCH /Absences/2', { Type: 'x' }, 'You may only update Absences with EmployeeId=1.'],
  ])('for %s %j', async (line, body, message) => {
    expect((await send('ann', line, body)).body.Error.Message).toBe(message)
  })

  test('and each property that does not go together with the others', async () => {
    const answer = await send('ann', 'PATCH /Absences/2', { Type: 'x', Status: 'Approved', Reason: 'y', Period: { Days: 1 } })
    expect([outcomeOf(answer), faultsOf(answer)]).toEqual(['403 Forbidden Body', ['Forbidden Period.Days', 'Forbidden Status']])
  })
})

describe('If-Match and If-None-Match', () => {
  test('are checked (412) before the rights, for each row that one of the rights reaches', async () => {
    const body = { Status: 'Approved' }
    expect(outcomeOf(await send('ann', 'PATCH /Absences/1', body, { 'if-match': '"x"' }))).toBe('412 PreconditionFailed If-Match')
    expect(outcomeOf(await send('ann', 'PATCH /Absences/4', body, { 'if-match': '"x"' }))).toBe('404 NotFound Api')
    expect(outcomeOf(await send('ann', 'PATCH /Absences/4', body, { 'if-none-match': '*' }))).toBe('404 NotFound Api')
    const tag = (await send('ann', 'GET /Absences/2')).headers.get('etag') as string
    expect((await send('ann', 'PATCH /Absences/2', body, { 'if-match': tag })).status).toBe(200)
  })

  test('an update of a row that the key cannot read is 403, not 404, if a right covers the row but not the properties', async () => {
    const key = keyWith(
      'read Absences?Type=x',
      'update Absences?Status=Requested&fields=Reason',
      'update Absences?EmployeeId=1&fields=Type',
    )
    await server.replaceKeys([...Object.values(KEYS), key].map(({ record }) => record))
    const patch = async (id: number, body: object) => outcomeOf(await server.send('PATCH', `/Absences/${id}`, body, key.headers))
    expect(await patch(2, { Type: 'y' })).toBe('403 Forbidden EmployeeId')
    await server.patch('/Absences/2', { Status: 'New' })
    expect(await patch(2, { Type: 'y' })).toBe('404 NotFound Api')
  })
})

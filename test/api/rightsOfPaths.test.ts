import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { outcomeOf } from '../support/cases.ts'
import { untilInMemory } from '../support/inMemory.ts'
import { keyWith } from '../support/rights.ts'
import { createRows, emptyTables } from '../support/rows.ts'
import { type Answer, type Json, makeKey, type TestKey, type TestServer } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// D95: a path in a request needs the right to read what it leads to; a path in a filter of a right needs no such right.

const SALES = 'read Employees?Department=Sales&fields=Department,ManagerId,CompanyId'
const KEYS = {
  whole: makeKey({ rights: '*:read', addresses: null }),
  listed: makeKey({ rights: 'Absences:read', addresses: null }),
  sales: keyWith('read Absences', SALES),
  staff: keyWith('read Absences', SALES.replace('Sales', 'Staff')),
  others: keyWith('read Absences', SALES.replace('=Sales', '=!=Sales')),
  nameless: keyWith('read Absences?fields=Employee,EmployeeId', 'read Employees?fields=Company,Manager,ManagerId'),
  copied: keyWith('read Absences?fields=Employee', 'read Employees'),
  alone: keyWith('read Absences'),
  unreferenced: keyWith('read Absences?fields=Reason', 'read Employees'),
  manager: keyWith(
    'read Absences?EmployeeId.ManagerId=1&fields=EmployeeId,Status',
    'update Absences?EmployeeId.ManagerId=1&Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined',
  ),
  above: keyWith('read Absences?EmployeeId.ManagerId[under]=1', 'read Employees?ManagerId[under]=1&fields=FirstName'),
  partner: keyWith(
    'read Absences?EmployeeId.CompanyId=1&fields=EmployeeId,Status,Reason',
    'create Absences?EmployeeId.CompanyId=1&Status=Requested&fields=EmployeeId,Reason',
    'update Absences?EmployeeId.CompanyId=1&fields=EmployeeId,Reason',
    'delete Absences?EmployeeId.CompanyId=1',
  ),
  hiding: keyWith('create Absences?EmployeeId.Department=Sales&fields=EmployeeId', 'read Employees?CompanyId=1'),
  moving: keyWith('update Absences?fields=EmployeeId,Status becomes EmployeeId.Company=Acme', 'read Employees'),
  gone: keyWith('read Absences?EmployeeId.Gone=1', 'read Companies'),
  open: keyWith('create Absences?EmployeeId.Department=&fields=EmployeeId,Status'),
} satisfies Record<string, TestKey>
type KeyName = keyof typeof KEYS

async function fill(server: TestServer): Promise<void> {
  await emptyTables(server.sql)
  await createRows(server, '/Companies', [{ Name: 'Acme' }, { Name: 'Zenith' }])
  await createRows(server, '/Employees', [
    { FirstName: 'Ann', Department: 'Sales', CompanyId: 1 },
    { FirstName: 'Bob', Department: 'Sales', CompanyId: 2, ManagerId: 1 },
    { FirstName: 'Cid', Department: 'Staff', CompanyId: 1, ManagerId: 2 },
    { FirstName: 'Dan', Department: 'Sales', ManagerId: 3 },
    { FirstName: 'Eve', CompanyId: 1, ManagerId: 1 },
  ])
  const absences = [1, 2, 3, 4, 5, null].map((EmployeeId, index) => ({
    EmployeeId,
    Status: 'Requested',
    Reason: `${index + 1}`,
    Period: { Days: 1 + index },
  }))
  await createRows(server, '/Absences', absences)
}

/** A server with requests of these keys. */
function serverOf(environment: Record<string, string> = {}) {
  const server = useServer({ keys: Object.values(KEYS).map(({ record }) => record), environment })
  const send = (key: KeyName, line: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
    const [method = '', path = ''] = line.split(' ')
    return server.send(method, path, body, { ...KEYS[key].headers, ...headers })
  }
  return { server, send }
}

describe.each(['0', '64'])('requests with paths, with MEMORY_MB=%s', (MEMORY_MB) => {
  const { server, send } = serverOf({ MEMORY_MB })
  beforeAll(async () => {
    await fill(server)
    if (MEMORY_MB === '0') return
    for (const table of ['absence', 'employee']) await untilInMemory(server, table, '/Absences?EmployeeId.Department=Sales')
  })

  /** Ids of the list, or the outcome. */
  async function ids(key: KeyName, query: string): Promise<string> {
    const answer = await send(key, `GET /Absences?${query}&sort=Id`)
    return answer.status === 200 ? answer.body.map(({ id }: { id: number }) => id).join('') : outcomeOf(answer)
  }

  // The keys ask in turn, so that the next could get what is cached for one of them. Expectations: sales, staff, whole.
  test.each([
    ['EmployeeId.Department=Sales', '124', '', '124'],
    ['EmployeeId.Department=!=Sales', '356', '123456', '356'],
    ['EmployeeId.Department=', '356', '12456', '56'],
    ['EmployeeId.Department=!=', '124', '3', '1234'],
    ['EmployeeId.Department[]=Staff&EmployeeId.Department[]=', '356', '123456', '356'],
    ['EmployeeId.Id=>0', '124', '3', '12345'],
    ['EmployeeId.ManagerId.Department=Sales', '2', '', '235'],
    ['EmployeeId.ManagerId[under]=1', '2', '', '2345'],
    ['EmployeeId.ManagerId[under]=2', '', '3', '34'],
    ['EmployeeId.ManagerId[under]=3', '4', '', '4'],
  ])('%s matches only employees that the key may read: of Sales %p, of Staff %p, all %p', async (query, sales, staff, whole) => {
    for (const round of [1, 2]) {
      expect([round, await ids('whole', query)]).toEqual([round, whole])
      expect([round, await ids('sales', query)]).toEqual([round, sales])
      expect([round, await ids('staff', query)]).toEqual([round, staff])
    }
  })

  test('Views whose filters differ in an operator have different statements, for lists, rows, streams and summaries', async () => {
    const ndjson = { accept: 'application/x-ndjson' }
    for (const [key, seen] of [
      ['sales', [1, 2, null, 4, null, null]],
      ['others', [null, null, 3, null, 5, null]],
    ] as const) {
      expect(await ids(key, 'EmployeeId.Id=>0')).toBe(seen.filter((id) => id !== null).join(''))
      const list = await send(key, 'GET /Absences?fields=EmployeeId.Id&sort=Id')
      expect(list.body.map((row: Json) => row['employeeId.id'])).toEqual(seen)
      const lines = await send(key, 'GET /Absences?fields=EmployeeId.Id&sort=Id', undefined, ndjson)
      expect(lines.text.trimEnd().split('\n')).toEqual(seen.map((id) => `{"employeeId.id":${id}}`))
      const groups = await send(key, 'GET /Absences/Summary?groupBy=Id&minimum=EmployeeId.Id')
      expect(groups.body.map((group: Json) => group.minimum['employeeId.id'])).toEqual(seen)
      for (const [index, id] of seen.entries())
        expect((await send(key, `GET /Absences/${index + 1}?fields=EmployeeId.Id`)).body).toEqual({ 'employeeId.id': id })
    }
  })

  test('A related row outside of the view has no values in lists, rows, streams and groups', async () => {
    const of = (departments: readonly (string | null)[]) =>
      departments.map((department, index) => ({ id: index + 1, 'employeeId.department': department }))
    const sales = of(['Sales', 'Sales', null, 'Sales', null, null])
    const whole = of(['Sales', 'Sales', 'Staff', 'Sales', null, null])
    const list = 'GET /Absences?fields=Id,EmployeeId.Department&sort=Id'
    for (const [key, rows] of [
      ['whole', whole],
      ['sales', sales],
    ] as const) {
      expect((await send(key, list)).body).toEqual(rows)
      const row = await send(key, 'GET /Absences/3?fields=Id,EmployeeId.Department')
      expect(row.body).toEqual(rows[2])
      const lines = await send(key, list, undefined, { accept: 'application/x-ndjson' })
      expect(lines.text.trimEnd().split('\n')).toEqual(rows.map((row) => JSON.stringify(row)))
      const csv = await send(key, list, undefined, { accept: 'text/csv' })
      expect(csv.text.trimEnd().split('\r\n').slice(1)).toEqual(rows.map((row) => Object.values(row).join()))
    }
    const groups = 'GET /Absences/Summary?groupBy=EmployeeId.Department&sum=Period.Days&minimum=EmployeeId.Id'
    expect((await send('sales', groups)).body).toEqual([
      { 'employeeId.department': 'Sales', count: 3, sum: { period: { days: 7 } }, minimum: { 'employeeId.id': 1 } },
      { 'employeeId.department': null, count: 3, sum: { period: { days: 14 } }, minimum: { 'employeeId.id': null } },
    ])
    expect((await send('whole', groups)).body).toHaveLength(3)
    const lines = await send('sales', groups, undefined, { accept: 'application/x-ndjson' })
    expect(lines.text.trimEnd().split('\n')).toHaveLength(2)
  })

  test('D92: groups by a copied name have the id of the named row only if the key may read the reference to this row', async () => {
    const members = async (key: KeyName, groupBy: string) =>
      Object.keys((await send(key, `GET /Absences/Summary?groupBy=${groupBy}`)).body[0])
    expect(await members('nameless', 'Employee')).toEqual(['employee', 'employeeId', 'count'])
    expect(await members('copied', 'Employee')).toEqual(['employee', 'count'])
    expect(await members('nameless', 'EmployeeId.Company')).toEqual(['employeeId.company', 'count'])
    expect(await members('nameless', 'EmployeeId.Manager')).toEqual(['employeeId.manager', 'employeeId.managerId', 'count'])
    expect(await members('whole', 'EmployeeId.Company')).toEqual(['employeeId.company', 'employeeId.companyId', 'count'])
  })

  test('ETags of lists, rows and summaries differ for keys that see different related rows, and are 304 only for their own key', async () => {
    for (const line of [
      'GET /Absences?fields=Id,EmployeeId.Department&sort=Id',
      'GET /Absences/3?fields=Id,EmployeeId.Department',
      'GET /Absences/Summary?groupBy=EmployeeId.Department',
    ]) {
      const tag = async (key: KeyName) => (await send(key, line)).headers.get('etag') ?? ''
      const [sales, whole] = [await tag('sales'), await tag('whole')]
      expect(sales).not.toBe(whole)
      expect((await send('sales', line, undefined, { 'if-none-match': sales })).status).toBe(304)
      expect((await send('sales', line, undefined, { 'if-none-match': whole })).status).toBe(200)
    }
  })
})

describe('a path that a key may not name', () => {
  const { server, send } = serverOf()
  beforeAll(() => fill(server))
  const FORMS = [
    'GET /Absences?#=x',
    'GET /Absences?#[contains]=x',
    'GET /Absences?#[under]=1',
    'GET /Absences?fields=Id,#',
    'GET /Absences?sort=#',
    'GET /Absences/1?fields=#',
    'GET /Absences/Summary?groupBy=#',
    'GET /Absences/Summary?groupBy=month(#)',
    'GET /Absences/Summary?sum=#',
    'GET /Absences/Summary?maximum=#',
    'GET /Absences/Summary?sort=sum(#)&groupBy=Status',
  ]

  // Names that are near to no other name, so that the hints are lists.
  test.each<[why: string, key: KeyName, path: string, other: string]>([
    ['without a right to read what it leads to', 'alone', 'EmployeeId.Department', 'EmployeeId.Dqpyrtzxnt'],
    ['whose right is of whole entities', 'listed', 'EmployeeId.Department', 'EmployeeId.Dqpyrtzxnt'],
    ['whose reference is hidden', 'unreferenced', 'EmployeeId.Department', 'EmployqqId.Department'],
    ['whose last property is hidden', 'sales', 'EmployeeId.JobTitle', 'EmployeeId.XqbTqtwz'],
    ['whose second reference leads to what it may not read', 'sales', 'EmployeeId.CompanyId.Name', 'EmployeeId.CompanyId.Nqzw'],
    ['whose first part is not a reference', 'sales', 'EmployeeId.Title.Id', 'EmployeeId.Xqtlz.Id'],
  ])('%s is 400 like a path that does not exist', async (_, key, path, other) => {
    for (const form of FORMS) {
      const ask = (name: string) => send(key, form.replace('#', name), undefined, { 'x-request-id': 'same' })
      const [hidden, misspelled] = [await ask(path), await ask(other)]
      expect([form, hidden.status]).toEqual([form, 400])
      // A hint repeats the part of the path after the reference.
      const behind = (name: string) => name.slice(name.indexOf('.') + 1)
      const renamed = hidden.text.replaceAll(path, other).replaceAll(`"${behind(path)}`, `"${behind(other)}`)
      expect(renamed.replaceAll(`\\"${behind(path)}`, `\\"${behind(other)}`)).toBe(misspelled.text)
    }
  })
})

describe('rights whose filters have a path', () => {
  const { server, send } = serverOf()
  beforeEach(() => fill(server))

  test('let a key read and update rows that refer to matching rows, without a right to the matching rows', async () => {
    expect((await send('manager', 'GET /Absences?sort=Id')).body.map(({ id }: { id: number }) => id)).toEqual([2, 5])
    expect(outcomeOf(await send('manager', 'GET /Absences/3'))).toBe('404 NotFound Api')
    expect(outcomeOf(await send('manager', 'GET /Absences?EmployeeId.ManagerId=1'))).toBe(
      '400 UnknownParameter EmployeeId.ManagerId',
    )
    const approved = await send('manager', 'PATCH /Absences/2', { Status: 'Approved' })
    expect(approved.body).toEqual({ id: 2, status: 'Approved', employeeId: 2 })
    expect(outcomeOf(await send('manager', 'PATCH /Absences/2', { Status: 'Declined' }))).toBe('403 Forbidden Status')
    expect(outcomeOf(await send('manager', 'PATCH /Absences/3', { Status: 'Approved' }))).toBe('404 NotFound Api')
    await server.patch('/Employees/3', { ManagerId: 1 })
    expect((await send('manager', 'PATCH /Absences/3', { Status: 'Approved' })).status).toBe(200)
  })

  test('give no access (403) once the property of the path has gone', async () => {
    for (const line of ['GET /Absences', 'GET /Companies']) expect(outcomeOf(await send('gone', line))).toBe('403 Forbidden Api')
  })

  test('cover all rows below a row by [under], at any depth', async () => {
    expect((await send('above', 'GET /Absences?sort=Id')).body.map(({ id }: { id: number }) => id)).toEqual([2, 3, 4, 5])
    expect((await send('above', 'GET /Employees?sort=Id')).body.map(({ id }: { id: number }) => id)).toEqual([2, 3, 4, 5])
  })

  test('are shown by GET /Rights as text and as data', async () => {
    const [read, update] = (await send('manager', 'GET /Rights')).body
    expect(read).toMatchObject({
      text: 'read Absences?EmployeeId.ManagerId=1&fields=Id,Status,EmployeeId',
      filters: [{ property: 'EmployeeId.ManagerId', operator: '=', value: '1' }],
    })
    expect(update.becomes).toEqual([{ property: 'Status', operator: '[]', values: ['Approved', 'Declined'] }])
    const [chain] = (await send('above', 'GET /Rights')).body
    expect(chain.filters).toEqual([{ property: 'EmployeeId.ManagerId', operator: '[under]', value: '1' }])
  })

  test.each<[KeyName]>([['manager'], ['above']])(
    'have no feed of changes, no history and no token, since rows enter and leave without an event: %s',
    async (key) => {
      for (const line of [
        'GET /Changes?entity=Absences',
        'GET /Changes',
        'GET /Changes?wait=1&entity=Absences',
        'GET /Absences/2/Changes',
      ])
        expect([line, (await send(key, line)).status]).toEqual([line, 403])
      const ndjson = { accept: 'application/x-ndjson' }
      expect((await send(key, 'GET /Changes?after=now&entity=Absences', undefined, ndjson)).status).toBe(403)
      const stream = await send(key, 'GET /Absences', undefined, ndjson)
      expect([stream.status, stream.headers.has('x-changes-after')]).toEqual([200, false])
    },
  )

  test('a create is 403 unless its body refers to a matching row', async () => {
    const created = await send('partner', 'POST /Absences', { EmployeeId: 3, Reason: 'x' })
    expect(created.body).toEqual({ id: 7, status: 'Requested', employeeId: 3, reason: 'x' })
    for (const EmployeeId of [2, 4, null]) {
      const refused = await send('partner', 'POST /Absences', { EmployeeId, Reason: 'x' })
      expect(outcomeOf(refused)).toBe('403 Forbidden EmployeeId')
      expect(refused.text).toContain('After the write, EmployeeId must name another row: you have no right to this one.')
      expect(refused.text).not.toContain('Company')
    }
    expect(outcomeOf(await send('partner', 'POST /Absences', { Reason: 'x' }))).toBe('403 Forbidden EmployeeId')
    const several = await send('partner', 'POST /Absences', [{ EmployeeId: 1 }, { EmployeeId: 2 }, { EmployeeId: 4 }])
    expect([several.status, several.body.Error.Details.map(({ Target }: { Target: string }) => Target)]).toEqual([
      403,
      ['[1].EmployeeId', '[2].EmployeeId'],
    ])
    expect((await send('partner', 'POST /Absences', [{ EmployeeId: 1 }, { EmployeeId: 5 }])).status).toBe(201)
    for (const [EmployeeId, outcome] of [
      [1, '200'],
      [2, '403 Forbidden EmployeeId'],
    ] as const)
      expect(outcomeOf(await send('partner', 'POST /Absences?dryRun=1', { EmployeeId }))).toBe(outcome)
  })

  test('concurrent creates are each admitted or refused by their own reference', async () => {
    const bodies = Array.from({ length: 20 }, (_, index) => ({ EmployeeId: 1 + (index % 5), Reason: `${index}` }))
    const answers = await Promise.all(bodies.map((body) => send('partner', 'POST /Absences', body)))
    for (const [index, { EmployeeId, Reason }] of bodies.entries()) {
      const answer = answers[index] as Answer
      if ([1, 3, 5].includes(EmployeeId)) expect(answer.body).toMatchObject({ employeeId: EmployeeId, reason: Reason })
      else expect(outcomeOf(answer)).toBe('403 Forbidden EmployeeId')
    }
  })

  test('an update checks both the row that was referenced before it and the row that is referenced after it', async () => {
    expect((await send('partner', 'PATCH /Absences/1', { EmployeeId: 3 })).body).toMatchObject({ id: 1, employeeId: 3 })
    expect(outcomeOf(await send('partner', 'PATCH /Absences/1', { EmployeeId: 2 }))).toBe('403 Forbidden EmployeeId')
    expect(outcomeOf(await send('partner', 'PATCH /Absences/1', { EmployeeId: null }))).toBe('403 Forbidden EmployeeId')
    expect(outcomeOf(await send('partner', 'PATCH /Absences/2', { Reason: 'x' }))).toBe('404 NotFound Api')
    expect((await send('moving', 'PATCH /Absences/2', { Status: 'x' })).status).toBe(403)
    expect((await send('moving', 'PATCH /Absences/2', { Status: 'x', EmployeeId: 5 })).body).toEqual({ id: 2 })
    const patches = [1, 2, 3, 4, 5].map((id) => send('partner', `PATCH /Absences/${id}`, { Reason: 'at once' }))
    expect((await Promise.all(patches)).map(({ status }) => status)).toEqual([200, 200, 200, 404, 200])
  })

  test('a deletion is 404 for a row that does not match', async () => {
    expect(outcomeOf(await send('partner', 'DELETE /Absences/2'))).toBe('404 NotFound Api')
    expect((await send('partner', 'DELETE /Absences/3')).status).toBe(204)
  })

  test('a right with a filter like EmployeeId.Department= (no value) also admits a row without a reference', async () => {
    for (const [EmployeeId, status] of [
      [null, 201],
      [5, 201],
      [1, 403],
    ] as const)
      expect([EmployeeId, (await send('open', 'POST /Absences', { EmployeeId })).status]).toEqual([EmployeeId, status])
  })

  test('a reference to a hidden row is 409 as to a missing row, whether the hidden row matches the path or not', async () => {
    const ask = async (EmployeeId: number, path = '') => {
      const answer = await send('hiding', `POST /Absences${path}`, { EmployeeId }, { 'x-request-id': 'same' })
      return `${answer.status} ${answer.text}`.replaceAll(`id ${EmployeeId}.`, 'id <id>.')
    }
    for (const path of ['', '?dryRun=1']) {
      // 4 is in Sales, and hidden; 999 does not exist; 5 and 3 can be read, and are not in Sales.
      const missing = await ask(999, path)
      expect(missing).toStartWith('409 ')
      for (const hidden of [2, 4]) expect(await ask(hidden, path)).toBe(missing)
      for (const seen of [3, 5]) expect(await ask(seen, path)).toStartWith('403 ')
    }
    await server.patch('/Employees/4', { Department: 'Staff' })
    expect(await ask(4)).toBe(await ask(999))
    const several = await send('hiding', 'POST /Absences', [{ EmployeeId: 1 }, { EmployeeId: 4 }])
    expect(outcomeOf(several)).toBe('409 ReferenceNotFound [1].EmployeeId')
  })

  test('a replay shows the row if the key may read it now and it has not changed since, and otherwise only the id', async () => {
    const once = { 'idempotency-key': 'once' }
    const create = () => send('partner', 'POST /Absences', { EmployeeId: 3, Reason: 'x' }, once)
    const { body } = await create()
    expect((await create()).body).toEqual(body)
    await server.patch('/Employees/3', { CompanyId: 2 })
    expect((await create()).body).toEqual({ id: body.id })
    await server.patch('/Employees/3', { CompanyId: 1 })
    // A change that the key does not see makes no difference.
    await server.patch(`/Absences/${body.id}`, { Type: 'y' })
    expect((await create()).body).toEqual(body)
    // The server does not know whether the key could have read the row as it was written.
    await server.patch(`/Absences/${body.id}`, { Reason: 'y' })
    expect((await create()).body).toEqual({ id: body.id })
  })

  test('the answer to a write shows the row only if its reference leads to a row that the right to read admits', async () => {
    const key = keyWith('read Absences?EmployeeId.CompanyId=1', 'create Absences?fields=EmployeeId', 'read Employees?Id=>0')
    await server.replaceKeys([key.record])
    const create = async (EmployeeId: number) =>
      Object.keys((await server.send('POST', '/Absences', { EmployeeId }, key.headers)).body).length > 1
    const shown = await Promise.all([1, 2, 3, 4, 5].map(create))
    expect(shown).toEqual([true, false, true, false, true])
    await server.replaceKeys(Object.values(KEYS).map(({ record }) => record))
  })
})

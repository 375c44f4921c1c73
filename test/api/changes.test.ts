import { describe, expect, test } from 'bun:test'
import { writeToken } from '../../src/model/changesToken.ts'
import { expectAll, outcomeOf } from '../support/cases.ts'
import { type Json, makeKey, type TestKey } from '../support/server.ts'
import { untilSettled } from '../support/settled.ts'
import { startServer, useServer } from '../support/start.ts'

const reader = makeKey({ name: 'reader', rights: 'Companies:read' })
const writer = makeKey({ name: 'writer', rights: '*:write' })

const server = useServer({ keys: [reader.record, writer.record], environment: { RATE_LIMIT_CLIENTS: '5' } })

// Other tests run in the same cluster, and their transactions hold back what can be read.
const now = async () => {
  await untilSettled(server.sql)
  return (await server.get('/Changes?after=now')).body.next as string
}
const since = async (token: string, more = '') => {
  await untilSettled(server.sql)
  return (await server.get(`/Changes?after=${token}${more}`)).body
}
/** `update Companies 5 Name`: action, entity, id and what has changed. */
const brief = ({ entity, id, action, changed }: Json) => [action, entity, id, ...changed].join(' ')

describe('GET /Changes', () => {
  test('has an event for each write, in their order, with the key that wrote', async () => {
    const after = await now()
    const company = (await server.post('/Companies', { Name: 'Acme' })).body
    const employee = (await server.post('/Employees', { FirstName: 'Ada', CompanyId: company.id })).body
    await server.patch(`/Employees/${employee.id}`, { LastName: 'King' })
    await server.send('PATCH', `/Companies/${company.id}`, { Name: 'Acme 2' }, writer.headers)
    await server.put(`/Employees/${employee.id}`, { FirstName: 'Ada' })
    await server.remove(`/Employees/${employee.id}`)
    const { changes, more, next } = await since(after)
    expect(changes.map(brief)).toEqual([
      `create Companies ${company.id}`,
      `create Employees ${employee.id}`,
      `update Employees ${employee.id} LastName DisplayName`,
      `update Companies ${company.id} Name`,
      `update Employees ${employee.id} Company`,
      `update Employees ${employee.id} LastName DisplayName CompanyId Company`,
      `delete Employees ${employee.id}`,
    ])
    expect(changes.map(({ key }: Json) => key === writer.record.id)).toEqual([false, false, false, true, true, false, false])
    expect(Math.abs(Date.parse(changes[0].at) - Date.now())).toBeLessThan(3_600_000)
    expect(more).toBe(false)
    expect((await since(next)).changes).toEqual([])
  })

  test('continues after any event, and from page to page', async () => {
    const after = await now()
    for (let index = 0; index < 5; index++) await server.post('/Companies', { Name: `Company ${index}` })
    const { changes } = await since(after)
    expect(changes).toHaveLength(5)
    expect((await since(changes[1].token)).changes).toEqual(changes.slice(2))
    const walked: Json[] = []
    let page = await since(after, '&PageSize=2')
    for (; page.more; page = await since(page.next, '&PageSize=2')) walked.push(...page.changes)
    expect([...walked, ...page.changes]).toEqual(changes)
  })

  test('has, after a token, every event that was committed later, even if its transaction began earlier', async () => {
    let token = ''
    const late = await server.sql.begin(async (transaction) => {
      await transaction`select pg_current_xact_id()`
      await server.post('/Companies', { Name: 'Early' })
      token = (await server.get('/Changes?after=now')).body.next
      expect((await server.get(`/Changes?after=${token}`)).body.changes).toEqual([])
      const [row] = await transaction`
        insert into entity_change (position, entity, id, action, key, changed)
        values (change_position(), 'company', 4711, 'u', 'late', '{}') returning id`
      return row
    })
    const { changes } = await since(token)
    expect(changes.map(({ key }: Json) => key)).toEqual(['bootstrap-1', 'late'])
    expect(late?.id).toBe('4711')
    await server.sql`delete from entity_change where key = 'late'`
  })

  test('has events of the chosen entities only', async () => {
    const after = await now()
    await server.post('/Companies', { Name: 'One' })
    await server.post('/Absences', { Reason: 'Other' })
    const entities = async (list: string) => (await since(after, `&entity=${list}`)).changes.map(({ entity }: Json) => entity)
    expect(await entities('absences')).toEqual(['Absences'])
    expect(await entities('Employees')).toEqual([])
    expect(await entities('Companies,Absences')).toEqual(['Companies', 'Absences'])
    const wrong = await server.get('/Changes?entity=Absence')
    expect(outcomeOf(wrong)).toBe('400 InvalidFilter entity')
    expect(wrong.body.Error.Message).toContain('Did you mean Absences?')
  })

  test('has only events of entities that the key may read; the other entities are 403 if the request names them', async () => {
    const after = await now()
    await server.post('/Absences', { Reason: 'Hidden' })
    await server.post('/Companies', { Name: 'Shown' })
    await untilSettled(server.sql)
    const { body } = await server.get(`/Changes?after=${after}`, reader.headers)
    expect(body.changes.map(({ entity }: Json) => entity)).toEqual(['Companies'])
    await expectAll(server, '403 Forbidden Api', [
      ['GET /Changes?entity=Companies,Absences', undefined, reader.headers],
      ['GET /Changes', undefined, writer.headers],
      ['GET /Companies/1/Changes', undefined, writer.headers],
    ])
  })

  test('has no events of refused writes, nor of writes that change nothing', async () => {
    const { id } = (await server.post('/Companies', { Name: 'Same' })).body
    const after = await now()
    expect((await server.patch(`/Companies/${id}`, { Name: 'Same' })).status).toBe(200)
    expect((await server.post('/Employees', { CompanyId: 999_999 })).status).toBe(409)
    expect((await server.send('PATCH', `/Companies/${id}`, { Name: 'x' }, { 'If-Match': '"other"' })).status).toBe(412)
    expect((await since(after)).changes).toEqual([])
  })

  test('has one event for a write under an Idempotency-Key, however often it is sent', async () => {
    const after = await now()
    const headers = { 'Idempotency-Key': 'changes-once' }
    const write = () => server.send('POST', '/Companies', { Name: 'Once' }, headers)
    const [one, two] = [await write(), await write()]
    expect(two.text).toBe(one.text)
    expect((await since(after)).changes.map(brief)).toEqual([`create Companies ${one.body.id}`])
  })

  test('has an event for each write of a batch', async () => {
    const after = await now()
    const made = await Promise.all(Array.from({ length: 40 }, (_, index) => server.post('/Companies', { Name: `${index}` })))
    const ids = made.map(({ body }) => body.id as number)
    await Promise.all(ids.map((id) => server.patch(`/Companies/${id}`, { Enabled: true })))
    await Promise.all(ids.map((id) => server.remove(`/Companies/${id}`)))
    const { changes } = await since(after, '&PageSize=500')
    const actionsOf = (id: number) => changes.filter((change: Json) => change.id === id).map(({ action }: Json) => action)
    for (const id of ids) expect(actionsOf(id)).toEqual(['create', 'update', 'delete'])
    expect(changes).toHaveLength(120)
  })
})

describe('a token of the change feed', () => {
  test('is 410 if it is of another feed, is ahead of the feed, or precedes events that were deleted', async () => {
    const [feed] = await server.sql`select run from change_feed`
    const refusal = async (position: string, run: string = feed?.run) =>
      outcomeOf(await server.get(`/Changes?after=${writeToken({ run, position, number: '0' })}`))
    const expired = '410 TokenExpired after'
    const current = (await server.sql`select pg_snapshot_xmin(pg_current_snapshot())::text as xmin`)[0]?.xmin
    expect(await refusal(current)).toBe('200')
    expect(await refusal('9'.repeat(18))).toBe(expired)
    expect(await refusal(current, '0123456789ab')).toBe(expired)
    await server.sql`update change_feed set deleted_position = ${current}::bigint, deleted_number = 1`
    expect(await refusal(current)).toBe(expired)
    await server.sql`update change_feed set deleted_position = '0', deleted_number = 0`
  })

  test.each(['', 'x', 'now2', `${writeToken({ run: '0123456789ab', position: '1', number: '1' })}=`])(
    'is 400 if the server has not made it: %p',
    async (text) => {
      expect(outcomeOf(await server.get(`/Changes?after=${text}`))).toBe('400 InvalidToken after')
    },
  )
})

describe('a request with wait', () => {
  test('is answered once there is an event that it asks for', async () => {
    const after = await now()
    let isAnswered = false
    const waiting = server.get(`/Changes?after=${after}&wait=30&entity=Companies`).then((answer) => {
      isAnswered = true
      return answer
    })
    await server.post('/Absences', { Reason: 'Not asked for' })
    await Bun.sleep(200)
    expect(isAnswered).toBe(false)
    const { id } = (await server.post('/Companies', { Name: 'Awaited' })).body
    expect((await waiting).body.changes.map(brief)).toEqual([`create Companies ${id}`])
  })

  test('is 401 as soon as its key is revoked, and 403 as soon as its key has lost its rights', async () => {
    const after = await now()
    const [kept, revoked, changed] = [reader, makeKey({ name: 'revoked' }), makeKey({ name: 'changed' })]
    const wait = ({ headers }: TestKey) => server.get(`/Changes?after=${after}&wait=30&entity=Absences,Companies`, headers)
    const all = [reader.record, writer.record]
    await server.replaceKeys([...all, revoked.record, changed.record])
    const waiting = [revoked, changed].map(wait)
    const other = server.get(`/Changes?after=${after}&wait=30&entity=Companies`, kept.headers)
    // Time in which all three requests begin to wait.
    await Bun.sleep(200)
    await server.replaceKeys([...all, { ...changed.record, rights: 'Companies:read' }])
    expect((await Promise.all(waiting)).map(outcomeOf)).toEqual(['401 Unauthorized Api', '403 Forbidden Api'])
    await server.post('/Companies', { Name: 'Later' })
    expect((await other).body.changes).toHaveLength(1)
    await server.replaceKeys(all)
  })

  test('is answered without events when its waiting time has passed', async () => {
    const { body } = await server.get(`/Changes?after=${await now()}&wait=1`)
    expect(body.changes).toEqual([])
    expect(await since(body.next)).toMatchObject({ changes: [] })
  })
})

describe('the history of a row', () => {
  test('has all events of the row, also after its deletion', async () => {
    const { id } = (await server.post('/Employees', { FirstName: 'Ada' })).body
    await server.patch(`/Employees/${id}`, { FirstName: 'Bea' })
    await server.remove(`/Employees/${id}`)
    const { body } = await server.get(`/employees/${id}/changes/`)
    expect(body.changes.map(brief)).toEqual([
      ...[`create Employees ${id}`, `update Employees ${id} FirstName DisplayName`, `delete Employees ${id}`],
    ])
    const page = (await server.get(`/Employees/${id}/Changes?PageSize=1&after=${body.changes[0].token}`)).body
    expect(page).toMatchObject({ changes: [{ action: 'update' }], more: true })
    const end = (await server.get(`/Employees/${id}/Changes?after=${body.next}`)).body
    expect(end).toEqual({ changes: [], next: body.next, more: false })
  })

  test('is 404 for a row that never existed, and empty for a row without events', async () => {
    expect((await server.get('/Companies/999999/Changes')).status).toBe(404)
    expect((await server.get('/Companies/x/Changes')).status).toBe(404)
    expect((await server.get('/Companies/999999/Changes?after=now')).status).toBe(404)
    const [row] = await server.sql`insert into company (name, enabled) values ('Before', true) returning id`
    await server.sql`delete from entity_change where id = ${row?.id}`
    expect((await server.get(`/Companies/${row?.id}/Changes`)).body).toEqual({ changes: [], next: null, more: false })
    const now = (await server.get(`/Companies/${row?.id}/Changes?after=now`)).body
    await server.patch(`/Companies/${row?.id}`, { Name: 'After' })
    const { body } = await server.get(`/Companies/${row?.id}/Changes?after=${now.next}`)
    expect(body.changes.map(brief)).toEqual([`update Companies ${row?.id} Name`])
    await server.remove(`/Companies/${row?.id}`)
    expect((await server.get(`/Companies/${row?.id}/Changes?after=now`)).body.changes).toEqual([])
  })
})

test('with CHANGES_VALUES=on, a history has the values before and after each change, also without memory', async () => {
  const environment = { CHANGES_VALUES: 'on', MEMORY_MB: '0' }
  const keeping = await startServer({ databaseUrl: server.databaseUrl, environment })
  const { id } = (await keeping.post('/Absences', { Reason: 'Flu', Period: { Days: 1.5 } })).body
  await keeping.patch(`/Absences/${id}`, { Period: { Days: null }, Start: '2024-01-02T03:04:05Z' })
  const { changes } = (await keeping.get(`/Absences/${id}/Changes`)).body
  expect(changes.map(({ before, after }: Json) => [before, after])).toEqual([
    [
      { Reason: null, 'Period.Days': null },
      { Reason: 'Flu', 'Period.Days': 1.5 },
    ],
    [
      { Start: null, 'Period.Days': 1.5 },
      { Start: '2024-01-02T03:04:05Z', 'Period.Days': null },
    ],
  ])
  // A server without the setting shows no values, even if another server has stored them.
  expect((await server.get(`/Absences/${id}/Changes`)).body.changes[0]).not.toHaveProperty('before')
})

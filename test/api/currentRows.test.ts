import { describe, expect, test } from 'bun:test'
import { type Json, KEY, makeKey } from '../support/server.ts'
import { untilSettled } from '../support/settled.ts'
import { useServer } from '../support/start.ts'

const limited = makeKey({ name: 'limited', rights: 'Absences:read', limits: '1/10m' })
const HEADERS = { Authorization: `ApiKey ${KEY}` }
const server = useServer({ keys: [limited.record] })

// Other tests run in the same cluster, and their transactions hold back what can be read.
async function changesAfter(token: string, more = ''): Promise<Json[]> {
  await untilSettled(server.sql)
  return (await server.get(`/Changes?after=${token}&rows=current${more}`)).body.changes
}
async function streamed(path: string): Promise<{ token: string | null; rows: Json[] }> {
  await untilSettled(server.sql)
  const response = await fetch(server.url + path, { headers: { ...HEADERS, Accept: 'application/x-ndjson' } })
  const lines = (await response.text()).split('\n').filter(Boolean)
  return { token: response.headers.get('X-Changes-After'), rows: lines.map((line) => JSON.parse(line)) }
}

describe('D73: changes with rows=current', () => {
  test('have the current row of each event, as GET by id returns it, and null for a deleted row', async () => {
    const { token } = await streamed('/Companies')
    const company = (await server.post('/Companies', { Name: 'Acme "1"', Enabled: true })).body
    const other = (await server.post('/Companies', { Enabled: false })).body
    const employee = (
      await server.post('/Employees', { FirstName: 'Ada', CompanyId: company.id, Started: '2026-01-31T09:00:00Z' })
    ).body
    const absence = (await server.post('/Absences', { EmployeeId: employee.id, Period: { Days: 2.5 } })).body
    await server.patch(`/Companies/${company.id}`, { Name: 'Acme 2' })
    await server.remove(`/Companies/${other.id}`)
    const changes = await changesAfter(token as string)
    expect(changes.map(({ entity, id, action }) => `${action} ${entity} ${id}`)).toEqual([
      `create Companies ${company.id}`,
      `create Companies ${other.id}`,
      `create Employees ${employee.id}`,
      `create Absences ${absence.id}`,
      `update Companies ${company.id}`,
      `update Employees ${employee.id}`,
      `delete Companies ${other.id}`,
    ])
    for (const { entity, id, row } of changes)
      expect(row).toEqual(id === other.id && entity === 'Companies' ? null : (await server.get(`/${entity}/${id}`)).body)
    expect(changes.at(0)?.row.name).toBe('Acme 2')
    const plain = (await server.get(`/Changes?after=${token}`)).body.changes
    expect(plain).toEqual(changes.map(({ row, ...change }) => change))
  })

  test('are charged one request for a page of 500', async () => {
    const { token } = await streamed('/Absences')
    await server.sql`insert into absence (reason) select 'many' from generate_series(1, 600)`
    await untilSettled(server.sql)
    const path = `/Changes?after=${token}&entity=Absences&rows=current&PageSize=500`
    const page = await server.get(path, limited.headers)
    expect([page.status, page.body.changes.length, page.headers.get('X-RateLimit-Remaining')]).toEqual([200, 500, '0'])
    expect(page.body.changes.every(({ row }: Json) => row.reason === 'many')).toBe(true)
  })

  test('have the current rows in streams, too', async () => {
    const { token } = await streamed('/Companies')
    const company = (await server.post('/Companies', { Name: 'Streamed' })).body
    const ending = new AbortController()
    const response = await fetch(`${server.url}/Changes?after=${token}&entity=Companies&rows=current`, {
      headers: { ...HEADERS, Accept: 'application/x-ndjson' },
      signal: ending.signal,
    })
    let text = ''
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) if ((text += piece).includes('\n')) break
    ending.abort()
    expect(JSON.parse(text.split('\n')[0] as string)).toMatchObject({ id: company.id, row: company })
  })

  test.each([
    ['/Changes?rows=all', 'InvalidForm', 'rows is current, or left out.'],
    ['/Changes?rows=current&rows=current', 'InvalidForm', 'rows is given twice.'],
    ['/Companies/1/Changes?rows=current', 'UnknownParameter', 'Changes have no parameter "rows".'],
  ])('are refused for %s with %s', async (path, code, message) => {
    expect((await server.get(path)).body.Error).toMatchObject({ Code: code, Message: message })
  })
})

test('D73: a stream and the changes since its token make an exact copy, whatever is written meanwhile', async () => {
  const total = 3_000
  await server.sql`insert into absence (reason) select 'row ' || n from generate_series(1, ${total}::int) n`
  let isDone = false
  const writes = async () => {
    for (let round = 0; !isDone; round++) {
      const { id } = (await server.post('/Absences', { Reason: `new ${round}` })).body
      await server.patch(`/Absences/${id - 50}`, { Reason: `changed ${round}` })
      await server.remove(`/Absences/${id - 100}`)
    }
  }
  const writing = Promise.all([writes(), writes()])
  // Writes change the property by which the stream is sorted, so that rows move to where it has already been.
  const { token, rows } = await streamed('/Absences?sort=-Reason')
  isDone = true
  await writing
  const copy = new Map(rows.map((row) => [row.id, row]))
  for (let page: Json = { next: token, more: true }; page.more; ) {
    await untilSettled(server.sql)
    page = (await server.get(`/Changes?after=${page.next}&entity=Absences&rows=current&PageSize=500`)).body
    for (const { id, row } of page.changes) row === null ? copy.delete(id) : copy.set(id, row)
  }
  const now = (await streamed('/Absences')).rows
  expect([...copy.values()].sort((one, other) => one.id - other.id)).toEqual(now)
})

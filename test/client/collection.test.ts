import { beforeAll, describe, expect, test } from 'bun:test'
import { createSampleDatabase } from '../support/postgres.ts'
import { KEY, makeKey } from '../support/server.ts'
import { untilSettled } from '../support/settled.ts'
import { useServer } from '../support/start.ts'
import { failureOf } from './failureOf.ts'
import { createRoster, RosterError } from './roster.ts'

/** Base address in links: not the address of the client, as behind a proxy, and nothing listens there. */
const PUBLIC_URL = 'http://127.0.0.2:9/elsewhere'
const writer = makeKey({ rights: '*:write' })

const server = useServer(async () => ({
  databaseUrl: await createSampleDatabase(),
  environment: { PUBLIC_URL, RATE_LIMIT_CLIENTS: '2' },
  keys: [writer.record],
}))
let roster: ReturnType<typeof createRoster>
beforeAll(async () => {
  roster = createRoster({ url: `${server.url}/`, key: `${KEY}\n` })
})

describe('calls for rows', () => {
  test('createMany creates or checks rows in one request, and its error names faulty rows', async () => {
    const { companies, employees } = roster
    expect(await companies.createMany([{ name: 'Many 1' }, { name: 'Many 2' }], { dryRun: true })).toEqual([])
    const made = await companies.createMany([{ name: 'Many 1' }, { name: 'Many 2', enabled: true }])
    expect(made.map(({ name, enabled }) => [name, enabled])).toEqual([
      ['Many 1', false],
      ['Many 2', true],
    ])
    expect((await companies.list({ filter: { name: 'Many 1' } })).rows).toEqual(made.slice(0, 1))
    const refused = await failureOf(employees.createMany([{ started: new Date() }, { companyId: 999_999 }]))
    expect([refused.code, refused.target]).toEqual(['ReferenceNotFound', '[1].CompanyId'])
    await Promise.all(made.map(({ id }) => companies.delete(id)))
  })

  test('createOrUpdate creates rows, updates them or leaves them unchanged in one request, and its error names the faulty row', async () => {
    const { companies } = roster
    const call = { match: 'name' } as const
    const [own] = await companies.createMany([{ name: 'Matched 1' }])
    const rows = [{ name: 'Matched 2' }, { name: 'Matched 1', enabled: true }]
    expect(await companies.createOrUpdate(rows, { ...call, dryRun: true })).toEqual([])
    const [made, updated] = await companies.createOrUpdate(rows, call)
    expect([made?.result, updated]).toEqual(['created', { result: 'updated', row: { ...own, enabled: true } as never }])
    expect((await companies.createOrUpdate(rows, call)).map(({ result }) => result)).toEqual(['unchanged', 'unchanged'])
    const refused = await failureOf(companies.createOrUpdate([{ name: 'Matched 1' }, { enabled: true }], call))
    expect([refused.code, refused.target]).toEqual(['InvalidValue', '[1].Name'])
    for (const one of [made?.row, own]) await companies.delete(one?.id as number)
  })

  test('updateWhere and deleteWhere write all rows that match, and only count them in a dry run', async () => {
    const { companies } = roster
    const made = await companies.createMany([{ name: 'Where 1' }, { name: 'Where 2' }, { name: 'Where 3', enabled: true }])
    const ids = made.map(({ id }) => id)
    const filter = { id: { any: ids }, enabled: false }
    expect(await companies.updateWhere(filter, { enabled: true }, { dryRun: true })).toEqual({ count: 2, rows: [] })
    const { count, rows } = await companies.updateWhere(filter, { enabled: true }, { may: { update: 'enabled' } })
    expect([count, rows]).toEqual([2, made.slice(0, 2).map((row) => ({ ...row, enabled: true }))])
    const [{ n } = { n: 0 }] = await server.sql`select count(*)::int as n from idempotency_key where answer is not null`
    expect(n).toBeGreaterThan(0)
    expect(await companies.deleteWhere({ id: { any: ids } }, { dryRun: true })).toEqual({ count: 3, ids: [] })
    const read = await Promise.all(ids.map(async (id) => companies.versionOf(await companies.get(id))))
    const late = companies.deleteWhere({ id: { any: ids } }, { ifMatch: read.slice(1, 2) })
    await expect(late).rejects.toMatchObject({ code: 'PreconditionFailed' })
    await expect(companies.deleteWhere({ id: { any: ids } }, { ifMatch: [] })).rejects.toThrow('ifMatch is "", not a version')
    expect(await companies.deleteWhere({ id: { any: ids } }, { may: 'delete', ifMatch: read })).toEqual({ count: 3, ids })
    expect(await companies.deleteWhere({ id: { any: ids } })).toEqual({ count: 0, ids: [] })
    await expect(companies.updateWhere({}, { enabled: true })).rejects.toThrow('a filter has to say which rows')
    await expect(companies.deleteWhere({})).rejects.toThrow('a filter has to say which rows')
  })

  test('a row is created, read, updated, replaced and deleted', async () => {
    const made = await roster.absences.create({
      employeeId: 2,
      start: new Date('2026-12-21T09:00:00.500Z'),
      period: { days: 4.5 },
    })
    expect(made).toEqual({
      id: made.id,
      status: null,
      employeeId: 2,
      employee: 'Charles Babbage',
      type: null,
      reason: null,
      start: '2026-12-21T09:00:00Z',
      end: null,
      period: { prefered: null, days: 4.5, hours: null },
    })
    expect(await roster.absences.get(made.id)).toEqual(made)
    const changed = await roster.absences.update(made.id, { status: 'Approved', period: { hours: 30 } })
    expect(changed).toEqual({ ...made, status: 'Approved', period: { prefered: null, days: 4.5, hours: 30 } })
    expect(await roster.absences.replace(made.id, { ...changed, reason: 'Move' })).toEqual({
      ...changed,
      reason: 'Move',
    })
    expect(await roster.absences.replace(made.id, { employeeId: 2 })).toMatchObject({ status: null, period: null })
    expect(await roster.absences.delete(made.id)).toBeUndefined()
    expect(await failureOf(roster.absences.get(made.id))).toMatchObject({ status: 404, code: 'NotFound' })
  })

  test('a key that may write but not read gets only the id of a new row', async () => {
    const { companies } = createRoster({ url: server.url, key: writer.text })
    const made = await companies.create({ name: 'Unseen' })
    expect(Object.keys(made)).toEqual(['id'])
    await companies.delete(made.id)
  })
})

describe('versions of rows', () => {
  test('versionOf returns the version of a returned row, and a write with this version fails if the row has changed', async () => {
    const { companies } = roster
    const made = await companies.create({ name: 'Blue Moon' })
    expect(companies.versionOf(made)).toMatch(/^"\w{4}-\d+"$/)
    const [one, other] = [await companies.get(made.id), await companies.get(made.id)]
    expect(companies.versionOf(one)).toBe(companies.versionOf(made))
    const changed = await companies.update(one.id, { enabled: true }, { ifMatch: companies.versionOf(one) })
    const late = { ifMatch: companies.versionOf(other) }
    for (const call of [
      () => companies.update(other.id, { name: 'Late' }, late),
      () => companies.replace(other.id, { name: 'Late' }, late),
      () => companies.delete(other.id, late),
    ])
      expect(await failureOf(call())).toMatchObject({ status: 412, code: 'PreconditionFailed', target: 'If-Match' })
    expect(await companies.get(one.id)).toEqual({ ...made, enabled: true })
    const replaced = await companies.replace(one.id, changed, { ifMatch: companies.versionOf(changed) })
    await companies.delete(one.id, { ifMatch: companies.versionOf(replaced) })
    expect(await failureOf(companies.get(one.id))).toMatchObject({ code: 'NotFound' })
  })

  test('a write with ifMatch whose response was lost is repeated, but carried out only once', async () => {
    let losses = 0
    const lossy = async (target: string, init: RequestInit) => {
      const answer = await fetch(target, init)
      if (losses-- > 0) throw new TypeError('lost')
      return answer
    }
    const { companies } = createRoster({ url: server.url, key: KEY, fetch: lossy })
    const made = await companies.create({ name: 'Blue Moon' })
    let ifMatch = companies.versionOf(made)
    for (const write of [
      () => companies.update(made.id, { enabled: true }, { ifMatch }),
      () => companies.replace(made.id, { name: 'Red Sun' }, { ifMatch }),
    ]) {
      losses = 2
      const written = await write()
      const read = await companies.get(made.id)
      expect([written, companies.versionOf(written)]).toEqual([read, companies.versionOf(read)])
      expect(companies.versionOf(written)).not.toBe(ifMatch)
      ifMatch = companies.versionOf(written)
    }
    losses = 1
    expect(await companies.delete(made.id, { ifMatch })).toBeUndefined()
    expect(await failureOf(companies.get(made.id))).toMatchObject({ code: 'NotFound' })
  })

  test('versionOf refuses copies and rows of lists, and a write refuses an undefined ifMatch', async () => {
    const { companies } = roster
    const read = await companies.get(1)
    const { rows } = await companies.list()
    for (const row of [{ ...read }, rows[0], null, undefined])
      expect(() => companies.versionOf(row as typeof read)).toThrow(TypeError)
    for (const ifMatch of [undefined, null, '', '"é"', '"a"\r\nX-Evil: 1'])
      await expect(companies.update(1, { name: 'Lost' }, { ifMatch: ifMatch as string })).rejects.toThrow(TypeError)
    expect(await companies.get(1)).toEqual(read)
  })
})

describe('pages of lists', () => {
  test('a page has rows, the total of all pages, and links with the client’s address', async () => {
    const { rows, total, links } = await roster.companies.list({
      filter: { enabled: true },
      sort: '-name',
      pageSize: 5,
    })
    expect([rows.map(({ name }) => name), total]).toEqual([
      ['Orbital Freight', 'Lindqvist Foods', 'Harbour & Sons', 'Analytical Engines'],
      4,
    ])
    expect(links).toEqual({ first: null, previous: null, next: null, last: null })
    const { links: more } = await roster.absences.list({ filter: { 'period.days': { '>': 1 } }, pageSize: 5, page: 2 })
    for (const link of Object.values(more)) expect(link).toStartWith(`${server.url}/Absences?period.days=`)
  })

  test('follow() returns the page to which a link of a page leads, whatever host the link has', async () => {
    const query = { sort: ['status', '-start'], pageSize: 5 } as const
    const first = await roster.absences.list(query)
    const second = await roster.absences.follow(first.links.next ?? '')
    expect(second.rows).toEqual((await roster.absences.list({ ...query, page: 2 })).rows)
    expect((await roster.absences.follow(second.links.previous ?? '')).rows).toEqual(first.rows)
    expect((await roster.absences.follow(second.links.first ?? '')).rows).toEqual(first.rows)
    const elsewhere = (second.links.last ?? '').replace(server.url, 'http://127.0.0.2:9')
    expect((await roster.absences.follow(elsewhere)).links.next).toBeNull()
    await expect(roster.absences.follow('')).rejects.toThrow('"" is not a link of a page')
  })
})

describe('all rows of a list', () => {
  test('all() yields the rows of every page in order, and ends', async () => {
    const rows = await Array.fromAsync(roster.absences.all({ sort: '-start', pageSize: 5 }))
    const expected = await server.sql`select id from absence order by start desc, id desc`
    expect(rows.map(({ id }) => id)).toEqual(expected.map(({ id }) => Number(id)))
    expect(await Array.fromAsync(roster.absences.all({ filter: { status: 'None' } }))).toEqual([])
  })

  test('all() follows links with cursors, and reads no page after the loop has ended', async () => {
    const asked: boolean[] = []
    const noted = (url: string, init: RequestInit) => {
      asked.push(url.includes('&cursor='))
      return fetch(url, init)
    }
    const { absences } = createRoster({ url: server.url, key: KEY, fetch: noted })
    for await (const { id } of absences.all({ pageSize: 5 })) if (id >= 7) break
    expect(asked).toEqual([false, true])
  })
})

describe('errors of calls', () => {
  test('an error has the message of the server, and the request id of its log line', async () => {
    const error = await failureOf(roster.absences.list({ filter: { statsu: 'Approved' } as object }))
    expect(error).toBeInstanceOf(RosterError)
    expect(error).toMatchObject({
      name: 'RosterError',
      status: 400,
      code: 'UnknownParameter',
      target: 'statsu',
      message: 'Absences has no parameter "statsu". Did you mean Status?',
      details: null,
      retryAfterMs: null,
    })
    expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('an error of an unknown key does not show the key', async () => {
    const roster = createRoster({ url: server.url, key: 'not-a-key-of-this-server' })
    const error = await failureOf(roster.companies.get(1))
    expect([error.status, error.code]).toEqual([401, 'Unauthorized'])
    expect(Bun.inspect(error) + Bun.inspect(roster) + error.stack).not.toContain('not-a-key-of-this-server')
  })
})

describe('the change feed in the client', () => {
  test('changes come page by page, and continue after a token', async () => {
    await untilSettled(server.sql)
    const { next } = await roster.changes.list({ after: 'now' })
    const made = await roster.companies.create({ name: 'Followed' })
    await roster.companies.update(made.id, { enabled: true })
    await roster.companies.delete(made.id)
    await untilSettled(server.sql)
    const actions: string[] = []
    for await (const change of roster.changes.all({ after: next, entity: 'Companies', pageSize: 2 })) {
      expect(change).toMatchObject({ entity: 'Companies', id: made.id })
      actions.push(change.action)
    }
    expect(actions).toEqual(['create', 'update', 'delete'])
    const past = await roster.companies.history(made.id)
    expect(past.changes.map(({ changed }) => changed)).toEqual([[], ['Enabled'], []])
    expect(past).toMatchObject({ more: false, next: past.changes.at(-1)?.token as string })
  })

  test('changes.all pauses if the server answers immediately without a change', async () => {
    await untilSettled(server.sql)
    let asked = 0
    const counted = (target: string, init: RequestInit) => {
      asked++
      return fetch(target, init)
    }
    const { changes } = createRoster({ url: server.url, key: KEY, fetch: counted })
    const signal = AbortSignal.timeout(500)
    const all = async () => Array.fromAsync(changes.all({ after: 'now', wait: 0, signal }))
    await expect(all()).rejects.toThrow()
    expect(asked).toBeWithin(1, 3)
  })

  test('changes.all with wait yields later changes, until the loop ends', async () => {
    await untilSettled(server.sql)
    const { next } = await roster.changes.list({ after: 'now' })
    const found: string[] = []
    const creating = roster.companies.create({ name: 'To come' })
    for await (const { action, id } of roster.changes.all({ after: next, entity: ['Companies'], wait: 30 })) {
      found.push(action)
      if (found.length === 1) await roster.companies.delete(id)
      else break
    }
    await creating
    expect(found).toEqual(['create', 'delete'])
  })
})

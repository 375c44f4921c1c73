import { afterEach, describe, expect, test } from 'bun:test'
import { readToken, SealedTokens } from '../../src/model/changesToken.ts'
import { outcomeOf } from '../support/cases.ts'
import { until } from '../support/process.ts'
import { type Json, makeKey, type TestKey } from '../support/server.ts'
import { untilSettled } from '../support/settled.ts'
import { startServer, useServer } from '../support/start.ts'

const keyOf = (name: string, ...rights: string[]) => makeKey({ name, rights: '', addresses: rights.join('\n') })

const jobs = keyOf('jobs', 'read Employees?fields=Id,JobTitle,DisplayName', 'read Companies', 'read Absences?Status=Approved')
const names = keyOf('names', 'read Employees?fields=Id,LastName', 'read Companies?fields=Id,Enabled')
const approved = keyOf('approved', 'read Absences?Status=Approved')
const parts = keyOf('parts', 'read Absences?fields=Id,Period.Days')
const keys = [jobs, names, approved, parts].map(({ record }) => record)

const server = useServer({ keys, environment: { RATE_LIMIT_CLIENTS: '8' } })

// Other tests run in the same cluster, and their transactions hold back what can be read.
const now = async () => {
  await untilSettled(server.sql)
  // Keys with rights to whole entities accept tokens of other keys, too.
  return (await server.get('/Changes?after=now', jobs.headers)).body.next as string
}
const get = async (key: TestKey, path: string) => {
  await untilSettled(server.sql)
  return server.get(path, key.headers)
}
const changes = async (key: TestKey, path: string): Promise<Json[]> => (await get(key, path)).body.changes
const employee = async (body: Json = {}): Promise<number> => (await server.post('/Employees', body)).body.id
/** `update Employees JobTitle`: action, entity, and what has changed. */
const brief = ({ action, entity, changed }: Json) => [action, entity, ...changed].join(' ')

describe('GET /Changes with a right that has fields', () => {
  test('names only visible properties, and has no event for an update of hidden properties', async () => {
    const after = await now()
    const id = await employee({ FirstName: 'Ada', LastName: 'King', JobTitle: 'Analyst' })
    await server.patch(`/Employees/${id}`, { WorkEmail: 'ada@example.com' })
    await server.patch(`/Employees/${id}`, { WorkPhone: '1', JobTitle: 'Engineer' })
    await server.patch(`/Employees/${id}`, { LastName: 'Lovelace' })
    await server.remove(`/Employees/${id}`)
    expect((await changes(jobs, `/Changes?after=${after}`)).map(brief)).toEqual([
      'create Employees',
      'update Employees JobTitle',
      'update Employees DisplayName',
      'delete Employees',
    ])
    expect((await changes(names, `/Changes?after=${after}`)).map(brief)).toEqual([
      'create Employees',
      'update Employees LastName',
      'delete Employees',
    ])
    expect((await server.get(`/Changes?after=${after}`)).body.changes).toHaveLength(5)
  })

  test('has an event of a rename only where the copied name is visible', async () => {
    const company = (await server.post('/Companies', { Name: 'Acme' })).body
    await employee({ CompanyId: company.id })
    const after = await now()
    await server.patch(`/Companies/${company.id}`, { Name: 'Acme 2' })
    expect((await changes(jobs, `/Changes?after=${after}`)).map(brief)).toEqual(['update Companies Name'])
    expect(await changes(names, `/Changes?after=${after}`)).toEqual([])
    expect((await server.get(`/Changes?after=${after}`)).body.changes).toHaveLength(2)
  })

  test('has pages from which one cannot tell how many updates are hidden', async () => {
    const after = await now()
    const ids = [await employee(), await employee(), await employee()]
    for (const id of ids)
      for (let index = 0; index < 4; index++) await server.patch(`/Employees/${id}`, { WorkPhone: `${index}` })
    const last = ids.at(-1)
    await server.patch(`/Employees/${last}`, { JobTitle: 'Last' })
    const path = `/Changes?entity=Employees&after=`
    const whole = (await get(jobs, `${path}${after}&PageSize=4`)).body
    expect([whole.changes.map(({ id }: Json) => id), whole.more]).toEqual([[...ids, last], false])
    const first = (await get(jobs, `${path}${after}&PageSize=3`)).body
    expect([first.changes.length, first.more, first.next]).toEqual([3, true, first.changes[2].token])
    const rest = (await get(jobs, `${path}${first.next}&PageSize=3`)).body
    expect([rest.changes, rest.more]).toEqual([[whole.changes[3]], false])
  })

  test('has full pages after any number of hidden updates, and no page ends at a hidden update', async () => {
    const after = await now()
    // Visible updates have the ids 1 to 4; two are before 20,000 hidden ones, one is within 40,000 more, and one is the last.
    await server.sql`
      insert into entity_change (position, entity, id, action, key, changed)
      select change_position(), 'employee', case n when 1 then 1 when 2 then 2 when 30000 then 3 when 60004 then 4 else 5 end, 'u', 'k',
        case when n in (1, 2, 30000, 60004) then '{job_title}'::text[] else '{work_phone}' end
      from generate_series(1, 60004) as n`
    const page = async (from: string, size: number) => {
      const { body } = await get(jobs, `/Changes?entity=Employees,Companies&after=${from}&PageSize=${size}`)
      return { ...body, ids: body.changes.map(({ id }: Json) => id) }
    }
    expect(await page(after, 4)).toMatchObject({ ids: [1, 2, 3, 4], more: false })
    for (const size of [1, 2, 3]) {
      const { ids, more, next, changes } = await page(after, size)
      expect([ids, more, next]).toEqual([[1, 2, 3].slice(0, size), true, changes[size - 1].token])
      expect(await page(next, 4)).toMatchObject({ ids: [2, 3, 4].slice(size - 1), more: false })
    }
    await server.sql`delete from entity_change where key = 'k'`
  })

  test('shows, with rows=current, only the visible properties of each current row', async () => {
    const after = await now()
    const id = await employee({ FirstName: 'Ada', JobTitle: 'Analyst', WorkEmail: 'ada@example.com' })
    const [event] = await changes(jobs, `/Changes?after=${after}&rows=current`)
    expect(event.row).toEqual({ id, displayName: 'Ada', jobTitle: 'Analyst' })
    expect(event.row).toEqual((await get(jobs, `/Employees/${id}`)).body)
    expect((await changes(names, `/Changes?after=${after}&rows=current`))[0].row).toEqual({ id, lastName: null })
    const absence = (await server.post('/Absences', { Reason: 'Flu', Period: { Days: 1, Hours: 8 } })).body
    const [part] = await changes(parts, `/Changes?after=${after}&rows=current`)
    expect(part.row).toEqual({ id: absence.id, period: { days: 1 } })
  })
})

describe('a token of a key whose rights hide something', () => {
  test('is sealed, so that it shows no numbers of transactions and events, and works like a plain token', async () => {
    const after = await now()
    const id = await employee()
    await server.patch(`/Employees/${id}`, { WorkPhone: '1' })
    await server.patch(`/Employees/${id}`, { JobTitle: 'Analyst' })
    const [page, whole] = [
      await get(jobs, `/Changes?after=${after}&PageSize=1`),
      (await server.get(`/Changes?after=${after}`)).body,
    ]
    const history = (await get(jobs, `/Employees/${id}/Changes`)).body
    const stream = await fetch(`${server.url}/Companies`, { headers: { ...jobs.headers, Accept: 'application/x-ndjson' } })
    await stream.text()
    const ofStream = stream.headers.get('X-Changes-After') as string
    const {
      changes: [first],
      next,
    } = page.body
    const shown = [first.token, next, history.next, ...history.changes.map(({ token }: Json) => token), ofStream]
    expect(shown.filter((token) => readToken(token) !== null || token.length !== 91)).toEqual([])
    expect([first.token, history.changes[0].token]).toEqual([next, next])
    expect(readToken(whole.next)).not.toBeNull()
    expect((await changes(jobs, `/Changes?after=${next}`)).map(brief)).toEqual(['update Employees JobTitle'])
    expect((await changes(jobs, `/Employees/${id}/Changes?after=${next}`)).map(brief)).toEqual(['update Employees JobTitle'])
    expect(await changes(jobs, `/Changes?after=${ofStream}`)).toEqual([])
    expect(outcomeOf(await get(jobs, `/Changes?after=${next.slice(1)}`))).toBe('400 InvalidToken after')
    const foreign = new SealedTokens(() => 'of another database').seal(whole.next)
    // The key could write plain tokens itself, in order to try numbers.
    for (const token of [foreign, whole.next])
      for (const path of ['/Changes', `/Employees/${id}/Changes`])
        expect(outcomeOf(await get(jobs, `${path}?after=${token}`))).toBe('410 TokenExpired after')
  })
})

describe('changes of an entity whose right to read has filters', () => {
  test('are left out of the feed, and are 403 if the request names the entity', async () => {
    const after = await now()
    const { id } = (await server.post('/Absences', { Status: 'Approved' })).body
    await server.post('/Companies', { Name: 'Shown' })
    expect((await changes(jobs, `/Changes?after=${after}`)).map(brief)).toEqual(['create Companies'])
    for (const rows of ['', '&rows=current']) {
      const refused = await get(jobs, `/Changes?entity=Companies,Absences${rows}`)
      expect(outcomeOf(refused)).toBe('403 Forbidden Api')
      expect(refused.body.Error.Message).toContain('changes of Absences')
    }
    expect(outcomeOf(await get(approved, '/Changes'))).toBe('403 Forbidden Api')
    const histories = [id, 999_999].map((one) => get(approved, `/Absences/${one}/Changes`))
    const [one, other] = await Promise.all(histories)
    expect(outcomeOf(one as Json)).toBe('403 Forbidden Api')
    expect(other?.text).toBe(one?.text as string)
    expect((await get(approved, `/Absences/${id}`)).status).toBe(200)
  })

  test('give no token (X-Changes-After) to a stream of the entity’s list', async () => {
    const tokenOf = async (key: TestKey, path: string) => {
      const response = await fetch(server.url + path, { headers: { ...key.headers, Accept: 'application/x-ndjson' } })
      await response.text()
      return response.headers.get('X-Changes-After')
    }
    expect(await tokenOf(jobs, '/Absences')).toBeNull()
    expect(await tokenOf(jobs, '/Employees')).not.toBeNull()
    expect(await tokenOf(jobs, '/Companies')).not.toBeNull()
  })
})

describe('the history of a row with a right that has fields', () => {
  test('names only visible properties, and has no event for an update of hidden properties', async () => {
    const id = await employee({ JobTitle: 'Analyst' })
    for (const body of [{ WorkPhone: '1' }, { WorkPhone: '2', JobTitle: 'Engineer' }, { LastName: 'King' }])
      await server.patch(`/Employees/${id}`, body)
    const path = `/Employees/${id}/Changes`
    const all = ['create Employees', 'update Employees JobTitle', 'update Employees DisplayName']
    expect((await changes(jobs, path)).map(brief)).toEqual(all)
    const page = (await get(jobs, `${path}?PageSize=2`)).body
    expect([page.changes.map(brief), page.more, page.next]).toEqual([all.slice(0, 2), true, page.changes[1].token])
    expect((await changes(names, path)).map(brief)).toEqual(['create Employees', 'update Employees LastName'])
  })

  test('is the same whether hidden properties were changed or not', async () => {
    const [changed, still] = [await employee(), await employee()]
    await server.sql`delete from entity_change where id in (${changed}, ${still}) and entity = 'employee'`
    await server.patch(`/Employees/${changed}`, { WorkPhone: '1' })
    const bodies = [changed, still].map(async (id) => (await get(jobs, `/Employees/${id}/Changes`)).text)
    expect(await Promise.all(bodies)).toEqual(Array(2).fill('{"changes":[],"next":null,"more":false}'))
    await server.sql`delete from employee where id in (${changed}, ${still})`
    await server.sql`delete from entity_change where action = 'd' and entity = 'employee' and id in (${changed}, ${still})`
    for (const after of ['', '?after=now'])
      for (const id of [changed, still])
        expect(outcomeOf(await get(jobs, `/Employees/${id}/Changes${after}`))).toBe('404 NotFound Api')
  })

  test('has full pages after any number of hidden updates', async () => {
    const [id, other] = [await employee(), await employee()]
    await server.sql`delete from entity_change where id in (${id}, ${other}) and entity = 'employee'`
    // Visible updates are those numbered 1, 2, 30,000 and 60,004; every tenth update is of another row.
    await server.sql`
      insert into entity_change (position, entity, id, action, key, changed)
      select change_position(), 'employee', case when n % 10 = 9 then ${other}::bigint else ${id}::bigint end, 'u', 'k',
        case when n in (1, 2, 30000, 60004) then '{job_title}'::text[] else '{work_phone}' end
      from generate_series(1, 60004) as n`
    const path = `/Employees/${id}/Changes`
    const page = async (query: string) => {
      const { body } = await get(jobs, `${path}?${query}`)
      return { ...body, count: body.changes.length }
    }
    expect(await page('PageSize=4')).toMatchObject({ count: 4, more: false })
    for (const size of [1, 2, 3]) {
      const { count, more, next, changes } = await page(`PageSize=${size}`)
      expect([count, more, next]).toEqual([size, true, changes[size - 1].token])
      expect(await page(`after=${next}&PageSize=4`)).toMatchObject({ count: 4 - size, more: false })
    }
    // A token of the feed that belongs to no event of this row.
    const ofOther = (await get(jobs, `/Employees/${other}/Changes?after=now`)).body.next
    expect(await page(`after=${ofOther}`)).toMatchObject({ count: 0, more: false, next: ofOther })
    await server.sql`delete from entity_change where key = 'k'`
  })

  test('has values of visible properties only, with CHANGES_VALUES=on', async () => {
    const keeping = await startServer({ keys, environment: { CHANGES_VALUES: 'on', RATE_LIMIT_CLIENTS: '8' } })
    const { id } = (await keeping.post('/Employees', { FirstName: 'Ada', WorkPhone: '1', JobTitle: 'Analyst' })).body
    await keeping.patch(`/Employees/${id}`, { WorkPhone: '2' })
    await keeping.patch(`/Employees/${id}`, { WorkPhone: '3', JobTitle: 'Engineer' })
    await keeping.remove(`/Employees/${id}`)
    const valuesFor = async (key: TestKey) =>
      (await keeping.get(`/Employees/${id}/Changes`, key.headers)).body.changes.map(({ changed, before, after }: Json) => {
        return { changed, before, after }
      })
    expect(await valuesFor(jobs)).toEqual([
      {
        changed: ['DisplayName', 'JobTitle'],
        before: { DisplayName: null, JobTitle: null },
        after: { DisplayName: 'Ada', JobTitle: 'Analyst' },
      },
      { changed: ['JobTitle'], before: { JobTitle: 'Analyst' }, after: { JobTitle: 'Engineer' } },
      {
        changed: ['DisplayName', 'JobTitle'],
        before: { DisplayName: 'Ada', JobTitle: 'Engineer' },
        after: { DisplayName: null, JobTitle: null },
      },
    ])
    const nothing = { changed: [], before: {}, after: {} }
    expect(await valuesFor(names)).toEqual([nothing, nothing])
  })
})

describe('a wait for changes', () => {
  test('is not ended by an update of a hidden property', async () => {
    const id = await employee()
    const after = await now()
    const waitOf = async (key: TestKey) => {
      const answer = await server.get(`/Changes?after=${after}&wait=30&entity=Employees`, key.headers)
      return answer.body.changes.map(brief)
    }
    const [job, last] = [waitOf(jobs), waitOf(names)]
    await server.patch(`/Employees/${id}`, { WorkPhone: '1' })
    await untilSettled(server.sql)
    expect(await Promise.race([job, last, Bun.sleep(400)])).toBeUndefined()
    await server.patch(`/Employees/${id}`, { JobTitle: 'Engineer' })
    expect(await job).toEqual(['update Employees JobTitle'])
    expect(await Promise.race([last, Bun.sleep(400)])).toBeUndefined()
    await server.remove(`/Employees/${id}`)
    expect(await last).toEqual(['delete Employees'])
  })

  test('ends with 403 when the right gets filters, and continues with the new fields when the fields of the right change', async () => {
    const [narrowed, changed] = ['a', 'b'].map((name) => keyOf(name, 'read Employees?fields=Id,JobTitle')) as [TestKey, TestKey]
    await server.replaceKeys([...keys, narrowed.record, changed.record])
    const id = await employee()
    const after = await now()
    const waits = [narrowed, changed].map(({ headers }) =>
      server.get(`/Changes?after=${after}&wait=30&entity=Employees`, headers),
    )
    // Time in which both requests begin to wait.
    await Bun.sleep(200)
    await server.replaceKeys([
      ...keys,
      { ...narrowed.record, addresses: 'read Employees?Status=Current&fields=Id,JobTitle' },
      { ...changed.record, addresses: 'read Employees?fields=Id,WorkPhone' },
    ])
    expect(outcomeOf((await waits[0]) as Json)).toBe('403 Forbidden Api')
    await Bun.sleep(1_000)
    await server.patch(`/Employees/${id}`, { JobTitle: 'Engineer' })
    await server.patch(`/Employees/${id}`, { JobTitle: 'Analyst', WorkPhone: '1' })
    expect((await waits[1])?.body.changes.map(brief)).toEqual(['update Employees WorkPhone'])
    await server.replaceKeys(keys)
  })
})

describe('a stream of changes', () => {
  const leaving = new Set<AbortController>()
  afterEach(() => {
    for (const one of leaving) one.abort()
    leaving.clear()
  })

  /** Lines of a stream as they come. */
  async function follow(query: string, { headers }: TestKey) {
    const leave = new AbortController()
    leaving.add(leave)
    const lines: Json[] = []
    const accept = { Accept: 'application/x-ndjson', ...headers }
    const response = await fetch(`${server.url}/Changes${query}`, { headers: accept, signal: leave.signal })
    const read = async () => {
      let text = ''
      for await (const piece of (response.body as ReadableStream).pipeThrough(new TextDecoderStream())) {
        const whole = (text + piece).split('\n')
        text = whole.pop() as string
        lines.push(...whole.map((line) => JSON.parse(line)))
      }
    }
    return { lines, ended: read().catch(() => undefined) }
  }

  test('has no line for a hidden change, not even with a token', async () => {
    const id = await employee()
    await now()
    const { lines } = await follow('?after=now', jobs)
    await until(() => lines.length === 1)
    for (let index = 0; index < 3; index++) {
      await server.patch(`/Employees/${id}`, { WorkPhone: `${index}` })
      await server.post('/Absences', { Status: 'Approved' })
      await untilSettled(server.sql)
      await Bun.sleep(150)
    }
    await server.patch(`/Employees/${id}`, { WorkPhone: '4', JobTitle: 'Engineer' })
    await until(() => lines.length > 1)
    expect(lines.filter(({ token, next }) => readToken(token ?? next) !== null)).toEqual([])
    expect(lines.slice(1).map(brief)).toEqual(['update Employees JobTitle'])
  })

  test('follows changed rights: it shows the new fields, and ends when the key can read no entity of it without filters', async () => {
    const key = keyOf('followed', 'read Employees?fields=Id,JobTitle')
    const other = keyOf('left', 'read Employees?fields=Id,JobTitle')
    const withRights = (addresses: string) =>
      server.replaceKeys([...keys, ...[key, other].map(({ record }) => ({ ...record, addresses }))])
    await withRights('read Employees?fields=Id,JobTitle')
    const id = await employee()
    await now()
    const [one, two] = [await follow('?after=now&entity=Employees', key), await follow('?after=now', other)]
    await until(() => one.lines.length === 1 && two.lines.length === 1)
    await withRights('read Employees?fields=Id,WorkPhone\nread Companies')
    await Bun.sleep(1_200)
    await server.patch(`/Employees/${id}`, { JobTitle: 'Engineer', WorkPhone: '1' })
    await until(() => one.lines.length === 2 && two.lines.length === 2)
    expect([one, two].map(({ lines }) => brief(lines[1]))).toEqual(Array(2).fill('update Employees WorkPhone'))
    await withRights('read Employees?Status=Current\nread Companies')
    await one.ended
    expect(one.lines.at(-1).Error.Code).toBe('Forbidden')
    await Bun.sleep(1_200)
    await server.patch(`/Employees/${id}`, { WorkPhone: '2' })
    await server.post('/Companies', { Name: 'Shown' })
    await until(() => two.lines.length === 3)
    expect(brief(two.lines[2])).toBe('create Companies')
    await withRights('read Absences?Status=Approved')
    await two.ended
    expect(two.lines.at(-1).Error.Code).toBe('Forbidden')
    await server.replaceKeys(keys)
  })
})

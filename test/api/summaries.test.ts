import { describe, expect, test } from 'bun:test'
import { outcomeOf } from '../support/cases.ts'
import { createSampleDatabase } from '../support/postgres.ts'
import { makeKey } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'

// test/properties/summaries.test.ts compares groups and figures of random summaries with PostgreSQL.

const writer = makeKey({ name: 'writer', rights: 'Absences:write' })
const limited = makeKey({ name: 'limited', limits: '2/1m' })
const server = useServer(async () => ({
  databaseUrl: await createSampleDatabase(),
  keys: [writer.record, limited.record],
  environment: { RATE_LIMIT_CLIENTS: '4' },
}))
const get = (query: string, headers?: Record<string, string>) => server.get(`/Absences/Summary${query}`, headers)

/** Queries that are refused for their last parameter, and the message of each, by status and code. */
const REFUSALS: Record<string, Record<string, string>> = {
  '400 InvalidGroupBy': {
    '?groupBy=Tpye': 'Absences have no property "Tpye". Did you mean Type?',
    '?groupBy=': 'groupBy is names of properties with commas between; one of them is empty.',
    '?groupBy=Period': 'Period is an object: give one of Period.Prefered, Period.Days or Period.Hours.',
    '?groupBy=month(Type)': 'Type is a text of at most 100 characters: month() takes a date or a date-time: Start or End.',
    '?groupBy=hour(Start)': 'There is no "hour" of a date: year, quarter, month, week or day.',
    '?groupBy=Start,month(Start)': 'Start and month(Start) group by one property: give one of the two.',
    '?groupBy=Id,Type,Status,Reason': 'Rows are grouped by up to 3 properties.',
    '?groupBy=EmployeeName': 'Absences have no property "EmployeeName". Did you mean Employee?',
    '?groupBy=month(Date)': 'Absences have no property "Date". Did you mean Start?',
    '?groupBy=Colour':
      'Absences have no property "Colour". There are Id, Status, EmployeeId, Employee, Type, Reason, Start, End, Period.Prefered, Period.Days and Period.Hours.',
  },
  '400 InvalidAggregate': {
    '?sum=Period.Day': 'Absences have no property "Period.Day". Did you mean Period.Days?',
    '?sum=Id': 'Id is the id of the row: sum takes Period.Days or Period.Hours.',
    '?sum=Period': 'Period is an object: give one of Period.Days or Period.Hours.',
    '?sum=Days': 'Absences have no property "Days". Did you mean Period.Days?',
    '?sum=Total': 'Absences have no property "Total". There are Period.Days and Period.Hours.',
    '?average=Start': 'Start is a date-time like 2024-01-31T09:00:00Z: average takes Period.Days or Period.Hours.',
    '?average=employeeid': 'EmployeeId is the id of another row (Employee): average takes Period.Days or Period.Hours.',
    '?minimum=Date': 'Absences have no property "Date". Did you mean Start?',
  },
  '400 InvalidSort': {
    '?sort=Type': 'These groups can be sorted by count, not by "Type". To sort by Type, group by it.',
    '?groupBy=Type&sum=Period.Days&sort=-sum(Period.Hours)':
      'These groups can be sorted by Type, count or sum(Period.Days), not by "sum(Period.Hours)". To sort by sum(Period.Hours), ask for sum=Period.Hours.',
    '?groupBy=Type&sum=Period.Days&sort=-Days':
      'These groups can be sorted by Type, count or sum(Period.Days), not by "Days". Did you mean sum(Period.Days)?',
    '?groupBy=Type&sort=count:desc': 'These groups can be sorted by Type or count, not by "count:desc". Descending is -count.',
  },
  '400 InvalidPageSize': {
    '?PageSize=all': 'PageSize must be an integer; 5 to 1000 make a difference.',
  },
  '400 InvalidPage': {
    '?page=0': 'page must be an integer of 1 or more.',
  },
  '400 UnknownParameter': {
    '?cursor=x': 'A summary has no parameter "cursor". Its groups have pages by number, and the properties of groupBy.',
    '?avg=Period.Days': 'A summary has no parameter "avg". Did you mean average?',
    '?group_by=Type': 'Absences has no parameter "group_by". Did you mean groupBy?',
    '?order_by=count':
      'Absences has no parameter "order_by". The order is sort=count, descending sort=-count; or sort=-sum(<property>), or something from groupBy.',
    '?aggregate[sum]=days':
      'Absences has no parameter "aggregate[sum]". Aggregates are sum=<property>, average=<property>, minimum=<property>, maximum=<property>.',
    '?Days=2': 'Absences has no parameter "Days". Did you mean Period.Days?',
    '?Statsu=x': 'Absences has no parameter "Statsu". Did you mean Status?',
  },
  '400 InvalidForm': {
    '?bom=1': 'bom belongs to Accept: text/csv, which a page is not: send that, or leave bom out.',
  },
}

describe('a summary (D76)', () => {
  describe.each(Object.entries(REFUSALS))('is %s', (outcome, messages) => {
    test.each(Object.entries(messages))('for %s', async (query, message) => {
      const answer = await get(query)
      const [, target] = /([^?&]+)=[^&]*$/.exec(query) as unknown as [string, string]
      expect([outcomeOf(answer), answer.body.Error.Message]).toEqual([`${outcome} ${target}`, message])
    })
  })

  test('has no sums for an entity whose only numbers are ids, as its message and the document say', async () => {
    const { status, body } = await server.get('/Companies/Summary?sum=Id')
    expect(status).toBe(400)
    expect(body.Error.Message).toBe('Id is the id of the row: sum takes numbers other than ids, of which Companies have none.')
    const { paths } = (await server.get('/openapi.json')).body
    const { parameters } = paths['/Companies/Summary'].get
    const names = parameters.map(({ name }: { name?: string }) => name)
    expect(['sum', 'average', 'minimum', 'maximum'].filter((name) => names.includes(name))).toEqual(['minimum', 'maximum'])
  })

  test('has periods in UTC, and counts a row as a whole in the period of its start', async () => {
    const reason = crypto.randomUUID()
    for (const [Start, End, Days] of [
      ['2026-01-30T09:00:00Z', '2026-02-03T17:00:00Z', 3],
      ['2026-01-31T23:30:00Z', '2026-02-01T23:00:00Z', 1],
      ['2026-02-01T00:00:00Z', '2026-02-01T17:00:00Z', 0.5],
    ])
      await server.post('/Absences', { Start, End, Reason: reason, Period: { Days } })
    expect((await get(`?groupBy=month(Start)&sum=Period.Days&Reason=${reason}`)).body).toEqual([
      { start: '2026-01-01T00:00:00Z', count: 2, sum: { period: { days: 4 } } },
      { start: '2026-02-01T00:00:00Z', count: 1, sum: { period: { days: 0.5 } } },
    ])
    await server.sql`delete from absence where reason = ${reason}`
  })

  test('D92: by a copied name separates namesakes, and shows their ids', async () => {
    const reason = crypto.randomUUID()
    const ids: number[] = []
    for (const Days of [1, 2]) {
      const { id } = (await server.post('/Employees', { FirstName: 'Name', LastName: 'Sake' })).body
      await server.post('/Absences', { EmployeeId: id, Reason: reason, Period: { Days } })
      ids.push(id)
    }
    const grouped = async (keys: string) => (await get(`?groupBy=${keys}&sum=Period.Days&Reason=${reason}`)).body
    const groups = [
      { employee: 'Name Sake', employeeId: ids[0], count: 1, sum: { period: { days: 1 } } },
      { employee: 'Name Sake', employeeId: ids[1], count: 1, sum: { period: { days: 2 } } },
    ]
    expect(await grouped('Employee')).toEqual(groups)
    expect(await grouped('EmployeeId,Employee')).toEqual(groups)
    await server.sql`delete from absence where reason = ${reason}`
    await server.sql`delete from employee where id = any (${ids})`
  })

  test('accepts names in upper or lower case and repeated parameters, and has a repeated aggregate once', async () => {
    const one = await get('?groupBy=Type,Month(start)&sum=period.days,Period.Days&sort=-SUM(PERIOD.days)')
    const other = await get('?GROUPBY=type&groupBy=month(Start)&Sum=Period.Days&sort=-sum(Period.Days)')
    expect(one.text).toBe(other.text)
    expect(one.body[0]).toEqual({ type: 'Holiday', start: '2026-10-01T00:00:00Z', count: 2, sum: { period: { days: 7 } } })
  })

  test('has pages with links, an exact total and an ETag, which is 304 until a row changes', async () => {
    const first = await get('?groupBy=Type,month(Start)&PageSize=5')
    const last = await get('?groupBy=Type,month(Start)&PageSize=5&page=6')
    expect([first, last].map(({ body, headers }) => [body.length, headers.get('x-total-count')])).toEqual([
      [5, '28'],
      [3, '28'],
    ])
    expect(last.headers.get('link')).toMatch(/page=1>; rel="first", .*page=5>; rel="prev"$/)
    const again = { 'if-none-match': first.headers.get('etag') as string }
    expect((await get('?groupBy=Type,month(Start)&PageSize=5', again)).status).toBe(304)
    await server.sql`update absence set type = 'Other' where id = 1`
    expect((await get('?groupBy=Type,month(Start)&PageSize=5', again)).status).toBe(200)
    expect((await get('?groupBy=Type,month(Start)&page=7')).body).toEqual([])
    await server.sql`update absence set type = 'Holiday' where id = 1`
  })

  test('has no groups if no row matches, but one group without groupBy', async () => {
    expect((await get('?Id=0&groupBy=Type')).body).toEqual([])
    const { text } = await get('?Id=0&sum=Period.Days&average=Period.Days&minimum=Start,Type')
    const none = '"sum":{"period":{"days":null}},"average":{"period":{"days":null}},"minimum":{"start":null,"type":null}'
    expect(text).toBe(`[{"count":0,${none}}]`)
  })

  test('has the total number of its groups, also from the database: none, one and several', async () => {
    const plain = await startServer({ databaseUrl: server.databaseUrl, environment: { MEMORY_MB: '0' } })
    const queries = ['?Id=0&groupBy=Type', '?Id=1&groupBy=Id', '?Id[]=1&Id[]=2&groupBy=Id']
    for (const { get } of [server, plain]) {
      const totals = queries.map(async (query) => (await get(`/Absences/Summary${query}`)).headers.get('x-total-count'))
      expect(await Promise.all(totals)).toEqual(['0', '1', '2'])
    }
  })

  test('has exact sums where floats would not be exact, and averages rounded half away from zero', async () => {
    await server.sql`insert into absence (type, period_days) values ('tenth', 0.1), ('tenth', 0.2), ('half', 0.00000001), ('half', 0)`
    const { text } = await get('?groupBy=Type&Type[]=tenth&Type[]=half&sum=Period.Days&average=Period.Days')
    await server.sql`delete from absence where type in ('tenth', 'half')`
    expect(text).toContain(
      '"type":"half","count":2,"sum":{"period":{"days":0.00000001}},"average":{"period":{"days":0.00000001}}',
    )
    expect(text).toContain(
      '"type":"tenth","count":2,"sum":{"period":{"days":0.30000000}},"average":{"period":{"days":0.15000000}}',
    )
  })

  test('is a CSV or NDJSON of all groups, without pages', async () => {
    const csv = await get('?groupBy=Type&sum=Period.Days&locale=de', { accept: 'text/csv' })
    expect(csv.text.split('\r\n')[0]).toBe('type;count;sum.period.days')
    expect(csv.text).toMatch(/Holiday;18;\d+,0{8}/)
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="AbsencesSummary.csv"')
    const lines = await get('?groupBy=Id', { accept: 'application/x-ndjson' })
    expect(lines.text.trimEnd().split('\n').length).toBe(36)
    expect(outcomeOf(await get('?page=2', { accept: 'text/csv' }))).toBe('400 InvalidPage page')
    expect((await server.send('HEAD', '/Absences/Summary', undefined, { accept: 'text/csv' })).text).toBe('')
  })

  test('needs the right to read (403), and is charged like a list', async () => {
    expect(outcomeOf(await get('', writer.headers))).toBe('403 Forbidden Api')
    expect(outcomeOf(await server.get('/Companies/Summary', writer.headers))).toBe('403 Forbidden Api')
    const left = async () => Number((await get('?groupBy=Type', limited.headers)).headers.get('x-ratelimit-remaining'))
    expect([await left(), await left()]).toEqual([1, 0])
    expect(outcomeOf(await get('', limited.headers))).toBe('429 RateLimitExceeded Api')
  })

  test('is 405 for other methods, and 404 at a path below it', async () => {
    expect(outcomeOf(await server.patch('/Absences/Summary', {}))).toBe('405 MethodNotAllowed Api')
    expect(outcomeOf(await server.get('/Absences/Summary/Changes'))).toBe('404 NotFound Api')
    expect((await server.get('/absences/SUMMARY/')).status).toBe(200)
  })
})

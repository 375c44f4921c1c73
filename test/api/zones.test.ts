import { describe, expect, test } from 'bun:test'
import { readSamples } from '../../src/metrics/counts.ts'
import { outcomeOf } from '../support/cases.ts'
import { until } from '../support/process.ts'
import { useServer } from '../support/start.ts'

/** Two servers: groups from memory, and from the database. */
const kept = useServer()
const read = useServer(() => ({ databaseUrl: kept.databaseUrl, environment: { MEMORY_MB: '0' } }))

const inMemory = () => readSamples().summaries?.find(({ labels }) => labels.from === 'memory')?.values[0] ?? 0

/** Groups the absences of a reason from memory and from the database, which must be the same. */
async function grouped(reason: string, groupBy: string, zone: string) {
  const path = `/Absences/Summary?Reason=${reason}&groupBy=${groupBy}&zone=${encodeURIComponent(zone)}`
  await until(async () => {
    const before = inMemory()
    await kept.get(`${path}&Id=!=-${1 + Math.floor(Math.random() * 1e9)}`)
    return inMemory() > before
  })
  const [own, other] = [await kept.get(path), await read.get(path)]
  expect(own.text).toBe(other.text)
  return own.body as { start: string; count: number }[]
}

async function absencesFrom(starts: readonly string[]): Promise<string> {
  const reason = crypto.randomUUID()
  for (const Start of starts) await kept.post('/Absences', { Start, Reason: reason })
  return reason
}

/** By zone and period, pairs of instants: the last second of one period, and the first of the next one; and where each begins. */
const BORDERS: readonly (readonly [zone: string, period: string, border: string, before: string])[] = [
  ['Europe/Amsterdam', 'month', '2025-12-31T23:00:00Z', '2025-11-30T23:00:00Z'],
  ['Europe/Amsterdam', 'month', '2026-03-31T22:00:00Z', '2026-02-28T23:00:00Z'],
  ['Europe/Amsterdam', 'day', '2026-03-29T22:00:00Z', '2026-03-28T23:00:00Z'],
  ['Europe/Amsterdam', 'day', '2026-10-25T23:00:00Z', '2026-10-24T22:00:00Z'],
  ['Europe/Amsterdam', 'week', '2026-10-25T23:00:00Z', '2026-10-18T22:00:00Z'],
  ['Europe/Amsterdam', 'quarter', '2026-09-30T22:00:00Z', '2026-06-30T22:00:00Z'],
  ['Europe/Amsterdam', 'year', '2026-12-31T23:00:00Z', '2025-12-31T23:00:00Z'],
  ['Europe/Amsterdam', 'year', '9998-12-31T23:00:00Z', '9997-12-31T23:00:00Z'],
  ['America/New_York', 'month', '2026-11-01T04:00:00Z', '2026-10-01T04:00:00Z'],
  ['America/New_York', 'day', '2700-07-02T04:00:00Z', '2700-07-01T04:00:00Z'],
  ['Asia/Kolkata', 'month', '2026-01-31T18:30:00Z', '2025-12-31T18:30:00Z'],
  ['Asia/Kathmandu', 'day', '2026-01-31T18:15:00Z', '2026-01-30T18:15:00Z'],
  ['Asia/Kathmandu', 'year', '1985-12-31T18:30:00Z', '1984-12-31T18:30:00Z'],
  ['Australia/Lord_Howe', 'day', '2026-04-05T13:30:00Z', '2026-04-04T13:00:00Z'],
  ['Australia/Lord_Howe', 'month', '2026-09-30T13:30:00Z', '2026-08-31T13:30:00Z'],
  ['America/Sao_Paulo', 'day', '2018-11-04T03:00:00Z', '2018-11-03T03:00:00Z'],
  ['America/Havana', 'day', '2026-11-01T04:00:00Z', '2026-10-31T04:00:00Z'],
  ['America/St_Johns', 'day', '2006-10-29T02:30:00Z', '2006-10-28T02:30:00Z'],
  ['Pacific/Apia', 'day', '2011-12-30T10:00:00Z', '2011-12-29T10:00:00Z'],
  ['Pacific/Kiritimati', 'year', '2025-12-31T10:00:00Z', '2024-12-31T10:00:00Z'],
  ['Etc/GMT+12', 'year', '2026-01-01T12:00:00Z', '2025-01-01T12:00:00Z'],
  ['Europe/Amsterdam', 'month', '1916-04-30T23:00:00Z', '1916-03-31T23:00:00Z'],
]

describe('periods in a zone (D119)', () => {
  test.each(BORDERS)('in %s a %s begins at %s, and the period before it at %s', async (zone, period, border, before) => {
    const last = `${new Date(Date.parse(border) - 1_000).toISOString().slice(0, 19)}Z`
    const reason = await absencesFrom([last, border])
    expect(await grouped(reason, `${period}(Start)`, zone)).toEqual([
      { start: before, count: 1 },
      { start: border, count: 1 },
    ])
    // The beginnings of two periods are the bounds of a list of the rows of one group.
    const listed = await kept.get(`/Absences?Reason=${reason}&Start=>=${before}&Start=<${border}`)
    expect(listed.body.map(({ start }: { start: string }) => start)).toEqual([last])
  })

  test('are the same without a zone and in zones that always equal UTC', async () => {
    const reason = await absencesFrom(['2026-01-31T23:59:59Z', '2026-02-01T00:00:00Z'])
    const plain = (await kept.get(`/Absences/Summary?Reason=${reason}&groupBy=month(Start)`)).body
    expect(plain).toHaveLength(2)
    for (const zone of ['UTC', 'Etc/UTC', 'gmt']) expect(await grouped(reason, 'month(Start)', zone)).toEqual(plain)
  })

  test('can be of two properties together, and of properties of referenced rows', async () => {
    const reason = crypto.randomUUID()
    const { id } = (await kept.post('/Employees', { Started: '2025-12-31T23:30:00Z' })).body
    const [Start, End] = ['2026-01-31T22:59:59Z', '2026-01-31T23:00:00Z']
    await kept.post('/Absences', { EmployeeId: id, Reason: reason, Start, End })
    expect(await grouped(reason, 'month(Start),month(End),year(EmployeeId.Started)', 'Europe/Amsterdam')).toEqual([
      {
        ...{ start: '2025-12-31T23:00:00Z', end: '2026-01-31T23:00:00Z', 'employeeId.started': '2025-12-31T23:00:00Z', count: 1 },
      },
    ] as never)
  })

  test('are the same in pages, CSV and NDJSON, with links that keep the zone', async () => {
    const reason = await absencesFrom(Array.from({ length: 6 }, (_, month) => `2026-0${month + 1}-01T00:00:00Z`))
    const path = `/Absences/Summary?Reason=${reason}&groupBy=month(Start)&zone=Europe/Amsterdam`
    const page = await kept.get(`${path}&PageSize=5`)
    expect(page.headers.get('link')).toContain('&zone=Europe/Amsterdam&PageSize=5&page=2>; rel="next"')
    for (const { get } of [kept, read]) {
      const csv = (await get(path, { accept: 'text/csv' })).text.split('\r\n').slice(1, 3)
      expect(csv).toEqual(['2025-12-31T23:00:00Z,1', '2026-01-31T23:00:00Z,1'])
      const lines = (await get(path, { accept: 'application/x-ndjson' })).text.split('\n').slice(0, 5)
      expect(`[${lines.join(',')}]`).toBe(page.text)
    }
  })

  test('are cached separately for each zone', async () => {
    const reason = await absencesFrom(['2026-01-31T23:30:00Z'])
    const path = `/Absences/Summary?Reason=${reason}&groupBy=day(Start)`
    const zones = ['UTC', 'Europe/Amsterdam', 'America/New_York', 'Asia/Kolkata']
    const starts = async () => {
      const answers = zones.map(async (zone) => (await kept.get(`${path}&zone=${zone}`)).body[0].start)
      return (await Promise.all(answers)).map((start) => start.slice(8, 13))
    }
    expect([await starts(), await starts()]).toEqual(Array(2).fill(['31T00', '31T23', '31T05', '31T18']))
  })
})

const FORM = 'zone is the IANA name of a time zone, such as Europe/Amsterdam'
const UNUSED = 'zone is that of periods of date-times, which these groups have none of'
const REFUSALS: Readonly<Record<string, string>> = {
  'groupBy=month(Start)&zone=Amsterdam': `${FORM}, not "Amsterdam". Did you mean Europe/Amsterdam?`,
  'groupBy=month(Start)&zone=Europe/Amsterdan': `${FORM}, not "Europe/Amsterdan". Did you mean Europe/Amsterdam?`,
  'groupBy=month(Start)&zone=new+york': `${FORM}, not "new york". Did you mean America/New_York?`,
  'groupBy=month(Start)&zone=%2B01:00': `${FORM}, not "+01:00"; an offset does not say when clocks change.`,
  'groupBy=month(Start)&zone=W.+Europe+Standard+Time': `${FORM}, not "W. Europe Standard Time".`,
  'groupBy=month(Start)&zone=': `${FORM}.`,
  'groupBy=month(Start)&zone=UTC&zone=UTC': 'zone is given twice.',
  'groupBy=Type&zone=Europe/Amsterdam': `${UNUSED}: group by month(Start) or month(End), or leave zone out.`,
  'groupBy=Start&zone=UTC': `${UNUSED}: group by month(Start) or month(End), or leave zone out.`,
  'sum=Period.Days&zone=UTC': `${UNUSED}: group by month(Start) or month(End), or leave zone out.`,
}

describe('zone is 400 InvalidZone', () => {
  test.each(Object.entries(REFUSALS))('for %s', async (query, message) => {
    const answer = await kept.get(`/Absences/Summary?${query}`)
    expect([outcomeOf(answer), answer.body.Error.Message]).toEqual(['400 InvalidZone zone', message])
  })

  test('but is UnknownParameter in a list, as is timezone in a summary', async () => {
    expect(outcomeOf(await kept.get('/Absences?zone=UTC'))).toBe('400 UnknownParameter zone')
    const answer = await kept.get('/Absences/Summary?groupBy=month(Start)&timezone=UTC')
    expect(answer.body.Error.Message).toBe('A summary has no parameter "timezone". Did you mean zone?')
  })
})

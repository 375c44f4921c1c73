import { beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PERIODS } from '../../src/model/summary.ts'
import { useDatabase } from '../support/database.ts'
import { untilInMemory } from '../support/inMemory.ts'
import { temporaryFolder } from '../support/process.ts'
import { useServer } from '../support/start.ts'

// Dates that clients cannot write: with psql, PostgreSQL takes dates of the years 4714 BC to 5874897, and times up to 294276.
const DAYS = {
  near: ['2024-01-31', '2024-02-29', '9999-12-31', '0001-01-01'],
  far: ['10000-01-01', '275760-09-13', '294276-12-31', '294277-01-01', '294277-05-30', '300001-03-01', '5874897-12-31'],
  // The least date, a Monday; the ends of its month, quarter and year; and years around the first one.
  before: ['4714-11-24 BC', '4714-11-30 BC', '4714-12-01 BC', '4714-12-31 BC', '4713-01-01 BC', '0044-03-15 BC', '0001-12-31 BC'],
  endless: ['infinity', '-infinity'],
}
const TIMES = {
  near: ['2024-01-31 09:00:00+00', '9999-12-31 23:59:59+00'],
  far: ['10000-01-01 00:00:00+00', '275760-09-13 00:00:01+00', '294276-12-31 23:59:59+00'],
  before: ['4714-11-24 00:00:00+00 BC', '4714-12-31 23:59:59+00 BC', '4713-01-01 00:00:00+00 BC', '0044-03-15 12:00:00+00 BC'],
  endless: ['infinity', '-infinity'],
}

const folder = temporaryFolder()
const model = join(import.meta.dir, '../../src/model/entity.ts')
writeFileSync(
  join(folder.path, 'stay.ts'),
  `import { date, defineEntity, identity, instant } from '${model}'
export default defineEntity('Stay', { id: identity(), day: date(), at: instant() })`,
)

const { url: databaseUrl, sql } = useDatabase()
beforeAll(async () => {
  await sql.unsafe('create table stay (id bigint generated always as identity primary key, day date, at timestamptz(0))')
  await sql`select record_changes_of('stay')`
})
const options = { databaseUrl, entitiesDir: folder.path, hasForeignRows: true }
const database = useServer({ ...options, environment: { MEMORY_MB: '0' } })
const memory = useServer(options)

/** Fills the table, and waits until it is in memory. */
async function fill(days: readonly string[], times: readonly string[]) {
  await database.sql`truncate stay`
  for (const day of days) await database.sql.unsafe(`insert into stay (day) values ('${day}')`)
  for (const time of times) await database.sql.unsafe(`insert into stay (at) values ('${time}')`)
  await untilInMemory(memory, 'stay', '/Stays?sort=-Id')
}

const readings = [undefined, 'text/csv', 'application/x-ndjson'].map((accept) => (accept ? { accept } : {}))

/** What the two engines answer differently, or refuse. */
async function faults(paths: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const path of paths)
    for (const headers of readings) {
      // A stream has every row, and no pages.
      const own = 'accept' in headers ? path.replace('&PageSize=50', '') : path
      const [one, other] = [await memory.get(own, headers), await database.get(own, headers)]
      if (one.status !== 200 || one.text !== other.text)
        found.push(`${own}: ${one.status} ${one.text} ${other.status} ${other.text}`)
    }
  return found
}

const summaries = ['Day', 'At'].flatMap((name) => [
  ...PERIODS.map((period) => `/Stays/Summary?groupBy=${period}(${name})&PageSize=50`),
  `/Stays/Summary?groupBy=${name}&minimum=Day,At&maximum=Day,At&PageSize=50`,
])
const lists = ['Day', '-Day', 'At', '-At', 'Day,-At'].map((sort) => `/Stays?sort=${sort}&PageSize=50`)
const filters = ['Day=>9999-12-31', 'Day=<0001-01-01', 'At=>9999-12-31T23:59:59Z', 'At=<=0001-01-01T00:00:00Z', 'Day=', 'Day=!=']

const CASES = [
  ['only dates that clients can write', DAYS.near, TIMES.near],
  ['only far dates, few years apart', ['294277-01-01', '294277-05-30', '300001-03-01'], ['294276-12-31 23:59:59+00']],
  ['the last date', ['5874897-01-01', '5874897-12-31'], []],
  ['only the first dates', DAYS.before.slice(0, 5), TIMES.before.slice(0, 3)],
  ['all dates', Object.values(DAYS).flat(), Object.values(TIMES).flat()],
] as const

describe.each(CASES)('memory and PostgreSQL give the same answers for a table with %s', (_, days, times) => {
  beforeAll(() => fill(days, times))

  test('to summaries by period and by value', async () => {
    expect(await faults(summaries)).toEqual([])
  })

  test('to lists by filters and sorts', async () => {
    expect(await faults([...lists, ...filters.map((filter) => `/Stays?${filter}&PageSize=50`)])).toEqual([])
  })

  test('to lists after a cursor', async () => {
    for (const server of [memory, database])
      for (const sort of ['Day', '-Day', 'At', '-At']) {
        const ids: number[] = []
        for (let path: string | undefined = `/Stays?sort=${sort}&PageSize=5`; path; ) {
          const answer = await server.get(path)
          expect(answer.status).toBe(200)
          ids.push(...answer.body.map(({ id }: { id: number }) => id))
          path = /<([^>]+)>; rel="next"/.exec(answer.headers.get('location') ?? '')?.[1]?.replace(server.url, '')
        }
        const whole = (await database.get(`/Stays?sort=${sort}&PageSize=50`)).body
        expect(ids).toEqual(whole.map(({ id }: { id: number }) => id))
      }
  })
})

describe('dates that no client can write are shown correctly', () => {
  beforeAll(() => fill(Object.values(DAYS).flat(), Object.values(TIMES).flat()))

  const shown = async (path: string, name: 'day' | 'at') =>
    Promise.all(
      [memory, database].map(async (server) => (await server.get(path)).body.map((row: Record<string, unknown>) => row[name])),
    )

  test('in lists', async () => {
    const days = ['-infinity', ...DAYS.before, ...DAYS.near, ...DAYS.far, 'infinity']
    for (const found of await shown('/Stays?sort=Day&PageSize=50&Day=!=', 'day'))
      expect(found.toSorted()).toEqual(days.toSorted())
    const times = ['-infinity', '4714-11-24T00:00:00Z BC', '4714-12-31T23:59:59Z BC', '4713-01-01T00:00:00Z BC']
    times.push('0044-03-15T12:00:00Z BC', '2024-01-31T09:00:00Z', '9999-12-31T23:59:59Z', '10000-01-01T00:00:00Z')
    times.push('275760-09-13T00:00:01Z', '294276-12-31T23:59:59Z', 'infinity')
    for (const found of await shown('/Stays?sort=At&PageSize=50&At=!=', 'at')) expect(found).toEqual(times)
  })

  test('in a summary by quarter, whose first quarter begins with the first possible date', async () => {
    const days = ['-infinity', '4714-11-24 BC', '4713-01-01 BC', '0044-01-01 BC', '0001-10-01 BC', '0001-01-01', '2024-01-01']
    days.push('9999-10-01', '10000-01-01', '275760-07-01', '294276-10-01', '294277-01-01', '294277-04-01', '300001-01-01')
    days.push('5874897-10-01', 'infinity')
    for (const found of await shown('/Stays/Summary?groupBy=quarter(Day)&Day=!=&PageSize=50', 'day')) expect(found).toEqual(days)
  })

  test('in a CSV for German spreadsheets', async () => {
    const accept = { accept: 'text/csv' }
    for (const server of [memory, database]) {
      const { text } = await server.get('/Stays?fields=At&sort=-At&At=!=&bom=1&excel=1&locale=de', accept)
      expect(text.split(/\r?\n/).slice(1, 4)).toEqual(['infinity', '294276-12-31 23:59:59', '275760-09-13 00:00:01'])
    }
  })
})

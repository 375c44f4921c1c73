import { beforeAll, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import { readSamples } from '../../src/metrics/counts.ts'
import { AGGREGATES } from '../../src/model/names.ts'
import { takesAggregate } from '../../src/parse/summary.ts'
import { until } from '../support/process.ts'
import { useServer } from '../support/start.ts'

const ROWS = 60_000
const SUMMARIES = 25
/** Many aggregates, so that a summary takes long. */
const AGGREGATED = AGGREGATES.map((aggregate) => {
  const names = absence.properties.filter((property) => takesAggregate(property, aggregate)).map(({ name }) => name)
  return `${aggregate}=${names.slice(0, 8).join(',')}`
}).join('&')

const server = useServer()
beforeAll(async () => {
  await server.sql`insert into absence (type, period_days) select 'a' || n % 7, 1000 from generate_series(1, ${ROWS}::int) as n`
})

const inMemory = () => readSamples().summaries?.find(({ labels }) => labels.from === 'memory')?.values[0] ?? 0

test('D70, D76: a summary from memory shows one snapshot, while rows change and lists bring its copy up to date', async () => {
  let asked = 0
  // Another filter each time, so that no answer is kept.
  const summarize = () => server.get(`/Absences/Summary?Id=>-${++asked}&${AGGREGATED}`)
  await until(async () => {
    const before = inMemory()
    await summarize()
    return inMemory() > before
  })
  const before = inMemory()
  let isOver = false
  // Moves days between rows that lie far apart, so that their sum stays the same.
  const move = async () => {
    for (let from = 1; !isOver; from = 1 + (from % 100))
      await server.sql`update absence set period_days = period_days + case when id = ${from} then -1 else 1 end
          where id in (${from}, ${ROWS - from})`
  }
  // Each list brings the copy up to date, also while groups are formed.
  const list = async () => {
    while (!isOver) await server.get('/Absences?PageSize=5')
  }
  const beside = Promise.all([move(), list(), list()])
  const sums = new Set<number>()
  for (let n = 0; n < SUMMARIES; n++) sums.add((await summarize()).body[0].sum.period.days)
  isOver = true
  await beside
  expect([...sums]).toEqual([1_000 * ROWS])
  expect(inMemory() - before).toBeGreaterThan(SUMMARIES / 2)
})

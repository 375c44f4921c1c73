import { beforeAll, describe, expect, test } from 'bun:test'
import { createSampleDatabase } from '../support/postgres.ts'
import { KEY, makeKey } from '../support/server.ts'
import { untilSettled } from '../support/settled.ts'
import { startServer, useServer } from '../support/start.ts'
import { createRoster } from './roster.ts'

const ROWS = 4_321
const brisk = makeKey({ limits: '2/1s' })

const approved = makeKey({ rights: '', addresses: 'read Absences?Status=Approved\nread Companies?fields=Id,Name' })

const server = useServer(async () => ({
  databaseUrl: await createSampleDatabase(),
  environment: { RATE_LIMIT_CLIENTS: '4' },
  keys: [brisk.record, approved.record],
}))
let roster: ReturnType<typeof createRoster>
beforeAll(async () => {
  await server.sql`insert into absence (reason) select 'row ' || n from generate_series(1, ${ROWS}::int) as n`
  roster = createRoster({ url: server.url, key: KEY })
})

/** A copy that is kept by `sync`, as in a program. */
class Copy {
  readonly rows = new Map<number, unknown>()
  state: string | null = null
  resets = 0

  /** Applies steps, at most `stepsMax` of them. */
  async sync(stepsMax = Number.POSITIVE_INFINITY, absences = roster.absences): Promise<number> {
    await untilSettled(server.sql)
    let steps = 0
    for await (const { isReset, rows, deleted, state } of absences.sync({ state: this.state })) {
      if (isReset) {
        this.rows.clear()
        this.resets++
      }
      for (const row of rows) this.rows.set(row.id, row)
      for (const id of deleted) this.rows.delete(id)
      this.state = state
      if (++steps === stepsMax) break
    }
    return steps
  }

  get inOrder(): unknown[] {
    return [...this.rows].sort(([one], [other]) => one - other).map(([, row]) => row)
  }
}

test('sync fails with an explanation if the server keeps no changes', async () => {
  const other = await startServer({ environment: { CHANGES_DAYS: '0' } })
  const steps = createRoster({ url: other.url, key: KEY }).absences.sync()
  await expect(Array.fromAsync(steps)).rejects.toThrow('its setting CHANGES_DAYS is 0')
})

test('sync refuses a right to read that has filters, with an explanation, but not a right that only has fields', async () => {
  const other = createRoster({ url: server.url, key: approved.text })
  await expect(Array.fromAsync(other.absences.sync())).rejects.toThrow('may not read changes of Absences')
  const steps = await Array.fromAsync(other.companies.sync())
  expect(steps.flatMap(({ rows }) => rows)).toEqual(await Array.fromAsync(other.companies.stream()))
})

const all = () => Array.fromAsync(roster.absences.stream())

async function change(round: number): Promise<void> {
  const created = await roster.absences.create({ reason: `new ${round}` })
  await roster.absences.update(created.id - 40 * (round + 1), { reason: `changed ${round}` })
  await roster.absences.delete(created.id - 60 * (round + 1))
  await server.sql`update absence set type = ${`bulk ${round}`} where id % 500 = ${round}`
}

describe('D73: a copy kept by sync', () => {
  test('a copy by sync equals the rows, even if it is interrupted after every second step and rows are written in between', async () => {
    const copy = new Copy()
    for (let round = 0; (await copy.sync(2)) === 2; round++) await change(round)
    expect(copy.inOrder).toEqual(await all())
    expect(copy.resets).toBe(1)
    const { state } = copy
    await copy.sync()
    expect(copy.inOrder).toEqual(await all())
    await roster.companies.update(1, { name: 'Renamed' })
    await change(7)
    await copy.sync()
    expect([copy.inOrder, copy.state === state]).toEqual([await all(), false])
  })

  test('a copy by sync continues after the last row if the rate limit ends the stream', async () => {
    const copy = new Copy()
    await copy.sync(undefined, createRoster({ url: server.url, key: brisk.text }).absences)
    expect([copy.inOrder, copy.resets]).toEqual([await all(), 1])
  })

  test('a copy by sync starts again from all rows if the server no longer has changes that it needs', async () => {
    const copy = new Copy()
    await copy.sync()
    await server.sql`select begin_changes()`
    await server.sql`delete from absence where reason like 'row 1%'`
    await copy.sync()
    expect([copy.inOrder, copy.resets]).toEqual([await all(), 2])
  })

  test('sync refuses an invalid state, and the state of another collection', async () => {
    const { value } = await roster.absences.sync().next()
    const other = roster.companies.sync({ state: value?.state })
    await expect(other.next()).rejects.toThrow('the state is not one that sync of Companies has returned')
    await expect(roster.absences.sync({ state: 'x' }).next()).rejects.toThrow(
      'the state is not one that sync of Absences has returned',
    )
  })
})

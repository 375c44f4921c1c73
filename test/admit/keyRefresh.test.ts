import { beforeEach, describe, expect, test } from 'bun:test'
import { KeyRefresh } from '../../src/admit/keyRefresh.ts'
import { Database } from '../../src/execute/database.ts'
import { keySource } from '../../src/keys/store.ts'
import type { KeySource } from '../../src/model/key.ts'
import { useDatabase } from '../support/database.ts'

const { sql, poolOf } = useDatabase()
const database = poolOf()

let reads: number
let errors: unknown[]
beforeEach(() => {
  reads = 0
  errors = []
})

function refreshOf(source: KeySource = keySource(database), isTaken = true): KeyRefresh {
  return new KeyRefresh(source, {
    async onKeys() {
      reads++
      return isTaken
    },
    onError: (kind, error) => errors.push([kind, String(error)]),
    onBack: (kind) => errors.push(`${kind} no more`),
  })
}

/** The database's keys, and how often their version was asked for. */
function countedSource() {
  const real = keySource(database)
  let asked = 0
  const version = () => {
    asked++
    return real.version()
  }
  return { source: { ...real, version }, asked: () => asked }
}

const away = () => keySource(new Database({ url: 'postgres://nobody@127.0.0.1:1/nowhere', poolSize: 1, prepare: true }))

describe('D34: a refresh of the keys', () => {
  test('reads the keys only if they have changed, or if the keys that it read last were not accepted', async () => {
    const [refresh, partial] = [refreshOf(), refreshOf(keySource(database), false)]
    for (let look = 0; look < 3; look++) await refresh.refresh()
    expect(reads).toBe(1)
    for (let look = 0; look < 3; look++) await partial.refresh()
    expect(reads).toBe(4)
  })

  test('all callers that arrive while a refresh runs share one further refresh, which begins when the first one ends', async () => {
    const { source, asked } = countedSource()
    const refresh = refreshOf(source)
    const first = refresh.refresh()
    await Promise.resolve()
    expect(asked()).toBe(1)
    await Promise.all([first, ...Array.from({ length: 64 }, () => refresh.refresh())])
    expect(asked()).toBe(2)
  })
})

describe('D34: confirming the keys', () => {
  test('needs no refresh right after another refresh', async () => {
    const refresh = refreshOf()
    expect(await refresh.confirm()).toBe(true)
    expect([reads, refresh.confirm()]).toEqual([1, true])
  })

  test('waits for a new refresh if the last one was a second ago', async () => {
    const { source, asked } = countedSource()
    const refresh = refreshOf(source)
    await refresh.refresh()
    await Bun.sleep(1_000)
    const confirmed = refresh.confirm()
    expect(confirmed).toBeInstanceOf(Promise)
    expect([await confirmed, asked()]).toEqual([true, 2])
  })

  test('succeeds while the database does not answer, so that keys stay valid', async () => {
    const refresh = refreshOf(away())
    await expect(refresh.refresh()).rejects.toMatchObject({ code: 'ServiceUnavailable' })
    expect([await refresh.confirm(), errors]).toEqual([true, []])
  })

  test('logs once that the database does not answer any more, and once that it answers again', async () => {
    const [here, gone] = [keySource(database), away()]
    let isAway = false
    const source = { ...here, version: () => (isAway ? gone : here).version() }
    const refresh = refreshOf(source)
    await refresh.refresh()
    isAway = true
    for (let look = 0; look < 3; look++) await refresh.refresh().catch(() => undefined)
    expect(errors).toEqual([['away', expect.stringContaining('The database does not answer')]])
    isAway = false
    for (let look = 0; look < 3; look++) await refresh.refresh()
    expect(errors.slice(1)).toEqual(['away no more'])
  })

  test('fails while the database answers but the keys cannot be read; the fault and its end are each logged once', async () => {
    const refresh = refreshOf()
    await sql`alter table api_key_version rename to gone`
    expect([await refresh.confirm(), await refresh.confirm()]).toEqual([false, false])
    expect(errors).toHaveLength(1)
    await sql`alter table gone rename to api_key_version`
    expect(await refresh.confirm()).toBe(true)
    expect(errors.slice(1)).toEqual(['refused no more'])
  })
})

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createDatabase } from '../support/postgres.ts'
import { endPrograms, runMain, temporaryFolder } from '../support/process.ts'
import { KEY } from '../support/server.ts'

const TIMEOUT_MS = 60_000
/** So many connections reach each worker. */
const CONNECTIONS = 12
const folder = temporaryFolder()
const own = { authorization: `ApiKey ${KEY}`, connection: 'close' }

let url: string
beforeAll(async () => {
  const settings = { DATA_DIR: folder.path, DATABASE_URL: await createDatabase(), BOOTSTRAP_API_KEY: KEY }
  const program = runMain({ ...settings, WORKERS: '2', RATE_LIMITS: '1000000/1s' })
  url = (await program.waitFor(/listens on (http:\S+?),/))[1] as string
}, TIMEOUT_MS)
afterAll(async () => {
  await endPrograms()
  folder.remove()
})

const totalsOf = async () => {
  const asked = Array.from({ length: CONNECTIONS }, () =>
    fetch(`${url}/Companies?Enabled=true&sort=-Name`, { headers: own, keepalive: false }),
  )
  return (await Promise.all(asked)).map(({ headers }) => Number(headers.get('x-total-count')))
}

test(
  'lists of both workers have the rows right behind the answer, few or many',
  async () => {
    const headers = { ...own, 'content-type': 'application/json' }
    let total = 0
    expect(await totalsOf()).toEqual(Array(CONNECTIONS).fill(0))
    for (const rows of [3, 1_000, 700, 5, 1_000, 1, 1_000]) {
      const sent = Array.from({ length: rows }, (_, at) => ({ name: `${rows}-${at} ${'x'.repeat(60)}`, enabled: true }))
      const init = { method: 'POST', headers, body: JSON.stringify(sent), keepalive: false }
      expect((await fetch(`${url}/Companies`, init)).status).toBe(201)
      total += rows
      expect(await totalsOf()).toEqual(Array(CONNECTIONS).fill(total))
    }
  },
  TIMEOUT_MS,
)

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { MIGRATIONS, migrate } from '../../src/postgres/migrate.ts'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { connect } from '../support/postgres.ts'
import { endPrograms, runMain, temporaryFolder } from '../support/process.ts'
import { type Json, KEY } from '../support/server.ts'

const TIMEOUT_MS = 60_000
const ROUNDS = 12
const POSITION = /^[0-9a-f]{10}-[0-9]+-[0-9.]+$/
const server = useOwnPostgres({ wal_level: 'logical' })
const own = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }

/** Two that read the log, one that listens, and one without a list cache. */
const WAYS = [{}, {}, { CHANGES: 'notify' }, { LIST_CACHE: 'off' }] as const
const urls: string[] = []
const folders: ReturnType<typeof temporaryFolder>[] = []
let databaseUrl: string
beforeAll(async () => {
  const admin = connect(server.url)
  await admin`create database positions`
  await admin.end()
  databaseUrl = Object.assign(new URL(server.url), { pathname: 'positions' }).href
  await migrate(databaseUrl, MIGRATIONS)
  const started = WAYS.map(async (way) => {
    const folder = temporaryFolder()
    folders.push(folder)
    const common = { DATA_DIR: folder.path, DATABASE_URL: databaseUrl, DATABASE_POOL: '4', BOOTSTRAP_API_KEY: KEY }
    const program = runMain({ ...common, WORKERS: '1', RATE_LIMITS: '1000000/1s', RATE_LIMIT_CLIENTS: '1', ...way })
    return (await program.waitFor(/listens on (http:\S+?),/))[1] as string
  })
  urls.push(...(await Promise.all(started)))
}, TIMEOUT_MS)
afterAll(async () => {
  await endPrograms()
  for (const { remove } of folders) remove()
})

async function ask(at: number, method: string, path: string, body?: object, more: Record<string, string> = {}) {
  const init = { method, headers: { ...own, ...more }, ...(body ? { body: JSON.stringify(body) } : {}) }
  const answer = await fetch(urls[at] + path, init)
  const text = await answer.text()
  return {
    status: answer.status,
    headers: answer.headers,
    body: (text === '' ? null : JSON.parse(text)) as Json,
    position: answer.headers.get('x-roster-position') ?? '',
    total: Number(answer.headers.get('x-total-count')),
  }
}

const create = (at: number, more: Record<string, string> = {}) => ask(at, 'POST', '/Companies', { name: 'x' }, more)
/** A list that memory answers where there is one. */
const list = (at: number, position: string) =>
  ask(at, 'GET', '/Companies?Enabled=false&sort=-Name', undefined, { 'X-Roster-After': position })

describe('a read with the position of a write', () => {
  test(
    'includes it, by whichever servers the two are',
    async () => {
      let { total } = await list(0, (await create(0)).position)
      for (let round = 0; round < ROUNDS; round++)
        for (const [writer] of WAYS.entries()) {
          const { position, body } = await create(writer)
          expect(position).toMatch(POSITION)
          const lists = await Promise.all(WAYS.map((_, reader) => list(reader, position)))
          total++
          expect([writer, ...lists.map((one) => one.total)]).toEqual([writer, ...WAYS.map(() => total)])
          const after = { 'X-Roster-After': position }
          for (const [reader] of WAYS.entries())
            expect((await ask(reader, 'GET', `/Companies/${body.id}`, undefined, after)).status).toBe(200)
          if (round % 3 > 0) continue
          const removed = await ask(writer, 'DELETE', `/Companies/${body.id}`)
          const left = await Promise.all(WAYS.map((_, reader) => list(reader, removed.position)))
          total--
          expect([writer, ...left.map((one) => one.total)]).toEqual([writer, ...WAYS.map(() => total)])
        }
    },
    TIMEOUT_MS,
  )

  test(
    'includes what its client had seen written before by other servers, and what it writes at once',
    async () => {
      let { total } = await list(0, (await create(0)).position)
      for (let round = 0; round < ROUNDS; round++)
        for (const [first] of WAYS.entries()) {
          const second = (first + 1 + (round % 3)) % WAYS.length
          const { position } = await create(first)
          const after = await create(second, { 'X-Roster-After': position })
          total += 2
          expect([first, second, (await list(second, after.position)).total]).toEqual([first, second, total])
          const both = await Promise.all([create(first), create(first), create(second)])
          total += 3
          const all = both.map((one) => one.position).join()
          for (const reader of [first, second, (first + 2) % WAYS.length])
            expect([first, second, reader, (await list(reader, all)).total]).toEqual([first, second, reader, total])
        }
    },
    TIMEOUT_MS,
  )

  test('is NotYetThere after a second where no server has the write', async () => {
    const { position } = await create(0)
    const asked = WAYS.flatMap((_, at) => ['/Companies', '/Companies/1'].map((path) => ({ at, path })))
    const wait = async ({ at, path }: (typeof asked)[number]) => {
      const answer = await ask(at, 'GET', path, undefined, { 'X-Roster-After': `${position}000000` })
      expect([at, answer.status, answer.body.Error.Code]).toEqual([at, 503, 'NotYetThere'])
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    await Promise.all(asked.map(wait))
  })

  test('is InvalidHeader where the position is of another database, or is none', async () => {
    const { position } = await create(0)
    const foreign = position.replace(/^../, (start) => (start === '00' ? '11' : '00'))
    for (const [at] of WAYS.entries())
      for (const wrong of [foreign, `${position},${foreign}`, 'x', `${position},`, Array(9).fill(position).join()]) {
        const { status, body } = await list(at, wrong)
        expect([wrong, status, body.Error.Code, body.Error.Target]).toEqual([
          wrong,
          400,
          'InvalidHeader',
          'X-Roster-After',
        ])
      }
  })
})

test('each write has its position, a repeated one that of the first; a PATCH of nothing, and reads, have none', async () => {
  for (const [at] of WAYS.entries()) {
    const { body } = await create(at)
    const path = `/Companies/${body.id}`
    for (const [method, target, values] of [
      ['POST', '/Companies', { name: 'a' }],
      ['PUT', path, { name: 'b' }],
      ['PATCH', path, { enabled: true }],
      ['DELETE', path, undefined],
    ] as const) {
      const key = { 'Idempotency-Key': `${at} ${method}`.replace(' ', '-') }
      const first = await ask(at, method, target, values, key)
      const again = await ask((at + 1) % WAYS.length, method, target, values, key)
      expect([method, again.headers.get('idempotency-replayed'), first.position]).toEqual([
        method,
        'true',
        again.position,
      ])
      expect(first.position).toMatch(POSITION)
    }
    const other = (await create(at)).body.id
    for (const [method, values] of [
      ['PATCH', {}],
      ['GET', undefined],
    ] as const)
      expect((await ask(at, method, `/Companies/${other}`, values)).position).toBe('')
  }
})

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type postgres from 'postgres'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { Database } from '../../src/execute/database.ts'
import type { Statement } from '../../src/model/sql.ts'
import { ChangeWaits } from '../../src/operations/changeWaits.ts'
import { connect, createDatabase } from '../support/postgres.ts'

const ENTITIES = [company, absence]
const START = { position: '0', number: '0' }
const HOUR_MS = 3_600_000

let sql: postgres.Sql
let database: Database
beforeAll(async () => {
  const url = await createDatabase()
  sql = connect(url)
  database = new Database({ url, poolSize: 2, prepare: true })
})
afterAll(async () => {
  await database.end(1_000)
  await sql.end()
})

const leave = (table: string) => sql`
  insert into entity_change (position, entity, id, action, key, changed)
  values (change_position(), ${table}, 1, 'u', 'k', '{}')`
const waitsOf = (options: Partial<ConstructorParameters<typeof ChangeWaits>[2]> = {}) =>
  new ChangeWaits(ENTITIES, database, { newest: null, isDraining: () => false, ...options })
const never = new AbortController().signal
const inAnHour = () => performance.now() + HOUR_MS

test('who waits is woken by a line of the entities that it waits for', async () => {
  const waits = waitsOf()
  const woken: string[] = []
  const waiting = [company, absence].map((entity) =>
    waits.wait([entity], START, inAnHour(), never).then((isWoken) => woken.push(`${entity.table} ${isWoken}`)),
  )
  await leave('absence')
  await waiting[1]
  expect(woken).toEqual(['absence true'])
  await leave('company')
  await waiting[0]
  expect(woken).toEqual(['absence true', 'company true'])
})

test('who waits behind the last line is not woken by it', async () => {
  await leave('company')
  const [last] =
    await sql`select position::text, number::text from entity_change order by position desc, number desc limit 1`
  const waits = waitsOf()
  const place = { position: last?.position, number: last?.number }
  expect(await waits.wait([company], place, performance.now() + 300, never)).toBe(false)
})

test('a client that has gone, one too many, and who waits at the end of the server, wait no longer', async () => {
  const leaving = new AbortController()
  let isDraining = false
  const waits = waitsOf({ waitersMax: 2, isDraining: () => isDraining })
  const behind = { position: '9'.repeat(18), number: '0' }
  const [one, two] = [leaving.signal, never].map((signal) => waits.wait(ENTITIES, behind, inAnHour(), signal))
  expect(await waits.wait(ENTITIES, behind, inAnHour(), never)).toBe(false)
  leaving.abort()
  expect(await one).toBe(false)
  isDraining = true
  expect(await two).toBe(false)
  expect(await waits.wait(ENTITIES, behind, inAnHour(), never)).toBe(false)
})

test('news of another process is looked at, and a database that is away ends no wait', async () => {
  let newest = 1
  const away = { read: () => Promise.reject(new Error('away')) } as unknown as Database
  let looks = 0
  const counting = {
    read(statement: Statement) {
      looks++
      return database.read(statement)
    },
  } as Database
  const lost = new ChangeWaits(ENTITIES, away, { newest: null, isDraining: () => false })
  expect(await lost.wait([company], START, performance.now() + 300, never)).toBe(false)
  const waits = new ChangeWaits(ENTITIES, counting, { newest: () => newest++, isDraining: () => false })
  const behind = { position: '9'.repeat(18), number: '0' }
  await waits.wait([company], behind, performance.now() + 1_000, never)
  expect(looks).toBeGreaterThan(1)
})

test('who waits with a key that has ended waits no longer, and others wait on', async () => {
  let serial = 1
  let isValid = true
  const behind = { position: '9'.repeat(18), number: '0' }
  const leaving = new AbortController()
  const waits = waitsOf({ keysSerial: () => serial })
  const ended = waits.wait([company], behind, inAnHour(), never, () => isValid)
  let isOtherEnded = false
  const other = waits.wait([company], behind, inAnHour(), leaving.signal, () => true).then(() => (isOtherEnded = true))
  isValid = false
  serial++
  expect(await ended).toBe(false)
  expect(isOtherEnded).toBe(false)
  leaving.abort()
  await other
})

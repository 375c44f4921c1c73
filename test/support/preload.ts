import { afterAll, beforeAll, setDefaultTimeout } from 'bun:test'
import { joinPostgres, leavePostgres, startPostgres, type TestPostgres } from './postgres.ts'
import { interruptPrograms, removeFolders, removeMemories } from './process.ts'

// test/run.ts starts the PostgreSQL for all files; `bun test` alone starts another one here.
const given = process.env.TEST_POSTGRES_URL
let own: TestPostgres | undefined

// test/run.ts sets the same limit for all files; here it holds for the first one.
setDefaultTimeout(120_000)

beforeAll(async () => {
  if (!given) own = await startPostgres()
  joinPostgres(given ?? own?.url ?? '')
}, 60_000)
afterAll(async () => {
  await leavePostgres()
  await own?.stop()
}, 20_000)
afterAll(removeMemories)
afterAll(removeFolders)

process.once('SIGTERM', () => {
  interruptPrograms()
  process.exit(143)
})

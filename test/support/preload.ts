import { afterAll, beforeAll, setDefaultTimeout } from 'bun:test'
import { joinPostgres, leavePostgres, startPostgres, type TestPostgres } from './postgres.ts'
import { interruptPrograms, removeFolders, removeMemories } from './process.ts'

// What test/run.ts has started for one file after the other; `bun test` by itself starts its own.
const given = process.env.TEST_POSTGRES_URL
let own: TestPostgres | undefined

// As test/run.ts gives it to all files; here it holds for the first one.
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

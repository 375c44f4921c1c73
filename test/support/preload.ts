import { afterAll, setDefaultTimeout } from 'bun:test'
import { joinPostgres, leavePostgres, startPostgres } from './postgres.ts'
import { interruptPrograms, removeFolders, removeMemories } from './process.ts'
import { TEST_MS_MAX } from './testFiles.ts'

// test/run.ts starts the PostgreSQL for all files; `bun test` alone starts another one here.
const given = process.env.TEST_POSTGRES_URL
const own = given ? null : await startPostgres()
// Before the first test file is read, because `useDatabase` gives it the address of a database.
joinPostgres(given ?? (own?.url as string))

// test/run.ts sets the same limit for all files; here it holds for the first one.
setDefaultTimeout(TEST_MS_MAX)

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

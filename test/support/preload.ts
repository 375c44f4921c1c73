import { afterAll, setDefaultTimeout } from 'bun:test'
import { joinPostgres, leavePostgres, startPostgres } from './postgres.ts'
import { interruptPrograms, removeFolders, removeMemories } from './process.ts'
import { TEST_MS_MAX } from './testFiles.ts'

// test/run.ts starts the PostgreSQL for all files; `bun test` alone starts another one here.
const given = process.env.TEST_POSTGRES_URL
const own = given ? null : await startPostgres()
// This comes before the first test file is read, because `useDatabase` gives the file the URL of a database.
joinPostgres(given ?? (own?.url as string))

// test/run.ts sets this limit for all files. With `bun test`, this call sets it for the first file only.
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

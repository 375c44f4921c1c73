import { expect, test } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config.ts'
import { KeyStore } from '../../src/keys/store.ts'
import { createLog } from '../../src/log.ts'
import { startWorker } from '../../src/processes/worker.ts'
import { createDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { makeKey, type TestKey, tablesFor } from '../support/server.ts'

test('an entity whose table is not there is refused at the start, by name', async () => {
  const folder = temporaryFolder()
  const entitiesDir = join(folder.path, 'entities')
  mkdirSync(entitiesDir)
  symlinkSync(join(import.meta.dir, '../../src/model'), join(folder.path, 'model'))
  const source = `import { defineEntity, identity } from '../model/entity.ts'
    export default defineEntity('Shop', { id: identity() })`
  writeFileSync(join(entitiesDir, 'shop.ts'), source)
  const databaseUrl = await createDatabase()
  const log = createLog('error', 'pretty')
  const config = readConfig({ PORT: '0', RATE_LIMITS: '1/1s', RATE_LIMITS_ANONYMOUS: '1/1s' })
  const tables = tablesFor(config, [])
  const none = { tablesFor: async () => null, bootstrapKeys: [], migrationFiles: [], cursorSecret: '' }
  const surroundings = { ...none, databaseUrl, tables, log, entitiesDir }
  expect(startWorker(config, surroundings)).rejects.toThrow('Shop needs a migration: relation "shop" does not exist')
  folder.remove()
})

test('says when more keys are in use than its table has room for, and and writes down which keys were used', async () => {
  const keys = [makeKey(), makeKey(), makeKey()]
  const warnings: string[] = []
  const log = { ...createLog('error', 'pretty'), warn: (message: string) => void warnings.push(message) }
  const records = keys.map(({ record }) => record)
  const config = readConfig({ PORT: '0', RATE_LIMITS: '9/1h', RATE_LIMITS_ANONYMOUS: '9/1h', RATE_LIMIT_CLIENTS: '2' })
  const none = { bootstrapKeys: [], migrationFiles: [], cursorSecret: '' }
  const databaseUrl = await createDatabase()
  const store = new KeyStore(databaseUrl)
  for (const record of records) await store.create(record)
  const tables = tablesFor(config, records)
  const worker = await startWorker(config, { ...none, databaseUrl, tables, tablesFor: async () => null, log })
  const remaining = async ({ headers }: TestKey) => (await fetch(worker.url, { headers })).headers.get('x-ratelimit-remaining')
  for (const key of keys) expect(await remaining(key)).toBe('8')
  await worker.stop(0)
  expect(warnings).toEqual([expect.stringContaining('more keys are in use than RATE_LIMIT_CLIENTS')])
  expect((await store.list()).filter(({ lastUsed }) => lastUsed !== null)).toHaveLength(keys.length)
  await store.end()
})

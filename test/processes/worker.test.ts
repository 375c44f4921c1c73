import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config/config.ts'
import { KeyStore } from '../../src/keys/store.ts'
import { createLog } from '../../src/log.ts'
import { startWorker } from '../../src/processes/worker.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { makeKey, type TestKey, tablesFor } from '../support/server.ts'

test('says when more keys are in use than its table has room for, and writes down which keys were used', async () => {
  const keys = [makeKey(), makeKey(), makeKey()]
  const warnings: string[] = []
  const log = { ...createLog('error', 'pretty'), warn: (message: string) => void warnings.push(message) }
  const records = keys.map(({ record }) => record)
  const config = readConfig({ PORT: '0', RATE_LIMITS: '9/1h', RATE_LIMITS_ANONYMOUS: '9/1h', RATE_LIMIT_CLIENTS: '2' })
  const none = { bootstrapKey: null, migrationFiles: [], cursorSecret: '', certificate: null }
  const databaseUrl = await createDatabase()
  const store = new KeyStore(connect(databaseUrl))
  for (const record of records) await store.create(record)
  const tables = tablesFor(config, records)
  const worker = await startWorker(config, {
    ...none,
    databaseUrl,
    directUrl: databaseUrl,
    tables,
    tablesFor: async () => null,
    log,
  })
  const remaining = async ({ headers }: TestKey) => (await fetch(worker.url, { headers })).headers.get('x-ratelimit-remaining')
  for (const key of keys) expect(await remaining(key)).toBe('8')
  await worker.stop(0)
  expect(warnings).toEqual([expect.stringContaining('more keys are in use than RATE_LIMIT_CLIENTS')])
  expect((await store.list()).filter(({ lastUsed }) => lastUsed !== null)).toHaveLength(keys.length)
})

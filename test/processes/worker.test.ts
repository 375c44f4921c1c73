import { expect, test } from 'bun:test'
import { KeyStore } from '../../src/keys/store.ts'
import { connect } from '../support/postgres.ts'
import { quietLog } from '../support/quietLog.ts'
import { makeKey, type TestKey } from '../support/server.ts'
import { startServer } from '../support/start.ts'

test('a worker logs once that more keys are in use than RATE_LIMIT_CLIENTS, and stores the last use of each key', async () => {
  const keys = [makeKey(), makeKey(), makeKey()]
  const warnings: string[] = []
  const log = quietLog({ warn: (message) => void warnings.push(message) })
  const environment = { RATE_LIMITS: '9/1h', RATE_LIMIT_CLIENTS: '2' }
  const server = await startServer({ environment, log, keys: keys.map(({ record }) => record) })
  const remaining = async ({ headers }: TestKey) => (await server.get('/', headers)).headers.get('x-ratelimit-remaining')
  for (const key of keys) expect(await remaining(key)).toBe('8')
  const store = new KeyStore(connect(server.databaseUrl))
  await server.stop()
  expect(warnings).toEqual([expect.stringContaining('more keys are in use than RATE_LIMIT_CLIENTS')])
  expect((await store.list()).filter(({ lastUsed }) => lastUsed !== null)).toHaveLength(keys.length)
})

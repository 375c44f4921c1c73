import { expect, test } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../src/config.ts'
import { createLog } from '../src/observe/log.ts'
import { startWorker } from '../src/worker.ts'
import { createDatabase } from './support/postgres.ts'
import { temporaryFolder } from './support/process.ts'
import { memoryFor } from './support/server.ts'

test('an entity whose table is not there is refused at the start, by name', async () => {
  const folder = temporaryFolder()
  const entitiesDir = join(folder.path, 'entities')
  mkdirSync(entitiesDir)
  symlinkSync(join(import.meta.dir, '../src/model'), join(folder.path, 'model'))
  const source = `import { defineEntity, identity } from '../model/entity.ts'
    export default defineEntity('Shop', { id: identity() })`
  writeFileSync(join(entitiesDir, 'shop.ts'), source)
  const databaseUrl = await createDatabase()
  const log = createLog('error', 'pretty')
  const config = readConfig({ PORT: '0', RATE_LIMITS: '1/1s', RATE_LIMITS_ANONYMOUS: '1/1s' })
  const memory = memoryFor(config, [])
  const surroundings = { databaseUrl, keys: [], bootstrapKeys: [], migrationFiles: [], memory, log, entitiesDir }
  expect(startWorker(config, surroundings)).rejects.toThrow('Shop needs a migration: relation "shop" does not exist')
  folder.remove()
})

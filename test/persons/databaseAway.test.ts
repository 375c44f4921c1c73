import { describe, expect, test } from 'bun:test'
import { migrate } from '../../src/postgres/migrate.ts'
import { untilInMemory } from '../support/inMemory.ts'
import { useIssuer } from '../support/issuer.ts'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { headersOf, insertPeople } from '../support/people.ts'
import { MIGRATIONS } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'
import { useServer } from '../support/start.ts'

// A person whose rights cannot be read gets the 503 of a list, and never old rights.

const issuer = useIssuer()
const postgres = useOwnPostgres()
const PATHS = ['/Absences', '/Absences/Summary?groupBy=Status', '/Absences/1', '/Directory', '/Rights', '/Employees']

describe.each(['64', '0'])('with MEMORY_MB=%s', (MEMORY_MB) => {
  const server = useServer(async () => {
    await migrate(postgres.url, MIGRATIONS)
    return {
      databaseUrl: postgres.url,
      environment: { ...issuer.settings, ROLES_FILE: 'roles', RATE_LIMITS_PERSONS: '3000/1s', MEMORY_MB },
      roles: ROLES_FILE,
      hasForeignRows: true,
    }
  })

  test('requests of persons get 503 while the database is away, and 200 again when it is back', async () => {
    const ann = await headersOf(issuer, 'Ann')
    await insertPeople(server.sql)
    const statuses = () => Promise.all(PATHS.map(async (path) => (await server.get(path, ann)).status))
    if (MEMORY_MB !== '0')
      for (const [table, path] of [
        ['absence', '/Absences'],
        ['employee', '/Employees'],
      ] as const)
        await untilInMemory(server, table, path)
    expect(await statuses()).toEqual(PATHS.map(() => 200))
    await postgres.goAway()
    const answers = await Promise.all(PATHS.map(async (path) => ({ path, ...(await server.get(path, ann)) })))
    for (const { path, status, headers, body } of answers) {
      const answer = [path, status, body?.Error?.Code, headers.has('retry-after')]
      expect(answer).toEqual([path, 503, 'ServiceUnavailable', true])
    }
    await postgres.comeBack()
    await until(async () => (await statuses()).every((status) => status === 200))
  })
})

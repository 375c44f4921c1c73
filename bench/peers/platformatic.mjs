// Platformatic DB: the REST API that it generates from the tables, without further code.
import platformatic from '@platformatic/db'
import { runProcesses } from './processes.mjs'

// Columns that the database fills. Without this, Platformatic would require them in writes of companies.
const IGNORED = {
  company: { name_key: true },
  employee: { company_key: true, manager_key: true, display_name_key: true },
  absence: { employee_key: true },
}

await runProcesses(async (port) => {
  const app = await platformatic.buildServer({
    server: { hostname: '127.0.0.1', port, logger: { level: 'error' } },
    db: {
      connectionString: process.env.DATABASE_URL,
      poolSize: 10,
      graphql: false,
      openapi: { ignore: IGNORED },
      autoTimestamp: false,
      ignore: { api_key: true, api_key_version: true, migration: true },
    },
    metrics: false,
    watch: false,
  })
  return Number(new URL(await app.start()).port)
})

// With the client that @hey-api/openapi-ts makes. See ../openApi.test.ts.
import { client } from './hey-api/client.gen.ts'
import { createCompany, deleteCompany, listAbsences } from './hey-api/index.ts'
import { FEBRUARY, say, server } from './said.ts'

client.setConfig({ baseUrl: server.url, auth: server.authorization, throwOnError: true })
const found = (await listAbsences({ query: { Start: FEBRUARY }, throwOnError: true })).data
const some = (await listAbsences({ query: { Id: ['1'], fields: ['Id', 'Status'] }, throwOnError: true })).data
const created = (await createCompany({ body: { name: 'Generated' }, throwOnError: true })).data
await deleteCompany({ path: { id: created.id } })
say(found, some[0], created)

// Uses the client that @hey-api/openapi-ts makes. See ../openApi.test.ts.
import { client } from './hey-api/client.gen.ts'
import { createAbsence, createCompany, deleteAbsence, deleteCompany, listAbsences, listChanges } from './hey-api/index.ts'
import { FEBRUARY, say, sayChanges, server } from './said.ts'

client.setConfig({ baseUrl: server.url, auth: server.authorization, throwOnError: true })
/** Reads changes after a token, up to a change of an absence, for which it waits. */
async function changesAfter(after: string) {
  await listChanges({ query: { after, entity: ['Absences'], wait: 30 }, throwOnError: true })
  return (await listChanges({ query: { after, rows: 'current' }, throwOnError: true })).data
}

const found = (await listAbsences({ query: { Start: FEBRUARY }, throwOnError: true })).data
const fields = ['Id' as const, 'Status' as const, 'EmployeeId.Department' as const]
const query = { Id: ['1'], 'EmployeeId.Department': ['Engineering'], fields }
const some = (await listAbsences({ query, throwOnError: true })).data
const start = (await listChanges({ query: { after: 'now' }, throwOnError: true })).data
const created = (await createCompany({ body: { name: 'Generated' }, throwOnError: true })).data
const absence = (await createAbsence({ body: { type: 'Holiday' }, throwOnError: true })).data
const { changes, next } = await changesAfter(start.next)
await deleteCompany({ path: { id: created.id } })
await deleteAbsence({ path: { id: absence.id } })
say(found, some[0], some[0]?.['employeeId.department'], created)
sayChanges(changes)
sayChanges((await changesAfter(next)).changes)

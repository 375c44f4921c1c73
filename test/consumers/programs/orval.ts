// With the client and the zod schemas that orval makes. See ../openApi.test.ts.
import { createCompany, deleteCompany, listAbsences } from './orval/api.ts'
import { CreateCompanyResponse, ListAbsencesResponse } from './orval/zod.ts'
import { FEBRUARY, say, server } from './said.ts'

// What it makes asks for a path.
const { fetch } = globalThis
globalThis.fetch = ((path: string, options?: RequestInit) =>
  fetch(server.url + path, {
    ...options,
    headers: { ...options?.headers, Authorization: server.authorization },
  })) as typeof fetch
const found = ListAbsencesResponse.parse((await listAbsences({ Start: FEBRUARY })).data)
const some = ListAbsencesResponse.parse((await listAbsences({ Id: ['1'], fields: ['Id', 'Status'] })).data)
const created = CreateCompanyResponse.parse((await createCompany({ name: 'Generated' })).data)
await deleteCompany(created.id)
say(found, some[0], created)

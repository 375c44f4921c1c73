// Uses the types that openapi-typescript makes of the OpenAPI document: compiled with `./api.ts`, then run against a server that
// has the sample. See ../openApi.test.ts.
import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

declare const process: { env: Record<string, string> }

// Lists can also be CSV and NDJSON, so the media type of JSON is given.
const client = createClient<paths, 'application/json'>({
  baseUrl: process.env.ROSTER_URL as string,
  headers: { Authorization: `ApiKey ${process.env.ROSTER_KEY}` },
})

const page = await client.GET('/Absences', {
  params: {
    query: {
      Status: ['Approved'],
      Start: ['>=2026-01-01T00:00:00Z', '<2026-03-01T00:00:00Z'],
      'Period.Days': ['>1'],
      'EmployeeId.Department': ['!=Nowhere'],
      sort: ['-Start', '+Id'],
      PageSize: 5,
    },
  },
})
// Whole rows, because the request has no `fields`; with some, each property may be missing.
const rows = (page.data ?? []) as components['schemas']['Absence'][]
console.log(rows.map(({ id, start, period }) => `${id} ${start} ${period?.days}`).join('\n'))
console.log(page.response.headers.get('X-Total-Count'))

const body: components['schemas']['CompanyWrite'] = { name: 'Blue Moon', enabled: true }
const created = await client.POST('/Companies', { body })
const id = created.data?.id ?? 0
console.log(created.data?.name)
const updated = await client.PATCH('/Companies/{id}', { params: { path: { id } }, body: { enabled: false } })
console.log(JSON.stringify(updated.data))
console.log((await client.DELETE('/Companies/{id}', { params: { path: { id } } })).response.status)

const gone = await client.GET('/Companies/{id}', { params: { path: { id } } })
if (gone.error?.Error.Code === 'NotFound') console.log(gone.error.Error.Message)

// Code that must not compile; it never runs.
export const wrong = [
  // @ts-expect-error a misspelt filter
  () => client.GET('/Absences', { params: { query: { Statsu: 'Approved' } } }),
  // @ts-expect-error a misspelt path
  () => client.GET('/Absences', { params: { query: { 'EmployeeId.Departmant': ['Sales'] } } }),
  // @ts-expect-error a sort by what the entity does not have
  () => client.GET('/Absences', { params: { query: { sort: ['-Strat'] } } }),
  // @ts-expect-error a page by its name
  () => client.GET('/Absences', { params: { query: { page: 'first' } } }),
  // @ts-expect-error a path that is not there
  () => client.GET('/Absence'),
  // @ts-expect-error a method that the path does not have
  () => client.PUT('/Companies'),
  // @ts-expect-error a row without its id
  () => client.GET('/Companies/{id}', { params: {} }),
  // @ts-expect-error what is read-only
  (): components['schemas']['AbsenceWrite'] => ({ status: 'Approved', employee: 'Ada Byron' }),
  // @ts-expect-error a text for a boolean
  () => client.POST('/Companies', { body: { enabled: 'yes' } }),
  // @ts-expect-error no body
  () => client.POST('/Companies', {}),
  // @ts-expect-error a property that the entity does not have
  () => rows[0]?.employer,
  // @ts-expect-error a code that the operation does not answer
  () => gone.error?.Error.Code === 'StillReferenced',
]

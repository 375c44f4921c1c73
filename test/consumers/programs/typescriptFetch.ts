// With the client that openapi-generator makes for `fetch`. See ../openApi.test.ts.

import { FEBRUARY, say, server } from './said.ts'
import { AbsenceField, AbsencesApi, CompaniesApi, Configuration } from './typescript-fetch/index.ts'

const configuration = new Configuration({ basePath: server.url, apiKey: server.authorization })
const absences = new AbsencesApi(configuration)
const found = await absences.listAbsences({ start: FEBRUARY })
const [some] = await absences.listAbsences({ id: ['1'], fields: [AbsenceField.Id, AbsenceField.Status] })
const companies = new CompaniesApi(configuration)
const created = await companies.createCompany({ companyWrite: { name: 'Generated' } })
await companies.deleteCompany({ id: created.id })
say(found, some, created)

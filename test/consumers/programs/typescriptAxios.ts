// With the client that openapi-generator makes for axios. See ../openApi.test.ts.
import { FEBRUARY, say, server } from './said.ts'
import { AbsenceField, AbsencesApi, CompaniesApi, Configuration } from './typescript-axios/index.ts'

const configuration = new Configuration({ basePath: server.url, apiKey: server.authorization })
const absences = new AbsencesApi(configuration)
const none = undefined
const found = await absences.listAbsences(none, none, none, none, none, none, FEBRUARY)
const fields = [AbsenceField.Id, AbsenceField.Status]
const behindId = [none, none, none, none, none, none, none, none, none, none, none] as const
const some = await absences.listAbsences(['1'], ...behindId, fields)
const companies = new CompaniesApi(configuration)
const created = (await companies.createCompany({ name: 'Generated' })).data
await companies.deleteCompany(created.id)
say(found.data, some.data[0], created)

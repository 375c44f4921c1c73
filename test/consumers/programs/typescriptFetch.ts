// Uses the client that openapi-generator makes for `fetch`. See ../openApi.test.ts.

import { FEBRUARY, say, sayChanges, server } from './said.ts'
import {
  AbsenceField,
  AbsencesApi,
  ChangesApi,
  CompaniesApi,
  Configuration,
  ListChangesEntityEnum,
  ListChangesRowsEnum,
} from './typescript-fetch/index.ts'

const configuration = new Configuration({ basePath: server.url, apiKey: server.authorization })
const absences = new AbsencesApi(configuration)
const companies = new CompaniesApi(configuration)
const feed = new ChangesApi(configuration)
/** Reads changes after a token, up to a change of an absence, for which it waits. */
async function changesAfter(after: string) {
  await feed.listChanges({ after, entity: [ListChangesEntityEnum.Absences], wait: 30 })
  return feed.listChanges({ after, rows: ListChangesRowsEnum.Current })
}

const found = await absences.listAbsences({ start: FEBRUARY })
const fields = [AbsenceField.Id, AbsenceField.Status, AbsenceField.EmployeeIdDepartment]
const [some] = await absences.listAbsences({ id: ['1'], employeeIdDepartment: ['Engineering'], fields })
const start = await feed.listChanges({ after: 'now' })
const created = await companies.createCompany({ companyWrite: { name: 'Generated' } })
const absence = await absences.createAbsence({ absenceWrite: { type: 'Holiday' } })
const { changes, next } = await changesAfter(start.next)
await companies.deleteCompany({ id: created.id })
await absences.deleteAbsence({ id: absence.id })
say(found, some, some?.employeeIdDepartment, created)
sayChanges(changes)
sayChanges((await changesAfter(next)).changes)

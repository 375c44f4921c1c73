// What the scenarios write.
import { firstOfTwo, type Rows } from './data/table.ts'
import type { Operation } from './operation.ts'

export const create = (weight = 1): Operation => {
  return { method: 'POST', path: '/Companies', body: '{"Name":"Bench","Enabled":true}', status: 201, weight }
}

export const createEmployee = ({ companies }: Rows): Operation => {
  const person = '"FirstName":"Ada","LastName":"Bench","WorkEmail":"ada.bench@example.com"'
  const job = '"Department":"Engineering","JobTitle":"Engineer","Type":"FullTime","Started":"2026-01-05T08:00:00Z"'
  return { method: 'POST', path: '/Employees', body: `{${person},"CompanyId":{1..${companies}},${job}}`, status: 201 }
}

/** Of a company with two employees, who have a copy of its name; to either name, see below. */
export const rename = (rows: Rows): Operation[] =>
  ['Bench', 'Bench and Sons'].map((name) => {
    const path = `/Companies/{${firstOfTwo(rows)}..${rows.companies}}`
    return { method: 'PATCH', path, body: JSON.stringify({ Name: name }), status: 200 }
  })

/** Both values, so that about every second request changes the row and its indexes. */
export const patch = ({ companies }: Rows, weight = 1): Operation[] =>
  ['true', 'false'].map((enabled) => {
    const body = `{"Enabled":${enabled}}`
    return { method: 'PATCH', path: `/Companies/{1..${companies}}`, body, status: 200, weight: weight / 2 }
  })

/** Into the lists of the approved and out of them. */
export const patchAbsence = (rows: Rows): Operation[] =>
  ['Approved', 'Requested'].map((status) => {
    return { method: 'PATCH', path: `/Absences/{1..${rows.absences}}`, body: `{"Status":"${status}"}`, status: 200 }
  })

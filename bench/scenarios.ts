export interface Scenario {
  readonly name: string
  /** The path, then what autocannon is told beside it. */
  readonly request: string[]
}

const json = ['-H', 'Content-Type=application/json']

export const scenarios: readonly Scenario[] = [
  { name: 'one by id', request: ['/Absences/4711'] },
  { name: 'one employee’s absences', request: ['/Absences?EmployeeId=77'] },
  { name: 'first page', request: ['/Absences'] },
  {
    name: 'filter + sort',
    request: ['/Absences?Status=Approved&Start=%3E2020-06-01T00:00:00Z&sort=-Start&PageSize=50'],
  },
  { name: 'last page by number', request: ['/Absences?sort=Start&page=5000'] },
  { name: 'create', request: ['/Companies', '-m', 'POST', ...json, '-b', '{"Name":"Bench","Enabled":true}'] },
  { name: 'patch', request: ['/Companies/17', '-m', 'PATCH', ...json, '-b', '{"Enabled":true}'] },
]

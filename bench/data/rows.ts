import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import type { Entity } from '../../src/model/entity.ts'
import { sharesOf } from '../../src/seed/seed.ts'

/** What is referred to comes before what refers. */
export const entities: readonly Entity[] = [company, employee, absence]

/** How many rows each table has. Ids are 1 to that number. */
export interface Rows {
  readonly absences: number
  readonly employees: number
  readonly companies: number
}

const ALL_FOR_AN_ABSENCE = 31 / 25

/** About so many absences, with the employees and companies that `roster seed` makes for them: a fifth, and a fifth of these. */
export function rowsFor(absences: number): Rows {
  const shares = sharesOf(entities, Math.round(absences * ALL_FOR_AN_ABSENCE))
  const [companies = 0, employees = 0, made = 0] = shares.map(({ rows }) => rows)
  return { absences: made, employees, companies }
}

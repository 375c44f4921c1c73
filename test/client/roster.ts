import type { RosterOptions } from '../../src/client/connection.ts'
import type { FieldOf, FilterOf, RowOf, SortOf, WriteOf } from '../../src/client/createRoster.ts'
import { createRoster as createTyped } from '../../src/client/createRoster.ts'
import type absence from '../../src/entities/absence.ts'
import type company from '../../src/entities/company.ts'
import type employee from '../../src/entities/employee.ts'

// What the generated file exports, made of the declarations: programs of tests import either as ./roster.ts.

export type { RosterChanged } from '../../src/client/changes.ts'
export type { RosterPage, RosterRead } from '../../src/client/collection.ts'
export { RosterError } from '../../src/client/error.ts'

export type Absence = RowOf<typeof absence>
export type AbsenceWrite = WriteOf<typeof absence>
export type AbsenceFilter = FilterOf<typeof absence>
export type AbsenceSort = SortOf<typeof absence>
export type AbsenceField = FieldOf<typeof absence>

export const createRoster = (options: RosterOptions) =>
  createTyped<{ absences: typeof absence; companies: typeof company; employees: typeof employee }>(options)

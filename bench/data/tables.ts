import { absence } from './absence.ts'
import { company } from './company.ts'
import { employee } from './employee.ts'
import type { Table } from './table.ts'

/** What is referred to comes before what refers. */
export const tables: readonly Table[] = [company, employee, absence]

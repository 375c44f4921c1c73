import { COMPANY_FORMS, COMPANY_STARTS, COMPANY_TRADES } from '../../src/seed/words.ts'
import { drawsFor, shares } from './drawing.ts'
import type { Table } from './table.ts'

const NAME_SALT = 1
const SALT = 2
const ENABLED = shares([4, true], [1, false])

export const company: Table = {
  name: 'company',
  columns: ['id', 'name', 'enabled'],
  count: ({ companies }) => companies,
  row: (id) => [id, companyName(id), drawsFor(SALT, id).pick(ENABLED)],
}

/** Some names are there twice; one company of 200 has none. */
export function companyName(id: number): string | null {
  const draws = drawsFor(NAME_SALT, id)
  if (draws.below(200) === 0) return null
  return `${draws.pick(COMPANY_STARTS)} ${draws.pick(COMPANY_TRADES)}${draws.pick(COMPANY_FORMS)}`
}

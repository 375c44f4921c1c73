import {
  type Field,
  type Filter,
  matches,
  type Operator,
  properties,
  type Row,
  type Sort,
} from '../../../support/model.ts'
import type { Random } from '../../../support/random.ts'
import type { Selected } from './ordered.ts'
import type { RowsModel } from './rowsModel.ts'

const EQUALITIES: Operator[] = ['=', '!=']
const OPERATORS: Operator[] = ['=', '!=', '<', '<=', '>', '>=']
/** A list of fewer rows is drawn again, mostly. */
const ROWS_FEW = 400

/** Mostly one of many rows, so that it has deep pages: by what the rows have, which writes give and take. */
export function deepList(model: RowsModel, random: Random): Selected {
  for (;;) {
    const selected = anyList(model, random)
    const rows = [...model.rows[selected.collection].values()]
    const count = rows.filter((row) => selected.filters.every((filter) => matches(filter, row))).length
    if (count >= ROWS_FEW || selected.collection !== 'Absences' || random.chance(15)) return selected
  }
}

function anyList(model: RowsModel, random: Random): Selected {
  const collection = random.pick(['Absences', 'Absences', 'Absences', 'Absences', 'Employees', 'Companies'] as const)
  const rows = [...model.rows[collection].values()]
  const fields = properties[collection].filter(({ name }) => rows.some((row) => (row[name] ?? null) !== null))
  const filters = random.chance(35) ? [] : random.times(2, () => randomFilter(random, fields, random.pick(rows)))
  const sorts = random.times(2, (): Sort => ({ field: random.pick(fields), descending: random.chance(50) }))
  const unique = sorts.filter(({ field }, index) => sorts.findIndex((sort) => sort.field === field) === index)
  return { collection, filters, sorts: unique }
}

/** In longer targets links are left out, of which the judge expects all. */
const OPERAND_LENGTH_MAX = 40

/** By a value that a row has. */
function randomFilter(random: Random, fields: readonly Field[], row: Row): Filter {
  const field = random.pick(fields)
  const value = String(row[field.name] ?? '')
  const operand = value.length > OPERAND_LENGTH_MAX ? '' : value
  const operators = operand === '' || field.kind === 'boolean' ? EQUALITIES : OPERATORS
  return { field, operator: random.pick(operators), operand }
}

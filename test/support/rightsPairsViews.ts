// Named views of the servers of the trials: with some rows or all, and with some properties or all.
import type { Entity, Property } from '../../src/model/entity.ts'
import type { NamedView } from '../../src/model/namedView.ts'
import { wholeView } from '../../src/model/view.ts'
import { findRelated } from '../../src/parse/paths.ts'
import { parseNamedView } from '../../src/rights/namedViews.ts'
import { entities } from './entities.ts'
import { addressOf, type Condition, type RandomView } from './rightsPairsRights.ts'

/**
 * Declares a view. Its conditions have no `[]`: a key with all rights reads the same rows by conditions in the query, where
 * several `[]` of one property would be merged.
 */
function viewOf(
  name: string,
  plural: string,
  conditions: readonly [name: string, sign: string, value: string][],
  fields: readonly string[] | null,
): RandomView {
  const entity = entities.find((one) => one.plural === plural) as Entity
  const named = (wanted: string) => {
    const found = entity.properties.find((property) => property.name === wanted) ?? findRelated(wholeView(entity), wanted)
    if (!found) throw new Error(`${plural} have no ${wanted}`)
    return found
  }
  const filters = conditions.map(([property, sign, value]): Condition => ({ property: named(property), sign, values: [value] }))
  const shown =
    fields && entity.properties.filter((property: Property) => property === entity.id || fields.includes(property.name))
  return { name, entity, filters, fields: shown }
}

export const VIEWS: readonly RandomView[] = [
  viewOf(
    'Directory',
    'Employees',
    [['Department', '!=', 'department two']],
    [...['DisplayName', 'Department', 'JobTitle', 'CompanyId', 'ManagerId', 'Manager', 'Started']],
  ),
  viewOf(
    'Veterans',
    'Employees',
    [
      ['CompanyId.Name', '!=', 'name one'],
      ['Id', '>', '3'],
    ],
    null,
  ),
  viewOf('Leave', 'Absences', [['EmployeeId', '<=', '15']], ['EmployeeId', 'Employee', 'Type', 'Start', 'End', 'Period.Days']),
  viewOf('Firms', 'Companies', [], ['Name']),
]

export const namedViews: readonly NamedView[] = VIEWS.map((view) =>
  parseNamedView(view.name, addressOf(view.entity.plural, view), entities),
)

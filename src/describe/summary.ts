// Summaries in the OpenAPI document: their parameters, and the schema of a group.
import { Type } from '@sinclair/typebox'
import { type Property, project } from '../model/entity.ts'
import { AGGREGATES } from '../model/names.ts'
import { type Aggregate, groupName, PERIODS } from '../model/summary.ts'
import type { View } from '../model/view.ts'
import { ZONE_NAME_MAX } from '../model/zone.ts'
import { SUMMARY_PAGES } from '../parse/parameters.ts'
import { KEYS_MAX, MEASURES_MAX, takesAggregate, takesKey, takesPeriods } from '../parse/summary.ts'
import { boundedInQuery, bracketRefs, filterRefs, inQuery, listInQuery, mayName, pathParameters } from './parameters.ts'
import { listedPaths } from './related.ts'
import { answeredValue, objectOf, rowSchema } from './rows.ts'
import { objectSchema, oneOf, optionalObject, orNull, type Part, parameterRefs, type Schema, someOf } from './schema.ts'

/** Returns the parameters of a summary: filters, group keys, aggregates, sort, paging. D76 */
export function summaryParameters(entity: View): Part[] {
  const { properties } = entity
  return [
    ...filterRefs(entity),
    listInQuery(
      'groupBy',
      'The properties by which rows are grouped, or periods of dates; a row counts as a whole in the period of its date. Without it: one group.',
      someOf(oneOf([...properties, ...listedPaths(entity)].filter(takesKey).flatMap(keyNames)), KEYS_MAX),
    ),
    ...(properties.some(({ kind }) => kind.temporal === 'instant') ? [ZONE] : []),
    ...aggregatesOf(entity).map(([aggregate, taken]) => {
      const names = oneOf(taken.map(({ name }) => name))
      return listInQuery(aggregate, MEANINGS[aggregate], someOf(names, MEASURES_MAX))
    }),
    listInQuery(
      'sort',
      'The order of groups: keys as in `groupBy`, `count`, or a requested sum, such as `sum(…)`; `-` in front for descending. Ties are in the order of the keys, which is also the default.',
      someOf(Type.String({ pattern: '^[+-]?[A-Za-z]' })),
    ),
    boundedInQuery('PageSize', 'Groups of a page', SUMMARY_PAGES),
    ...parameterRefs('Page', 'Bom', 'Excel', 'Locale'),
    ...bracketRefs(entity),
    ...parameterRefs(...Object.keys(pathParameters(entity)), mayName(entity)),
  ]
}

const ZONE = inQuery(
  'zone',
  'The time zone of periods of date-times, by its IANA name: `groupBy=month(Start)&zone=Europe/Amsterdam`. Without it: UTC. Without such periods it is 400 `InvalidZone`.',
  Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_+/-]*$', maxLength: ZONE_NAME_MAX }),
  'Europe/Amsterdam',
)

/** Returns the aggregates that the entity's properties support, each with the properties that support it. */
function aggregatesOf(view: View): [Aggregate, Property[]][] {
  return AGGREGATES.map((aggregate): [Aggregate, Property[]] => [
    aggregate,
    [...view.properties, ...listedPaths(view)].filter((property) => takesAggregate(property, aggregate)),
  ]).filter(([, taken]) => taken.length > 0)
}

function keyNames(property: Property): string[] {
  const periods = takesPeriods(property) ? PERIODS.map((period) => groupName({ property, period })) : []
  return [property.name, ...periods]
}

const MEANINGS: Readonly<Record<Aggregate, string>> = {
  sum: 'Properties whose values are added up, exactly: numbers other than ids.',
  average: 'Properties whose average is taken, rounded half away from zero to 8 places: numbers other than ids.',
  minimum: 'Properties of which the least value is taken.',
  maximum: 'Properties of which the greatest value is taken.',
}

/** Returns the schema of a group: its group keys, its count, and its aggregates, which are null if no row has a value. */
export function groupSchema(entity: View): Schema {
  const { properties } = rowSchema(entity)
  const aggregates = aggregatesOf(entity).map(([aggregate, taken]) => [aggregate, aggregatedSchema(entity, aggregate, taken)])
  const optional = optionalObject({ ...properties, ...Object.fromEntries(aggregates) })
  const count = Type.Integer({ format: 'int64', minimum: 0, description: 'Rows of the group.' })
  return objectSchema({ ...optional.properties, count }, { description: 'A group of a summary.' })
}

function aggregatedSchema(entity: View, aggregate: Aggregate, taken: readonly Property[]): Schema {
  const isOfKind = aggregate === 'minimum' || aggregate === 'maximum'
  const schemaOf = (property: Property) => (isOfKind ? withoutReadOnly(answeredValue(property, entity)) : Type.Number())
  return objectOf(project(entity, new Set(taken)).members, (property) => orNull(schemaOf(property)), optionalObject, false)
}

/** Returns the schema without `readOnly`, which means nothing for a group: none of its values can be written. */
function withoutReadOnly({ readOnly: _, ...schema }: Schema): Schema {
  return Type.Unsafe(schema)
}

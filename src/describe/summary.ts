// Summaries in the OpenAPI document: their parameters, and the schema of a group.
import { type Entity, type Property, project } from '../model/entity.ts'
import { AGGREGATES } from '../model/names.ts'
import { type Aggregate, groupName, PERIODS } from '../model/summary.ts'
import { SUMMARY_PAGES } from '../parse/parameters.ts'
import { KEYS_MAX, MEASURES_MAX, takesAggregate, takesKey, takesPeriods } from '../parse/summary.ts'
import { objectSchema, parameterRefs, type Schema } from './headers.ts'
import { boundedInQuery, bracketParameters, filterParameter, listInQuery } from './parameters.ts'
import { answeredValue, objectOf, optional, rowSchema } from './rows.ts'

/** Returns the parameters of a summary: filters, keys, aggregates, sort, paging. D76 */
export function summaryParameters(entity: Entity): Schema[] {
  const { properties } = entity
  return [
    ...properties.map((property) => filterParameter(entity, property)),
    listInQuery(
      'groupBy',
      'The properties by which rows are grouped, dates by their period in UTC too, to which a row belongs whole. Without it: one group.',
      {
        minItems: 1,
        items: { type: 'string', enum: properties.filter(takesKey).flatMap(keyNames) },
        maxItems: KEYS_MAX,
      },
    ),
    ...aggregatesOf(entity).map(([aggregate, taken]) => {
      const items = { type: 'string', enum: taken.map(({ name }) => name) }
      return listInQuery(aggregate, MEANINGS[aggregate], { minItems: 1, items, maxItems: MEASURES_MAX })
    }),
    listInQuery(
      'sort',
      'The order of groups: keys as in `groupBy`, `count`, or a sum that is asked for, as `sum(…)`; `-` in front for descending. Ties, and all without it, by the keys.',
      { minItems: 1, items: { type: 'string', pattern: '^[+-]?[A-Za-z]' } },
    ),
    boundedInQuery('PageSize', 'Groups of a page', SUMMARY_PAGES),
    ...parameterRefs('Page', 'Bom', 'Excel', 'Locale'),
    ...properties.flatMap((property) => bracketParameters(entity, property)),
  ]
}

/** Returns the aggregates that properties of the entity support, with these properties. */
function aggregatesOf({ properties }: Entity): [Aggregate, Property[]][] {
  return AGGREGATES.map((aggregate): [Aggregate, Property[]] => [
    aggregate,
    properties.filter((property) => takesAggregate(property, aggregate)),
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

/** Schema of a group: its keys, the count, and aggregates, which are null if no row has a value. */
export function groupSchema(entity: Entity): Schema {
  const { properties } = rowSchema(entity) as { properties: Record<string, Schema> }
  const count = { type: 'integer', format: 'int64', minimum: 0, description: 'Rows of the group.' }
  const aggregates = aggregatesOf(entity).map(([aggregate, taken]) => [aggregate, aggregatedSchema(entity, aggregate, taken)])
  return {
    description: 'A group of a summary.',
    ...objectSchema({ ...properties, count, ...Object.fromEntries(aggregates) }, ['count']),
  }
}

function aggregatedSchema(entity: Entity, aggregate: Aggregate, taken: readonly Property[]): Schema {
  const isOfKind = aggregate === 'minimum' || aggregate === 'maximum'
  const schemaOf = (property: Property) => (isOfKind ? orNull(answeredValue(property, entity)) : { type: ['number', 'null'] })
  return objectOf(project(entity, new Set(taken)).members, schemaOf, optional, 'object')
}

function orNull({ readOnly: _, ...schema }: Schema): Schema {
  return { ...schema, type: [...new Set([schema.type, 'null'].flat())] }
}

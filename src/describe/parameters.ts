// Parameters in the OpenAPI document: those that operations share, and those of an entity's list.
import { type TArray, Type } from '@sinclair/typebox'
import type { Access } from '../model/access.ts'
import type { Entity, Property } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'
import { ANY_IN_WORDS, brackets } from '../model/operators.ts'
import type { View } from '../model/view.ts'
import { FILTERS_MAX, RELATED_FILTERS_MAX } from '../parse/filter.ts'
import { writableNames } from '../parse/may.ts'
import { type Bounds, LIST_PAGES } from '../parse/parameters.ts'
import { shownView } from './accesses.ts'
import { bracketSchema, filterSchema, prefixesFor } from './conditions.ts'
import { exampleOf } from './exampleRow.ts'
import { inWords, listedPaths } from './related.ts'
import { oneOf, type Part, parameterRefs, type Schema, schemaRef, someOf } from './schema.ts'

/** Pattern of the values of `Idempotency-Key` that `parse/headers.ts` accepts. */
const IDEMPOTENCY_KEY_PATTERN = '^(?:"(?:[ !#-\\[\\]-~]|\\\\["\\\\]){1,255}"|[!#-+\\--:<-\\[\\]-~]{1,255})$'

/** Pattern of `*`, or of a list of entity tags. RFC 9110, 13.1.1 */
const TAGS_PATTERN = '^(?:\\*|(?:W/)?"[!#-~]*"(?:, (?:W/)?"[!#-~]*")*)$'

const parameter = (location: object, name: string, description: string, schema: Schema, example?: unknown): Part => ({
  name,
  ...location,
  description,
  schema,
  example,
})
export const inPath = parameter.bind(null, { in: 'path', required: true })
/** Returns a parameter of a query string. */
export const inQuery = parameter.bind(null, { in: 'query' })
const inHeader = parameter.bind(null, { in: 'header' })

/**
 * Returns a query parameter with an integer. The server takes an integer out of bounds as the nearest bound. `more`: end of the
 * description.
 */
export function boundedInQuery(name: string, what: string, { min, max, normal }: Bounds, more = ''): Part {
  const description = `${what}: ${min} to ${max}; other integers count as the nearest of these.${more}`
  return inQuery(name, description, Type.Integer({ default: normal }), normal)
}

const SWITCH = oneOf(['0', '1'], { default: '0' })

export const sharedParameters: Readonly<Record<string, Part>> = {
  Id: inPath(
    'id',
    'The id of the row. An id that no row has, or can have, is 404.',
    Type.Integer({ format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    1,
  ),
  PageSize: boundedInQuery('PageSize', 'Rows of a page', LIST_PAGES),
  Page: inQuery('page', 'The number of the page. One past the last is empty.', Type.Integer({ minimum: 1, default: 1 }), 1),
  Cursor: inQuery(
    'cursor',
    'A cursor of a `next` or `previous` link, by which the server finds the page at any depth. Any other text is 400 `InvalidCursor`.',
    Type.String({ minLength: 1 }),
  ),
  Bom: inQuery(
    'bom',
    'Whether a CSV begins with a byte order mark, by which Excel sees that it is UTF-8. `1` needs `Accept: text/csv`, else it is 400 `InvalidForm`.',
    SWITCH,
  ),
  Excel: inQuery(
    'excel',
    'Whether texts of a CSV get an apostrophe wherever a spreadsheet might begin a formula (`= + - @` at the beginning, or after `;`, a tab, `|` or a line break), and date-times are written as `2026-03-01 09:00:00`, in UTC. `1` needs `Accept: text/csv`, else it is 400 `InvalidForm`.',
    SWITCH,
  ),
  Locale: inQuery(
    'locale',
    'The language of the spreadsheet that reads a CSV, such as `de`. If the language has decimal commas, the CSV has them, too, and semicolons separate its cells. It needs `Accept: text/csv`, else it is 400 `InvalidForm`.',
    Type.String({ pattern: '^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$' }),
    'de',
  ),
  RequestId: inHeader(
    'X-Request-Id',
    'An id that you choose for the request, up to 128 of `A-Z a-z 0-9 _ . : / + = ~ -`. The response and the log repeat it; any other text is replaced by a new id.',
    Type.String(),
    '4bf92f35-77b3',
  ),
  IdempotencyKey: inHeader(
    'Idempotency-Key',
    'A text that you choose for this write, such as a UUID, with or without double quotes. However often the request is sent within 24 hours, it is done once, and each response is the same.',
    Type.String({ pattern: IDEMPOTENCY_KEY_PATTERN }),
    '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
  ),
  IfMatch: inHeader(
    'If-Match',
    'The ETag that the row had when it was read, or several. If the row has none of them any more, the response is 412 `PreconditionFailed`, and nothing is written. `*`: any.',
    Type.String({ pattern: TAGS_PATTERN }),
  ),
  RowsIfMatch: inHeader(
    'If-Match',
    'ETags that rows had when they were read. If a row that matches has none of them any more, the response is 412 `PreconditionFailed`, and nothing is written. `*`: any.',
    Type.String({ pattern: TAGS_PATTERN }),
  ),
  PageIfNoneMatch: inHeader(
    'If-None-Match',
    'The ETag of an earlier response: 304 without a body if that has not changed. Any other text has no effect.',
    Type.String(),
  ),
  IfNoneMatch: inHeader(
    'If-None-Match',
    'The ETag of an earlier response: 304 without a body if that has not changed.',
    Type.String({ pattern: TAGS_PATTERN }),
  ),
}

/** Returns the parameters of an entity's list: filters, sort, paging. Spec 4.2. */
export function listParameters(entity: View): Part[] {
  const { properties } = entity
  return [
    ...filterRefs(entity),
    {
      ...listInQuery(
        'sort',
        'The order: properties separated by commas, `+` or nothing in front for ascending, `-` for descending. Ties are broken by id.',
        Type.Array(schemaRef(`${entity.name}Sort`)),
      ),
      // Example: descending by the last property, then ascending by the first.
      example: [`-${properties.at(-1)?.name}`, `+${properties[0]?.name}`],
    },
    fieldsParameter(entity),
    ...parameterRefs('PageSize', 'Page', 'Cursor', 'Bom', 'Excel', 'Locale'),
    // These come last, so that generated clients with positional parameters keep working.
    ...bracketRefs(entity),
    ...parameterRefs(...Object.keys(pathParameters(entity)), mayName(entity)),
  ]
}

/**
 * Returns the filter parameters on related properties, by their names in `components`. The list and the summary of an entity
 * share them.
 */
export const pathParameters = memoize((view: View) => {
  const parts = listedPaths(view).flatMap((property) => [filterParameter(view, property), ...bracketParameters(view, property)])
  return componentsOf(view, parts)
})

/**
 * Returns the filter parameters on an entity's own properties, by their names in `components`. The lists and the writes of an
 * entity share them.
 */
export const ownParameters = memoize((view: View) => ({ ...ownFilters(view), ...ownBrackets(view) }))

const ownFilters = memoize((view: View) =>
  componentsOf(
    view,
    view.properties.map((property) => filterParameter(view, property)),
  ),
)
const ownBrackets = memoize((view: View) =>
  componentsOf(
    view,
    view.properties.flatMap((property) => bracketParameters(view, property)),
  ),
)

/** Returns references to the parameters of `filterParameter`, for all properties of the entity. */
export function filterRefs(view: View): Part[] {
  return parameterRefs(...Object.keys(ownFilters(view)))
}

/** Returns references to the parameters of `bracketParameters`, for all properties of the entity. */
export function bracketRefs(view: View): Part[] {
  return parameterRefs(...Object.keys(ownBrackets(view)))
}

/**
 * Returns parameters by their names in `components`, which may not contain brackets: `EmployeeId.Department[begins]` →
 * `Absence.EmployeeId.Department-begins`.
 */
function componentsOf(view: View, parts: readonly Part[]): Readonly<Record<string, Part>> {
  const keyOf = ({ name }: Part) => `${view.name}.${name}`.replace(/\[(\w+)\]$/, '-$1')
  return Object.fromEntries(parts.map((part) => [keyOf(part), part]))
}

/**
 * Returns the parameters of a write of all rows that match filters. `dryRun` is only described in words, as for a POST. The
 * response to a dry run has a schema of its own, and generated clients can decode only one schema of an operation. D113
 */
export function filteredWriteParameters(view: View): Part[] {
  const names = [...Object.keys(pathParameters(view)), mayName(view), 'RowsIfMatch', 'IdempotencyKey']
  return [...filterRefs(view), ...bracketRefs(view), ...parameterRefs(...names)]
}

/**
 * Returns the name under which `components` has the parameter `may` of an entity. The list and the summary share the parameter.
 */
export function mayName({ name }: Entity): string {
  return `${name}May`
}

/** Returns the parameter `may`, with the names of the properties that it accepts. D109 */
export function mayParameter(access: Access): Record<string, Part> {
  const shown = shownView(access)
  const names = writableNames(access.update?.body ?? shown)
  const name = `(?:${names.map((one) => one.replace('.', '\\.')).join('|')})`
  const named = names.length === 0 ? '' : `(?:\\(${name}(?:,${name})*\\))?`
  const part = inQuery(
    'may',
    'Only rows that you may write in this way: `update`; `update(A,B)`, which sets some properties together; or `delete`. One of your rights must admit it for the row as it is now; the values of a write are checked when it is made. Without such a right, and in views, there are no rows.',
    Type.String({ pattern: `^(?:update${named}|delete)$` }),
    'update',
  )
  return { [mayName(shown)]: part }
}

/** Parameter that chooses the properties of each row. D56 */
export function fieldsParameter(entity: Entity): Part {
  const fields = listInQuery(
    'fields',
    'The properties to return, separated by commas or in repeated parameters; they are returned in the entity’s order. An object’s name stands for all its parts. Default: all.',
    someOf(schemaRef(`${entity.name}Field`)),
  )
  return { ...fields, example: entity.properties.slice(0, 2).map(({ name }) => name) }
}

/**
 * Returns a query parameter with several values. Commas separate the values; if `explode` is true, the parameter is repeated
 * instead.
 */
export function listInQuery(name: string, description: string, schema: TArray, explode = false): Part {
  return { name, in: 'query', description, style: 'form', explode, schema }
}

/** Schema of one name in `fields`: of a property, an object or a related property. */
export function fieldSchema(view: View): Schema {
  const named = [...view.members, ...view.properties, ...listedPaths(view)]
  return oneOf([...new Set(named.map(({ name }) => name))])
}

/** Returns the parameter for a property's filters with the operator in front of the value, such as `LastName=!=Smith`. */
function filterParameter(entity: Entity, property: Property): Part {
  const { name, kind, related } = property
  const prefixes = prefixesFor(kind).map(({ sign }) => `\`${sign}\``)
  const description = `Filters ${entity.plural} by ${inWords(property)}, ${kind.allowed}. Operators: ${prefixes.join(' ')}.`
  if (related) return listInQuery(name, description, filterSchema(kind, filtersMaxOf(property)), true)
  const rules = `Several conditions must all match: a range is two. Up to ${FILTERS_MAX} filters in all.`
  return { ...listInQuery(name, `${description} ${rules}`, filterSchema(kind), true), examples: filterExamples(entity, property) }
}

/** Returns the parameters for a property's filters with the operator in brackets, such as `LastName[begins]=Sm`. */
function bracketParameters({ plural }: Entity, property: Property): Part[] {
  const { name, kind } = property
  const filtersMax = filtersMaxOf(property)
  const serving = brackets.filter((operator) => operator.serves(property))
  return serving.map((operator) => {
    const { isAny, sign, meaning } = operator
    const description = `Filters ${plural} by ${inWords(property)}: ${meaning}.${isAny ? ` \`${name}[]\` is the same.` : ''}`
    return listInQuery(name + (isAny ? ANY_IN_WORDS : sign), description, bracketSchema(kind, operator, filtersMax), true)
  })
}

function filtersMaxOf({ related }: Property): number {
  return related ? RELATED_FILTERS_MAX : FILTERS_MAX
}

function filterExamples(entity: Entity, property: Property): Record<string, Part> {
  if (!property.kind.isCompared)
    return { none: { summary: 'No value', value: [''] }, any: { summary: 'Any value', value: ['!='] } }
  const value = property.examples[0] ?? exampleOf(entity, property)
  const equal = { summary: 'Equal', value: [`${value}`] }
  if (!property.kind.ordered) return { equal, different: { summary: 'Different', value: [`!=${value}`] } }
  const from = { summary: 'From there on', value: [`>=${value}`] }
  return { equal, from, any: { summary: 'Any value', value: ['!='] } }
}

/** Schema of one element of `sort`. D27 */
export function sortSchema({ properties }: Entity): Schema {
  return oneOf(properties.filter(({ kind }) => kind.isCompared).flatMap(({ name }) => [name, `+${name}`, `-${name}`]))
}

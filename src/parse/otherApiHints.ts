// Hints for parameters of other APIs, such as `per_page` or `q`: the hints name our parameters. otherApiFilters.ts has the hints
// for filters.
import { type Entity, isGroup, type View } from '../model/entity.ts'
import { AGGREGATES } from '../model/names.ts'
import { findMember, plain, sortDefinitions } from './names.ts'
import { searchedProperty } from './nearestProperty.ts'
import { hintForExpression, hintForFilter, operandText } from './otherApiFilters.ts'
import type { Parameter } from './parameters.ts'
import { readDirected } from './sortHints.ts'

/** Makes a hint. `inner`: the part of the parameter's name in brackets, or after a dot. */
type Hint = (entity: View, value: string, inner: string) => string

const search: Hint = (entity, value) => {
  const property = searchedProperty(entity)
  return property === null
    ? example(entity)
    : `A search names a property: ${property.name}[contains]=${operandText(value, '<text>')}.`
}
const filter: Hint = (entity, value) => hintForExpression(entity, value)?.trim() ?? example(entity)
const example = (entity: Entity) => `A filter is named after its property, as in ${exampleOf(entity)}=<value>.`

/** Hints for parameters of other APIs that have a different name here, or do not exist here. */
const HINTS: Readonly<Record<string, Hint>> = {
  'limit perPage pageSize pageLimit size take top rows maxResults paginationPageSize paginationLimit': () =>
    'The size of a page is PageSize.',
  'offset skip pageOffset pageNumber pageNo pageIndex p startIndex paginationPage paginationStart': () =>
    'Pages go by their number, from 1: page=2, with PageSize.',
  'pageToken nextToken skipToken continuationToken startingAfter endingBefore pageAfter pageBefore pageCursor': () =>
    'Follow the link rel="next" in the header Link or Location: it has the cursor.',
  'sort order orderBy ordering sortBy sortOrder sorting sorts sortField direction dir': (entity, value, inner) =>
    sortText(entity, value, inner) ?? `The order is sort=${exampleOf(entity)}, descending sort=-${exampleOf(entity)}.`,
  'fields field select columns attributes': (entity, value) =>
    fieldsText(entity, value) ?? `Some of the properties are chosen by fields=Id,${exampleOf(entity)}.`,
  'include includes expand embed populate relations': (view) =>
    `Rows of other entities are not included: ${pathText(view) ?? 'read them by their ids, as in Id[]=1&Id[]=2'}.`,
  'q query search keyword keywords term fulltext find': search,
  'filter filters where': filter,
  'or and not': (entity) =>
    `There is no "or" of several properties; values of one are ${exampleOf(entity)}[]=<value>&${exampleOf(entity)}[]=<value>.`,
  'groupBy group aggregate apply having distinct': summaryHint,
  'sum average avg mean minimum min maximum max': summaryHint,
  'count total totalCount includeCount includeTotalCount inlineCount withCount meta': () =>
    'The total is always there, in the header X-Total-Count.',
  'format output accept export': () =>
    'The form is chosen by the header Accept: application/json, text/csv or application/x-ndjson.',
}

/** Hints that differ in summaries from those of `HINTS`, because groups do not have the members of rows. */
const SUMMARY_HINTS: Readonly<Record<string, Hint>> = {
  'sort order orderBy ordering sortBy sortOrder sorting sorts sortField direction dir': () =>
    'The order is sort=count, descending sort=-count; or sort=-sum(<property>), or something from groupBy.',
  'fields field select columns attributes': () => 'Groups have the properties of groupBy, the count and the aggregates.',
  'aggregate apply metrics measures': () => `Aggregates are ${AGGREGATES.map((name) => `${name}=<property>`).join(', ')}.`,
}

function summaryHint({ plural }: Entity): string {
  return `Groups, counts and sums are at /${plural}/Summary, as in groupBy=<property>&sum=<property>.`
}

const byName = (hints: typeof HINTS) =>
  new Map(Object.entries(hints).flatMap(([names, hint]) => names.split(' ').map((name) => [plain(name), hint] as const)))
const hints = byName(HINTS)
const summaryHints = byName(SUMMARY_HINTS)

/**
 * Returns a hint for a parameter such as `$orderby`, `page[size]` or `filter[status][_eq]`; null if the parameter is unknown, or
 * a property has its name. `known`: parameters of this endpoint.
 */
export function hintForParameter(
  entity: View,
  { name, value }: Pick<Parameter, 'name' | 'value'>,
  known: readonly string[] = [],
) {
  if (name.length > 64 || entity.properties.some((property) => plain(property.name) === plain(name))) return null
  const asFilter = hintForFilter(entity, name, value)
  if (asFilter !== null) return asFilter
  const [, base = name, inner = ''] = /^[^a-z]*([^[.(]+)[[.(]+([^\])]*)/i.exec(name) ?? []
  const isSummary = known.includes('groupBy')
  const find = (key: string) => (isSummary ? summaryHints.get(key) : undefined) ?? hints.get(key)
  const hint = find(plain(name)) ?? find(plain(base))
  // A hint that leads to summaries is of no use in a summary.
  if (hint === undefined || (isSummary && hint === summaryHint)) return null
  return ` ${hint(entity, value, inner)}`
}

/** Maximum number of names that a hint repeats. */
const NAMES_MAX = 10

/** Returns the hint `Write sort=-Start,Name.` for `start.desc,name`; null if the entity has no property of one of the names. */
function sortText(entity: Entity, value: string, inner: string): string | null {
  const isNamed = /[a-z]/i.test(inner)
  const texts = (isNamed ? `${inner} ${value}` : value).split(',', NAMES_MAX + 1)
  const definitions = texts.map((text) => readDirected(text.trim()) ?? signed(text.trim()))
  const sorts = definitions.map(({ name, isDescending }) => {
    const member = findMember(entity, name)
    return member && !isGroup(member) ? `${isDescending ? '-' : ''}${member.name}` : null
  })
  return sorts.includes(null) || sorts.length > NAMES_MAX ? null : `Write sort=${sorts.join(',')}.`
}

function signed(text: string) {
  const [definition] = sortDefinitions(text)
  return { name: definition?.name ?? '', isDescending: definition?.descending ?? false }
}

/** Returns the hint `Write fields=Id,Name.`; null if the entity has no property of one of the names. */
function fieldsText(entity: Entity, value: string): string | null {
  const members = value.split(',', NAMES_MAX + 1).map((name) => findMember(entity, name.trim())?.name)
  return members.includes(undefined) || members.length > NAMES_MAX ? null : `Write fields=${members.join(',')}.`
}

/**
 * Returns the hint `fields names their properties, as in fields=Id,EmployeeId.Department`; null if the view has no paths.
 */
function pathText(view: View): string | null {
  for (const reference of view.properties) {
    const target = view.related(reference)
    if (target) return `fields names their properties, as in fields=Id,${reference.name}.${exampleOf(target)}`
  }
  return null
}

/** Returns the name of a property for examples: the first property after the id. */
function exampleOf({ properties }: Entity): string {
  return properties.find(({ name }) => name !== 'Id')?.name ?? 'Id'
}

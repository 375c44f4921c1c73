// Hints for parameters and operators of other APIs, such as `per_page` or `[like]`: they name ours.
import type { Entity, Property } from '../model/entity.ts'
import { operators } from '../model/operators.ts'

type Hint = (entity: Entity) => string

/** Names of parameters of other APIs, which have another name here, or do not exist. */
const HINTS: Readonly<Record<string, Hint>> = {
  'limit perPage pageSize pageLimit size take top rows maxResults': () => 'The size of a page is PageSize.',
  'offset skip pageOffset pageNumber pageNo pageIndex p startIndex': () =>
    'Pages go by their number, from 1: page=2, with PageSize.',
  'pageToken nextToken continuationToken startingAfter endingBefore': () =>
    'Follow the link rel="next" in the header Link or Location: it has the cursor.',
  'order orderBy ordering sortBy sortOrder sorting sorts sortField direction dir': (entity) =>
    `The order is sort=${exampleOf(entity)}, descending sort=-${exampleOf(entity)}.`,
  'fields field select columns attributes': (entity) => `Some of the properties are chosen by fields=Id,${exampleOf(entity)}.`,
  'include includes expand embed populate relations': () =>
    'Rows of other entities are not included: read them by their ids, as in Id[]=1&Id[]=2.',
  'q query search keyword keywords term filter filters where': (entity) =>
    `A filter is named after its property, as in ${exampleOf(entity)}[contains]=<text>.`,
  'or and not': (entity) =>
    `There is no "or" of several properties; values of one are ${exampleOf(entity)}[]=<value>&${exampleOf(entity)}[]=<value>.`,
  'groupBy group aggregate apply having distinct': ({ plural }) =>
    `Groups, counts and sums are at /${plural}/Summary, as in groupBy=<property>&sum=<property>.`,
  'count total totalCount includeCount includeTotalCount inlineCount withCount meta': () =>
    'The total is always there, in the header X-Total-Count.',
  'format output accept export': () =>
    'The form is chosen by the header Accept: application/json, text/csv or application/x-ndjson.',
}

const hints = new Map(
  Object.entries(HINTS).flatMap(([names, hint]) => names.split(' ').map((name) => [plain(name), hint] as const)),
)

/** Hint for a name such as `$orderby` or `page[size]`; null: unknown, or also a property. `known`: parameters that there are. */
export function hintForForeign(entity: Entity, name: string, known: readonly string[] = []): string | null {
  if (name.length > 64 || entity.properties.some((property) => plain(property.name) === plain(name))) return null
  const hint = hints.get(plain(name)) ?? hints.get(plain(name.replace(/\[.*$/, '')))
  // A summary has these itself.
  return hint === undefined || (hint === hints.get('groupby') && known.includes('groupBy')) ? null : ` ${hint(entity)}`
}

/** Name of a property that most readers would sort and filter by: the first beside the id. */
function exampleOf({ properties }: Entity): string {
  return properties.find(({ name }) => name !== 'Id')?.name ?? 'Id'
}

/** Operators that other APIs write in brackets, and the sign that stands for them here; `null` and its like have no value. */
const BRACKETS: readonly (readonly [RegExp, string, string])[] = [
  [/^(i?like|i?regex|i?contains?|search|match|fts|has|substring)$/, '[contains]', '<text>'],
  [/^i?(begins?|starts?)(with)?$/, '[begins]', '<text>'],
  [/^(in|oneof|\d+)$/, '[]', '<value>'],
  [/^(eq|equals?|is)i?$/, '=', '<value>'],
  [/^(neq?|not|isnot)$/, '!=', '<value>'],
  [/^(lt|before)$/, '<', '<value>'],
  [/^(lte|le|max|to)$/, '<=', '<value>'],
  [/^(gt|after)$/, '>', '<value>'],
  [/^(gte|ge|min|from)$/, '>=', '<value>'],
  [/^(null|isnull|empty)$/, '=', ''],
  [/^(nnull|notnull|exists|nempty)$/, '!=', ''],
]

/** ` Write Name[contains]=<text>.` for `Name[like]`; null: it is nothing known, or no operator of the property. */
export function hintForBracket({ name, kind }: Property, bracket: string): string | null {
  const word = plain(bracket)
  const [, sign, operand] = BRACKETS.find(([pattern]) => pattern.test(word)) ?? []
  if (!operators.some((operator) => operator.sign === sign && operator.serves(kind))) return null
  const separated = sign?.startsWith('[') ? `${sign}=` : sign === '=' ? '=' : `=${sign}`
  return ` Write ${name}${separated}${operand}.`
}

/** `per_page`, `$perPage` and `per-page` are one name. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

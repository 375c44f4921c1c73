import type { Entity, Property } from '../model/entity.ts'

/** Purposes of parameters of other APIs, which have another name here, or do not exist. */
const PURPOSES = {
  size: ['limit', 'perPage', 'pageSize', 'pageLimit', 'size', 'take', 'top', 'rows', 'maxResults'],
  page: ['offset', 'skip', 'pageOffset', 'pageNumber', 'pageNo', 'pageIndex', 'p', 'startIndex'],
  cursor: ['pageToken', 'nextToken', 'continuationToken', 'startingAfter', 'endingBefore'],
  sort: ['order', 'orderBy', 'ordering', 'sortBy', 'sortOrder', 'sorting', 'sorts', 'sortField', 'direction', 'dir'],
  fields: ['fields', 'field', 'select', 'columns', 'attributes', 'include', 'includes', 'expand', 'embed'],
  search: ['q', 'query', 'search', 'keyword', 'keywords', 'term', 'filter', 'filters', 'where'],
} as const satisfies Record<string, readonly string[]>

type Purpose = keyof typeof PURPOSES

const purposes = new Map<string, Purpose>(
  Object.entries(PURPOSES).flatMap(([purpose, names]) => names.map((name) => [plain(name), purpose as Purpose])),
)

/**
 * ` The size of a page is PageSize, ...` for a parameter that other APIs have: `per_page`, `$orderby`, `page[size]`,
 * `filter[Status]`; null for any other name, and for one that a property has as well.
 */
export function hintForForeign(entity: Entity, name: string): string | null {
  if (name.length > 64) return null
  const isOwn = entity.properties.some((property) => plain(property.name) === plain(name))
  const purpose = isOwn ? undefined : (purposes.get(plain(name)) ?? purposes.get(plain(name.replace(/\[.*$/, ''))))
  return purpose === undefined ? null : ` ${hints[purpose](entity)}`
}

const hints: Record<Purpose, (entity: Entity) => string> = {
  size: () => 'The size of a page is PageSize, 5 to 50.',
  page: () => 'Pages go by their number, from 1: page=2, with PageSize.',
  cursor: () => 'Follow the link rel="next" in the header Link or Location: it has the cursor.',
  sort: (entity) => {
    const { name } = exampleOf(entity)
    return `The order is sort=${name}, descending sort=-${name}.`
  },
  fields: (entity) => `Some of the properties are chosen by fields=Id,${exampleOf(entity).name}.`,
  search: (entity) => `There is no search; a filter is named after its property, as in ${exampleOf(entity).name}=<value>.`,
}

/** A property that most readers would sort and filter by: the first beside the id. */
function exampleOf({ properties }: Entity): Property {
  return properties.find(({ name }) => name !== 'Id') ?? (properties[0] as Property)
}

/** `per_page`, `$perPage` and `per-page` are one name. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

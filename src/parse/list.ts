// Parses the query string of a list or of a stream into a typed query, and makes hints for mistakes in sorts.
import { ApiError } from '../errors.ts'
import type { Access } from '../model/access.ts'
import type { Cursors } from '../model/cursor.ts'
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { memoize } from '../model/memoize.ts'
import { RESERVED_PARAMETERS } from '../model/names.ts'
import type { ListQuery, Seek, Sort, StreamQuery } from '../model/query.ts'
import type { View } from '../model/view.ts'
import { addFilter, parseFilter, withFiltersOf } from './filter.ts'
import type { StreamForm } from './headers.ts'
import { parseMay } from './may.ts'
import { findByName, findMember, listed, sortDefinitions } from './names.ts'
import { suggestOrList, suggestProperty } from './nearestProperty.ts'
import {
  type CommonParameters,
  csvFormOf,
  isCommon,
  keepForLinks,
  LIST_PAGES,
  parseFields,
  parseQueryString,
  readCommonParameter,
  rejectUnusedParameters,
} from './parameters.ts'
import { faultOfPath, findRelated, isPath, meantPath } from './paths.ts'
import { directionHint, readDirected } from './sortHints.ts'

interface Parameters extends CommonParameters {
  readonly sorts: Sort[]
  /** Values of all `fields` parameters, joined by commas; null if there are none. */
  fields: string | null
}

/**
 * Parses the query string of a list, without `?`. `cursors`: reads cursors; null: every cursor counts as invalid. `access`: what
 * the caller may write; null: nothing. Spec 4.2 @throws ApiError
 */
export function parseList(view: View, query: string, cursors: Cursors | null = null, access: Access | null = null): ListQuery {
  const read = readParameters(view, query)
  rejectUnusedParameters(read, 'json')
  const { sorts, pageSize, page, cursor, fields, queryWithoutPaging } = read
  const may = parseMay(view, access, read.may)
  const filters = withFiltersOf(view, read.filters, may)
  const seek = cursor === undefined ? null : parseCursor(view, { filters, sorts, may }, cursor, cursors)
  return {
    filters,
    sorts,
    may,
    pageSize: pageSize ?? LIST_PAGES.normal,
    page: page ?? 1,
    seek,
    queryWithoutPaging,
    choice: parseFields(view, fields),
  }
}

/**
 * Parses the query string of a stream of all matching rows, without pages. `access`: what the caller may write; null: nothing.
 * D55 @throws ApiError for the first fault
 */
export function parseStream(view: View, query: string, form: StreamForm, access: Access | null = null): StreamQuery {
  const read = readParameters(view, query)
  rejectUnusedParameters(read, form)
  const { sorts, fields } = read
  const may = parseMay(view, access, read.may)
  const filters = withFiltersOf(view, read.filters, may)
  return { filters, sorts, may, choice: parseFields(view, fields), ...csvFormOf(read) }
}

function readParameters(view: View, query: string): Parameters {
  const read: Parameters = { filters: [], sorts: [], fields: null, queryWithoutPaging: '' }
  const findPurpose = purposeFinder(view.properties)
  for (const parameter of parseQueryString(query)) {
    const { name, value } = parameter
    const purpose = findPurpose(name)
    keepForLinks(read, purpose, parameter)
    if (isCommon(purpose)) readCommonParameter(read, purpose, parameter, LIST_PAGES)
    else if (purpose === 'sort') parseSort(view, value, read.sorts)
    else if (purpose === 'fields') read.fields = read.fields === null ? value : `${read.fields},${value}`
    // For an unknown parameter, `parseFilter` throws an error.
    else addFilter(read.filters, parseFilter(view, parameter))
  }
  return read
}

/**
 * Returns a function that finds the purpose of a parameter by its name, in upper or lower case. The name of a property means a
 * filter.
 */
const purposeFinder = memoize((properties: Entity['properties']) => {
  const filters = properties.map(({ name }) => [name, 'filter'] as const)
  return findByName([...filters, ...RESERVED_PARAMETERS.map((name) => [name, name] as const)])
})

/** Parses a cursor of this list. @throws ApiError InvalidCursor */
function parseCursor(
  view: View,
  list: Pick<ListQuery, 'filters' | 'sorts' | 'may'>,
  text: string,
  cursors: Cursors | null,
): Seek {
  const seek = cursors?.read(view, list, text)
  if (seek) return seek
  const message = 'The cursor is not one of this list: it was altered, or the filters or the sort were.'
  throw new ApiError('InvalidCursor', message, { target: 'cursor' })
}

/** Adds the definitions of one decoded `sort` parameter to `sorts`. Spec 4.2, Sorting. @throws ApiError InvalidSort */
export function parseSort(view: View, text: string, sorts: Sort[]): void {
  for (const { name, descending } of sortDefinitions(text)) {
    const property = findProperty(view, name, sorts)
    if (!sorts.some((sort) => sort.property === property)) sorts.push({ property, descending }) // only the first sort by a property counts
  }
}

function findProperty(view: View, name: string, before: readonly Sort[]): Property {
  if (name === '') throw invalidSort('A sort definition is + or - and the name of a property; one of them is empty.')
  const member = findMember(view, name)
  if (!member) throw invalidSort(`${view.plural} cannot be sorted by ${faultOfSort(view, name, before)}`)
  if (!isGroup(member)) {
    if (!member.kind.isCompared) throw invalidSort(`${member.name} is ${member.kind.allowed}: lists cannot be sorted by it.`)
    return member
  }
  const parts = member.properties.map((part) => part.name).join(', ')
  throw invalidSort(`${member.name} is an object: sort by one of ${parts}.`)
}

/**
 * Returns the end of a message about a name that no property of the view has: a path, a misspelled path, or a misspelled name.
 */
function faultOfSort(view: View, name: string, before: readonly Sort[]): string {
  const path = pathOf(view, name)
  if (path !== null) return `${path}, which stands in another row.${sortHint(view)}`
  const fault = faultOfPath(view, name)
  const hint = fault ? `${fault} Lists are sorted by properties of their own rows.${sortHint(view)}` : hintFor(view, name, before)
  return `"${excerpt(name)}".${hint}`
}

/**
 * Returns the path that a name spells. If the name spells no path, and no property has a similar name, returns the path that the
 * name probably means. Returns null if the name means no path.
 */
function pathOf(view: View, name: string): string | null {
  const related = findRelated(view, readDirected(name)?.name ?? name)
  if (related) return related.name
  return isPath(view, name) || suggestProperty(name, view.properties) !== '' ? null : (meantPath(view, name)?.name ?? null)
}

/**
 * Returns advice for a sort by a related property, which lists do not support. The advice names the copied properties by which
 * the list can be sorted.
 */
function sortHint({ properties }: View): string {
  const copies = properties.filter(({ column }) => properties.some(({ reference }) => reference?.copy?.column === column))
  if (copies.length === 0) return ' Sort in the client.'
  const names = copies.map(({ name }) => name)
  return ` Sort by a copied property: ${listed(names, 'or')}; or in the client.`
}

function hintFor(entity: Entity, text: string, before: readonly Sort[]): string {
  const directed = readDirected(text, before.at(-1)?.property.name)
  const name = directed?.name ?? text
  const member = findMember(entity, name)
  if (!directed || !member || isGroup(member)) return suggestOrList(name, entity.properties)
  return directionHint(member.name, directed.isDescending)
}

function invalidSort(reason: string): ApiError {
  return new ApiError('InvalidSort', reason, { target: 'sort' })
}

// Grammar of rights: a verb and the address of a list, such as `read Absences?Status=Approved&fields=Id,Start,End`.
import { ApiError, Refused } from '../errors.ts'
import { type Right, VERBS, type Verb } from '../model/access.ts'
import { isGroup, type Property, type RelatedPath } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { baseOf, type Collection, isNamedView } from '../model/namedView.ts'
import { AGGREGATES, GROUPING_PARAMETERS, RESERVED_PARAMETERS } from '../model/names.ts'
import { suggest } from '../model/nearest.ts'
import type { Filter } from '../model/query.ts'
import { type View, viewOf, wholeView } from '../model/view.ts'
import { addFilter, parseFilter } from '../parse/filter.ts'
import { findMember, listed } from '../parse/names.ts'
import { parseFields, parseQueryString } from '../parse/parameters.ts'
import { printRight } from './print.ts'

/** Thrown for a text that is not a right of these entities. The message says why, and what to write. */
export class RightError extends Refused {}

/** Maximum length of a right, as it is typed and as it is stored. */
const LENGTH_MAX = 4_000
const WRITE = 'write'
/** HTTP methods that people write in place of verbs, each with the verb that it means. */
const METHODS = new Map<string, Verb>([
  ['get', 'read'],
  ['post', 'create'],
  ['put', 'update'],
  ['patch', 'update'],
])
/** Matches rights in the form of the option --rights, such as `Companies:read`. */
const LISTED = /^[\w*]+:\w+(?:,[\w*]+:\w+)*$/
const FORM = 'a verb and the address of a list, such as read Absences?Status=Approved&fields=Id,Start'
const RIGHT = /^(\S+)\s+\/?([^\s?&]+)(?:\?(.*))?$/s
const BECOMES = /\s+becomes(?:\s+|$)/

/** Parameters of lists and summaries that have no meaning in a right. */
const WITHOUT_MEANING = [...RESERVED_PARAMETERS.filter((name) => name !== 'fields'), ...GROUPING_PARAMETERS, ...AGGREGATES]

/** Function that reads a filter of a right. The roles file has a function of its own, because operands in it can be variables. */
export type ReadFilter = typeof parseFilter

/**
 * Parses one right to an entity or a named view, as typed or as stored. The verb `write` gives three rights: create, update and
 * delete. @throws RightError
 */
export function parseRight(text: string, collections: readonly Collection[], readFilter: ReadFilter = parseFilter): Right[] {
  return parseText(text, 'a right', (trimmed, fail) => parseParts(trimmed, collections, { fail, readFilter }))
}

/** Checks the verb of a right whose collection is not known. @throws RightError */
export function checkVerb(text: string): void {
  parseText(text, 'a right', (trimmed, fail) => {
    verbsOf(trimmed.replace(/\s.*$/s, ''), fail)
    return []
  })
}

/** Functions for a right that is parsed: `readFilter` reads its filters, and `fail` throws errors about it. */
interface Reading {
  readonly fail: Fail
  readonly readFilter: ReadFilter
}

/** Throws an error about the text that is parsed. */
export type Fail = (message: string) => never

/**
 * Parses a text with `parse`, and quotes the text in errors. `what`: noun for the text in errors, such as `a right`. @throws
 * RightError
 */
export function parseText<Parsed extends { readonly text: string }>(
  text: string,
  what: string,
  parse: (trimmed: string, fail: Fail) => Parsed[],
): Parsed[] {
  const trimmed = text.trim().toWellFormed()
  const fail = (message: string): never => {
    throw new RightError(`"${excerpt(trimmed)}": ${message}`)
  }
  const isLong = (one: string) => one.length > LENGTH_MAX
  if (isLong(trimmed)) fail(`${what} has up to ${LENGTH_MAX} characters.`)
  try {
    const parsed = parse(trimmed, fail)
    // The text is stored with percent escapes, and will be parsed again in this form.
    if (parsed.some((one) => isLong(one.text))) fail(`${what} has up to ${LENGTH_MAX} characters, with its percent escapes.`)
    return parsed
  } catch (error) {
    if (error instanceof ApiError) fail(error.message)
    throw error
  }
}

function parseParts(text: string, collections: readonly Collection[], reading: Reading): Right[] {
  const { fail } = reading
  const [address = '', after, ...more] = text.split(BECOMES)
  if (LISTED.test(text)) fail('give rights of this form to --rights.')
  if (more.length > 0) fail('it has "becomes" twice. In a value, write spaces as %20.')
  const [, word = '', collection = '', query = ''] = RIGHT.exec(address) ?? fail(`a right is ${FORM}.`)
  const verbs = verbsOf(word, fail)
  const entity = collectionOf(collection, collections, fail)
  if (isNamedView(entity) && !verbs.includes('read'))
    fail(`${entity.plural} is read-only, since it is a view: give a right to ${word.toLowerCase()} ${entity.base.plural}.`)
  const { filters, fields } = parseConditions(entity, query, reading)
  if (after !== undefined && word.toLowerCase() !== 'update') fail('only update has "becomes".')
  if (fields !== null && verbs.includes('delete'))
    fail('a deletion removes whole rows: give create and update with fields, and delete without.')
  const becomes = after === undefined ? null : parseBecomes(entity, after, reading)
  return verbs.map((verb) => {
    const properties = fields === null ? null : propertiesOf(entity, verb, fields, fail)
    const right = { verb, collection: entity, filters, properties, becomes }
    return { ...right, text: printRight(right) }
  })
}

function verbsOf(word: string, fail: Fail): readonly Verb[] {
  const lower = word.toLowerCase()
  if (lower === WRITE) return VERBS.filter((verb) => verb !== 'read')
  const verb = VERBS.find((one) => one === lower)
  if (verb) return [verb]
  const known = [...VERBS, WRITE]
  const method = METHODS.get(lower)
  return fail(`a right begins with ${listed(known, 'or')}.${method ? ` For ${word} write ${method}.` : suggest(word, known)}`)
}

/** Returns the entity or named view that has this name in addresses, ignoring case. */
export function collectionOf<Of extends Collection>(name: string, collections: readonly Of[], fail: Fail): Of {
  const found = collections.find(({ plural }) => plural.toLowerCase() === name.toLowerCase())
  if (found) return found
  if (name === '*') fail('a right names one collection: give one for each, or --rights *:read.')
  const plurals = collections.map(({ plural }) => plural)
  const hint = suggest(name, plurals) || ` There are ${plurals.join(', ')}.`
  return fail(`there is no collection "${excerpt(name)}".${hint}`)
}

/**
 * Returns the view whose properties filters can name: all properties of the entity. In a right to a named view, too, filters may
 * name properties that the view does not show.
 */
function filteredView(collection: Collection): View {
  const whole = wholeView(baseOf(collection))
  return isNamedView(collection) ? { ...whole, name: collection.name, plural: collection.plural } : whole
}

/** Returns the view whose properties `fields` can name. */
function shownView(collection: Collection): View {
  const whole = wholeView(baseOf(collection))
  if (!isNamedView(collection)) return whole
  return viewOf(collection, new Set(collection.properties), [], '', {
    related: whole.related,
    relatedText: '',
    relatedSignedText: '',
  })
}

/** Parses a query string. Returns its filters, and the text of `fields`, which is null without this parameter. */
export function parseConditions(entity: Collection, query: string, { fail, readFilter }: Reading) {
  const filtered = filteredView(entity)
  const filters: Filter[] = []
  let fields: string | null = null
  for (const parameter of parseQueryString(query)) {
    const { name, value } = parameter
    const meaningless = WITHOUT_MEANING.find((one) => one.toLowerCase() === name.toLowerCase())
    if (name.toLowerCase() === 'fields') fields = fields === null ? value : `${fields},${value}`
    else if (meaningless) fail(`a right has filters and fields; ${meaningless} has no meaning in it.`)
    else addFilter(filters, readFilter(filtered, parameter, ['fields']))
  }
  return { filters, fields }
}

function parseBecomes(entity: Collection, query: string, reading: Reading): readonly Filter[] {
  const { fail } = reading
  const { filters, fields } = parseConditions(entity, query, reading)
  if (fields !== null) fail('put fields before "becomes".')
  if (filters.length === 0) fail('"becomes" needs a filter after it, such as becomes Status=Approved.')
  return filters
}

/**
 * Returns the properties that `fields` names, in the entity's order. The name of an object means all its parts; in a right to
 * write, the parts that clients write.
 */
export function propertiesOf(entity: Collection, verb: Verb, fields: string, fail: Fail): readonly Property[] {
  const { properties = [], related = [] } = parseFields(shownView(entity), fields) ?? {}
  for (const { name, related: path } of related) {
    let last = path as RelatedPath
    while (last.property.related) last = last.property.related
    fail(`${name} stands in another row: give a right to ${verb} ${last.view.plural} with fields=${last.property.name}.`)
  }
  if (verb === 'read') return entity.properties.filter((property) => property === entity.id || properties.includes(property))
  const named = fields.split(',').flatMap((name) => findMember(entity, name) ?? [])
  const readOnly = named.find((member) => (isGroup(member) ? member.properties : [member]).every(({ writable }) => !writable))
  if (readOnly) fail(`${readOnly.name} is read-only, so no right can ${verb} it: leave it out of fields.`)
  return properties.filter(({ writable }) => writable)
}

// Parses named views: a name, and the address of a list of an entity, such as `Directory
// Employees?EmploymentEnd=&fields=Id,Manager`.
import type { Entity } from '../model/entity.ts'
import { type Collection, isNamedView, type NamedView } from '../model/namedView.ts'
import { NAME_ENDS, OWN_PATHS, RESERVED_TYPES } from '../model/names.ts'
import { withProperties } from '../model/view.ts'
import { parseFilter } from '../parse/filter.ts'
import { contradictionOf } from './contradictions.ts'
import { collectionOf, type Fail, parseConditions, parseText, propertiesOf } from './grammar.ts'
import { printAddress } from './print.ts'

const NAME = /^[A-Z][A-Za-z0-9]*$/
const NAME_LENGTH_MAX = 59
const ADDRESS = /^\/?([^\s?&]+)(?:\?(.*))?$/s
const FORM = 'a name and the address of a list, such as view Directory Employees?EmploymentEnd=&fields=Id,DisplayName,JobTitle'

/**
 * Parses a named view. `address`: the list that the view shows, such as `Employees?EmploymentEnd=&fields=Id,DisplayName`;
 * `collections`: the entities, and the views that were parsed before. @throws RightError that names the fault
 */
export function parseNamedView(name: string, address: string, collections: readonly Collection[]): NamedView {
  const [view] = parseText(`view ${name} ${address}`, 'a view', (_, fail) => [parseView(name, address.trim(), collections, fail)])
  return view as NamedView
}

/**
 * Returns a substitute for a view whose line has a fault, so that rights to the view can be read. The substitute shows all rows
 * and properties of its entity.
 */
export function standInView(name: string, base: Entity): NamedView {
  const shown = withProperties(base, new Set(base.properties))
  return Object.freeze({ ...shown, name, plural: name, base, filters: [], text: '' })
}

function parseView(name: string, address: string, collections: readonly Collection[], fail: Fail): NamedView {
  checkViewName(name, collections, fail)
  const [, collection = '', query = ''] = ADDRESS.exec(address) ?? fail(`a view is ${FORM}.`)
  const named = collectionOf(collection, collections, fail)
  if (isNamedView(named)) fail(`a view shows rows of an entity, and ${named.plural} is a view of ${named.base.plural}.`)
  const { filters, fields } = parseConditions(named, query, { fail, readFilter: parseFilter })
  const contradiction = contradictionOf(filters)
  if (contradiction !== null) fail(contradiction)
  const properties = fields === null ? null : propertiesOf(named, 'read', fields, fail)
  const shown = withProperties(named, new Set(properties ?? named.properties))
  const text = `view ${name} ${printAddress(named, filters, properties)}`
  return Object.freeze({ ...shown, name, plural: name, base: named, filters, text })
}

/** Checks that the name can be a path, and that neither the API nor another collection uses it. @throws RightError by `fail` */
function checkViewName(name: string, collections: readonly Collection[], fail: Fail) {
  if (!NAME.test(name) || name.length > NAME_LENGTH_MAX)
    fail(
      `"${name}" cannot be the name of a view: it must begin with a capital letter, and up to ${NAME_LENGTH_MAX - 1} letters A to Z and digits may follow.`,
    )
  const lower = name.toLowerCase()
  if (OWN_PATHS.includes(lower)) fail(`the server has a path /${lower} of its own: give the view another name.`)
  const types = typesOf(name)
  const own = types.find((type) => RESERVED_TYPES.test(type))
  if (own) fail(`the API has a type ${own} of its own: give the view another name.`)
  const lowerTypes = new Set(types.map((type) => type.toLowerCase()))
  for (const other of collections) {
    const isTaken = other.plural.toLowerCase() === lower || typesOf(other.name).some((type) => lowerTypes.has(type.toLowerCase()))
    if (isTaken) fail(`the name is too near to that of ${describe(other)}: give the view another name.`)
  }
}

/** Returns the names of schemas, types and operations that a collection with this name has, or could have. */
function typesOf(name: string): string[] {
  return [...NAME_ENDS, 'Changes'].map((end) => name + end)
}

function describe(collection: Collection): string {
  if (isNamedView(collection)) return `the view ${collection.plural}`
  const { name, plural } = collection
  return name === plural ? `the entity ${name}` : `the entity ${name}, at /${plural}`
}

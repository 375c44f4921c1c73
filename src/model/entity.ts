// Entities, as all other rooms see them: properties, groups, references and rules, built from a declaration.
import { checkDeclaration, checkLength, lengthOf, type Named } from './declaration.ts'
import type { Field, Fields } from './fields.ts'
import { INDEXED_LENGTH_MAX, type Kind, textKind } from './kinds.ts'
import { pascalCase, pluralOf, snakeCase } from './names.ts'

// A declaration imports from here all that it needs.
export { boolean, computed, copied, date, decimal, group, identity, instant, integer, oneOf, reference, text } from './fields.ts'

/** One primitive value of an entity, as everything behind the declaration sees it. */
export interface Property {
  /** Path of the property in the JSON: `['name']`, `['period', 'days']`. */
  readonly path: readonly string[]
  /** As parameters and messages write it: `Name`, `Period.Days`. */
  readonly name: string
  readonly column: string
  readonly kind: Kind
  readonly writable: boolean
  readonly examples: readonly string[]
  /** True if the table has an index on the column and the id, which serves both directions. */
  readonly indexed: boolean
  /** True if every row has a value. */
  readonly required: boolean
  /** Constraint by which no two rows have the same value; null: they may. */
  readonly unique: string | null
  /** Columns from which the database makes its value; none: clients write it, or it is a copy. */
  readonly computedFrom: readonly string[]
  /** The SQL that makes it of those, where the declaration has some. */
  readonly computedBy: string | null
  /** Set on a property that holds the id of another entity's row. */
  readonly reference: Reference | null
}

export interface Reference {
  /** The entity referred to. */
  readonly entity: string
  readonly table: string
  /** Null where nothing is copied. */
  readonly copy: Copy | null
}

/** Columns: of the copied property and of what it is a copy of, and those that the foreign key compares. */
interface Copy {
  readonly column: string
  readonly source: string
  readonly keyColumn: string
  readonly sourceColumn: string
}

/** An object among the properties, such as an absence's period. */
export interface Group {
  readonly name: string
  readonly key: string
  /** All its parts, or those that are chosen. */
  readonly properties: readonly Property[]
  /** All its parts: the object is null where none of these has a value. */
  readonly whole: readonly Property[]
}

/** `later` must not lie before `earlier`; the table has a constraint of that name, for what only it can see. */
export interface Rule {
  readonly constraint: string
  readonly later: Property
  readonly earlier: Property
}

export interface Entity {
  readonly name: string
  /** The path segment, as documentation writes it: `Companies`. */
  readonly plural: string
  readonly table: string
  /** In the order in which responses print them; the first is the id. */
  readonly members: readonly (Property | Group)[]
  /** Every property, those of groups included. */
  readonly properties: readonly Property[]
  readonly id: Property
  readonly rules: readonly Rule[]
  /** The properties of which every row has a value. */
  readonly required: readonly Property[]
}

export function isGroup(member: Property | Group): member is Group {
  return 'properties' in member
}

/** The name of a member in JSON; of a part of an object its own. */
export function keyOf(member: Property | Group): string {
  return isGroup(member) ? member.key : (member.path.at(-1) as string)
}

interface Options {
  /** The path segment; default: the name's plural. */
  plural?: string
  /** Pairs of date-times that must not be the wrong way round: `[later, earlier]`. */
  notBefore?: [string, string][]
}

/** Declares an entity: its routes, SQL, filters, sorts, body checks and JSON all follow from this. */
export function defineEntity(name: string, fields: Fields, options: Options = {}): Entity {
  const plural = options.plural ?? pluralOf(name)
  const named = checkDeclaration(name, plural, fields)
  const table = snakeCase(name)
  const members = Object.entries(fields).map(([key, field]) =>
    'group' in field ? toGroup(table, key, field.group, named) : toProperty(table, [key], field, fields, named),
  )
  const properties = members.flatMap((member) => (isGroup(member) ? member.properties : [member]))
  const propertyNamed = (key: string) => {
    const found = properties.find((property) => property.name.toLowerCase() === key.toLowerCase())
    if (!found) throw new Error(`${name} has no property ${key}`)
    return found
  }
  return Object.freeze({
    name,
    plural,
    table,
    members,
    properties,
    id: propertyNamed('id'),
    rules: (options.notBefore ?? []).map(([later, earlier]) => toRule(table, propertyNamed(later), propertyNamed(earlier))),
    required: properties.filter(({ required }) => required),
  })
}

/** @throws Error where the two cannot be compared */
function toRule(table: string, later: Property, earlier: Property): Rule {
  if (later.kind.name !== earlier.kind.name || !['instant', 'date'].includes(later.kind.name))
    throw new Error(`${later.name} and ${earlier.name} of ${table} must both be dates, or both date-times`)
  const constraint = `${table}_${later.column}_not_before_${earlier.column}`
  checkLength(constraint, (message) => {
    throw new Error(`${table} ${message}`)
  })
  return { constraint, later, earlier }
}

/** @throws Error when a part is required: an object may be null, and PATCH may leave any part of it out */
function toGroup(table: string, key: string, fields: Readonly<Record<string, Field>>, named: readonly Named[]): Group {
  const required = Object.entries(fields).find(([, field]) => field.required)
  if (required) throw new Error(`${key}.${required[0]} of ${table} cannot be required: it is a part of an object`)
  const properties = Object.entries(fields).map(([part, field]) => toProperty(table, [key, part], field, {}, named))
  return { name: pascalCase(key), key, properties, whole: properties }
}

function toProperty(table: string, path: string[], field: Field, siblings: Fields, named: readonly Named[]): Property {
  const column = path.map(snakeCase).join('_')
  const { kind, computedFrom, computedBy } = field
  return {
    path,
    name: path.map(pascalCase).join('.'),
    column,
    kind: computedFrom && computedBy === undefined ? textKind(lengthOf(field, named, INDEXED_LENGTH_MAX)) : kind,
    writable: !field.readOnly,
    examples: field.examples ?? [],
    indexed: field.indexed ?? true,
    required: field.required ?? false,
    unique: field.unique ? `${table}_${column}_unique` : null,
    computedFrom: (computedFrom ?? []).map(snakeCase),
    computedBy: computedBy ?? null,
    reference: field.reference ? toReference(path[0] as string, field.reference, siblings) : null,
  }
}

export function keyColumnOf(column: string): string {
  return `${column}_key`
}

/** The copy of a reference is the sibling that names it; its foreign key stands in a column of its own. */
function toReference(key: string, entity: string, siblings: Fields): Reference {
  const [name, field] =
    Object.entries(siblings).find(
      ([, field]) => 'copied' in field && snakeCase(field.copied?.reference ?? '') === snakeCase(key),
    ) ?? []
  const copied = field && 'copied' in field ? field.copied : undefined
  if (!name || !copied) return { entity, table: snakeCase(entity), copy: null }
  const [column, source] = [snakeCase(name), snakeCase(copied.source)]
  const copy = { column, source, keyColumn: keyColumnOf(column), sourceColumn: keyColumnOf(source) }
  return { entity, table: snakeCase(entity), copy }
}

/** The properties of each row that a request chooses, in the entity's order. */
export interface Projection {
  readonly members: readonly (Property | Group)[]
  /** The chosen properties, with the parts of objects one by one. */
  readonly properties: readonly Property[]
}

/** A choice of these properties, however they are ordered. */
export function project(entity: Entity, chosen: ReadonlySet<Property>): Projection {
  const members = entity.members.flatMap((member): (Property | Group)[] => {
    if (!isGroup(member)) return chosen.has(member) ? [member] : []
    const properties = member.properties.filter((part) => chosen.has(part))
    return properties.length === 0 ? [] : [{ ...member, properties }]
  })
  return { members, properties: entity.properties.filter((property) => chosen.has(property)) }
}

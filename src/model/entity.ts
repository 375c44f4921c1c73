import { type TSchema, Type } from '@sinclair/typebox'
import { booleanKind, decimalKind, instantKind, integerKind, type Kind, textKind } from './kinds.ts'
import { pascalCase, pluralOf, snakeCase } from './names.ts'

/** One primitive value of an entity, as everything behind the declaration sees it. */
export interface Property {
  /** Where it stands in the JSON: `['name']`, `['period', 'days']`. */
  readonly path: readonly string[]
  /** As parameters and messages write it: `Name`, `Period.Days`. */
  readonly name: string
  readonly column: string
  readonly kind: Kind
  readonly writable: boolean
  readonly examples: readonly string[]
  /** Whether the table has an index on it and the id, with which each of its orders is found. */
  readonly indexed: boolean
  /** Columns from which the database makes its value; none: clients write it, or it is a copy. */
  readonly computedFrom: readonly string[]
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
  readonly properties: readonly Property[]
}

/** `later` must not lie before `earlier`; the table has a constraint of that name, for what only it can see. */
interface Rule {
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
  /** Properties and groups by their lower-case name (`name`, `period`, `period.days`). */
  readonly byName: ReadonlyMap<string, Property | Group>
  /** The entity in a response. */
  readonly schema: TSchema
}

export function isGroup(member: Property | Group): member is Group {
  return 'properties' in member
}

/** What a declaration says of one field. */
type Field = Leaf | { readonly group: Record<string, Leaf> }

interface Leaf {
  readonly kind: Kind
  readonly readOnly?: boolean
  readonly examples?: readonly string[]
  readonly indexed?: boolean
  readonly reference?: string
  readonly computedFrom?: readonly string[]
  readonly copied?: { readonly reference: string; readonly source: string }
}

/** What every property may say of itself, but ids and references: by those, rows of others look for it. */
interface Indexing {
  /** `false`: each row is written into an index less; to filter and sort by it reads all rows, within the deadline. */
  indexed?: boolean
}

// Two names of 200 and the space between.
const READ_ONLY_LENGTH_MAX = 401

/** The id that the service generates on creation. */
export const identity = (): Leaf => ({ kind: integerKind(false), readOnly: true })

/** Text of at most `lengthMax` (200) code points. */
export const text = ({
  lengthMax = 200,
  ...options
}: { lengthMax?: number; examples?: string[] } & Indexing = {}): Leaf => ({
  kind: textKind(lengthMax),
  ...options,
})

/** True or false, never null. */
export const boolean = (options: Indexing = {}): Leaf => ({ kind: booleanKind, ...options })

/** A date-time to the second, in UTC. */
export const instant = (options: Indexing = {}): Leaf => ({ kind: instantKind, ...options })

/** An exact number of 0 or more with 10 digits before the point and `scale` after it. */
export const decimal = (scale: number, options: Indexing = {}): Leaf => ({ kind: decimalKind(10, scale), ...options })

/** The id of a row of `entity`. */
export const reference = (entity: string): Leaf => ({ kind: integerKind(true), reference: entity })

/** Read-only: the property `source` of the row that the property `reference` names, kept right by the database. */
export const copied = (reference: string, source: string, options: Indexing = {}): Leaf => ({
  kind: textKind(READ_ONLY_LENGTH_MAX),
  readOnly: true,
  copied: { reference, source },
  ...options,
})

/** Read-only text that the database makes from other properties of the row, which `from` names. */
export const computed = (from: readonly string[], options: Indexing = {}): Leaf => ({
  kind: textKind(READ_ONLY_LENGTH_MAX),
  readOnly: true,
  computedFrom: from,
  ...options,
})

/** An object: its parts are properties of their own, with a dot in the name. */
export const group = (fields: Record<string, Leaf>): Field => ({ group: fields })

interface Options {
  /** The path segment; default: the name's plural. */
  plural?: string
  /** Pairs of date-times that must not be the wrong way round: `[later, earlier]`. */
  notBefore?: [string, string][]
}

/** Declares an entity: its routes, SQL, filters, sorts, body checks and JSON all follow from this. */
export function defineEntity(name: string, fields: Record<string, Field>, options: Options = {}): Entity {
  const table = snakeCase(name)
  const members = Object.entries(fields).map(([key, field]) =>
    'group' in field ? toGroup(key, field.group) : toProperty([key], field, fields),
  )
  const properties = members.flatMap((member) => (isGroup(member) ? member.properties : [member]))
  const byName = new Map([...members, ...properties].map((member) => [member.name.toLowerCase(), member]))
  const propertyNamed = (key: string) => {
    const member = byName.get(key.toLowerCase())
    if (!member || isGroup(member)) throw new Error(`${name} has no property ${key}`)
    return member
  }
  return Object.freeze({
    name,
    plural: options.plural ?? pluralOf(name),
    table,
    members,
    properties,
    id: propertyNamed('id'),
    rules: (options.notBefore ?? []).map(([later, earlier]) => ({
      constraint: `${table}_${snakeCase(later)}_not_before_${snakeCase(earlier)}`,
      later: propertyNamed(later),
      earlier: propertyNamed(earlier),
    })),
    byName,
    schema: schemaOf(members),
  })
}

function toGroup(key: string, fields: Record<string, Leaf>): Group {
  return {
    name: pascalCase(key),
    key,
    properties: Object.entries(fields).map(([part, leaf]) => toProperty([key, part], leaf, {})),
  }
}

function toProperty(path: string[], leaf: Leaf, siblings: Record<string, Field>): Property {
  return {
    path,
    name: path.map(pascalCase).join('.'),
    column: path.map(snakeCase).join('_'),
    kind: leaf.kind,
    writable: !leaf.readOnly,
    examples: leaf.examples ?? [],
    indexed: leaf.indexed ?? true,
    computedFrom: (leaf.computedFrom ?? []).map(snakeCase),
    reference: leaf.reference ? toReference(path[0] as string, leaf.reference, siblings) : null,
  }
}

export function keyColumnOf(column: string): string {
  return `${column}_key`
}

/** The copy of a reference is the sibling that names it; its foreign key stands in a column of its own. */
function toReference(key: string, entity: string, siblings: Record<string, Field>): Reference {
  const [name, field] =
    Object.entries(siblings).find(([, field]) => 'copied' in field && field.copied?.reference === key) ?? []
  const copied = field && 'copied' in field ? field.copied : undefined
  return { entity, table: snakeCase(entity), copy: name && copied ? toCopy(snakeCase(name), copied.source) : null }
}

function toCopy(column: string, sourceName: string): Copy {
  const source = snakeCase(sourceName)
  return { column, source, keyColumn: keyColumnOf(column), sourceColumn: keyColumnOf(source) }
}

function schemaOf(members: readonly (Property | Group)[]): TSchema {
  const entries = members.map((member): [string, TSchema] =>
    isGroup(member)
      ? [member.key, Type.Union([schemaOf(member.properties), Type.Null()])]
      : [member.path.at(-1) as string, member.kind.schema],
  )
  return Type.Object(Object.fromEntries(entries), { additionalProperties: false })
}

// Entities as all rooms see them: properties, groups, references and rules, built from a declaration.
import { checkDeclaration, checkLength, lengthOf, type NamedField } from './declaration.ts'
import type { Field, Fields } from './fields.ts'
import { INDEXED_LENGTH_MAX, type Kind, textKind } from './kinds.ts'
import { pascalCase, pluralOf, snakeCase } from './names.ts'
import type { Operator } from './operators.ts'

// Re-exported, so that a declaration imports from this file only.
export {
  boolean,
  computed,
  copied,
  date,
  decimal,
  group,
  identity,
  instant,
  integer,
  json,
  oneOf,
  reference,
  text,
  uuid,
} from './fields.ts'

/** A property of an entity, or a part of an object of the entity. */
export interface Property {
  /** Path of the property in JSON: `['name']`, `['period', 'days']`. */
  readonly path: readonly string[]
  /** Name in parameters and messages: `Name`, `Period.Days`. */
  readonly name: string
  readonly column: string
  readonly kind: Kind
  readonly writable: boolean
  readonly examples: readonly string[]
  /** True if the table has an index on the column and the id, which serves sorts in both directions. */
  readonly indexed: boolean
  /** True if every row has a value. */
  readonly required: boolean
  /** Name of the unique constraint; null if rows may share a value. */
  readonly unique: string | null
  /** Columns from which the database computes the value; empty if clients write the value, or it is copied. */
  readonly computedFrom: readonly string[]
  /** SQL expression of a computed property; null if the values of `computedFrom` are joined by spaces. */
  readonly computedBy: string | null
  /** Set if the property holds the id of another row. */
  readonly reference: Reference | null
  /** Set for a related property: a property of another row, to which a reference leads. */
  readonly related: RelatedPath | null
}

/** A resolved path: the reference with which it begins, and the property to which it leads. */
export interface RelatedPath {
  /** The reference with which the path begins, a property of the entity itself. */
  readonly reference: Property
  /** The referred entity as the request may read it. A row outside of this view counts as a row without values. */
  readonly view: View
  /** The property of the referred entity: its own, or a related property to which a second reference leads. */
  readonly property: Property
}

export interface Reference {
  /** Name of the entity that is referred to. */
  readonly entity: string
  readonly table: string
  /** True if rows refer to rows of the same entity. */
  readonly isToItself: boolean
  /** The entity that is referred to; null until `linkReferences` has found it. */
  target: Entity | null
  /** Columns of the copied value; null if nothing is copied. */
  readonly copy: Copy | null
}

/**
 * Columns of a copy: `source` of the referred row is copied to `column`. The foreign key compares `keyColumn` with
 * `sourceColumn`.
 */
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
  /** Parts of the object: all, or only those that a request chooses. */
  readonly properties: readonly Property[]
  /** All parts of the object, even if a request chooses only some. If none of them has a value, the object is null. */
  readonly allProperties: readonly Property[]
}

/** A rule that `later` is not before `earlier`. A check constraint of the table, named `constraint`, enforces it. */
export interface Rule {
  readonly constraint: string
  readonly later: Property
  readonly earlier: Property
  /** Word for a row during its span from `earlier` to `later`, such as `away`; null: there is no such word. */
  readonly during: string | null
}

export interface Entity {
  readonly name: string
  /** Path segment: `Companies`. */
  readonly plural: string
  readonly table: string
  /** Properties and objects in the order of responses; the first is the id. */
  readonly members: readonly (Property | Group)[]
  /** All properties, including those of objects. */
  readonly properties: readonly Property[]
  readonly id: Property
  readonly rules: readonly Rule[]
  /** Properties of which every row has a value. */
  readonly required: readonly Property[]
}

/**
 * An entity as a key may read it. Parsers, writers and hints get the view in place of the entity, so they never learn of a hidden
 * property. The properties of a view are the same objects as those of the entity. Statements use the table and columns of
 * `whole`.
 */
export interface View extends Entity {
  /** The declared entity. Rows of statements and of copies have its columns, in its order. */
  readonly whole: Entity
  /** Collection of the right: the declared entity, or a named view of it. */
  readonly collection: Entity
  /** Filters that the parsers append to the filters of each request. They can name hidden properties. */
  readonly filters: readonly Filter[]
  /** Text of the right, the same in every process, to which caches and cursors are bound. '' for a whole entity. */
  readonly text: string
  /**
   * `text`, but with the variables `{today}` and `{now}` instead of their values, so that cursors stay valid when the time
   * changes.
   */
  readonly signedText: string
  /**
   * Returns the view of the rows to which a reference leads. Returns null if the key may not read these rows: then no path leads
   * through the reference.
   */
  related(reference: Property): View | null
  /**
   * Text of the rights to read the entities to which paths can lead; caches are bound to it, too. '' if the key reads these
   * entities whole.
   */
  readonly relatedText: string
  /** `relatedText`, but with the variables `{today}` and `{now}` instead of their values. */
  readonly relatedSignedText: string
}

export interface Filter {
  readonly property: Property
  readonly operator: Operator
  /** Operand as text for PostgreSQL, an array for `[]`. Null: the operand is empty, which means "no value". */
  readonly value: string | null
  /** Values of `[]` without duplicates; a null in this list stands for "no value". */
  readonly anyOf?: readonly (string | null)[]
  /** View of the rows through which the chain of `[under]` leads. */
  readonly chain?: View
  /** Alternatives of a union, made by `unionFilter`: a row matches if it matches all filters of at least one alternative. */
  readonly either?: readonly (readonly Filter[])[]
  /**
   * For a union: true if few rows match its conditions on referred rows. Then SQL compares the references with a list of the ids
   * of these rows.
   */
  readonly hasFewIds?: boolean
}

export function isGroup(member: Property | Group): member is Group {
  return 'properties' in member
}

/** Returns the name of a member in JSON; for a part of an object, the name inside the object. */
export function keyOf(member: Property | Group): string {
  return isGroup(member) ? member.key : (member.path.at(-1) as string)
}

interface Options {
  /** Path segment; default: the plural of the name. */
  plural?: string
  /**
   * Pairs of dates or date-times that must be in order: `[later, earlier]`, and a word for a row during the span between them,
   * such as `away`.
   */
  notBefore?: [later: string, earlier: string, during?: string][]
}

/** Declares an entity; its routes, SQL, filters, sorts, body checks and JSON all follow from the declaration. */
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
    rules: (options.notBefore ?? []).map(([later, earlier, during = null]) => ({
      ...toRule(table, propertyNamed(later), propertyNamed(earlier)),
      during,
    })),
    required: properties.filter(({ required }) => required),
  })
}

/** Makes a rule. @throws Error if the two properties cannot be compared */
function toRule(table: string, later: Property, earlier: Property): Omit<Rule, 'during'> {
  if (later.kind.name !== earlier.kind.name || later.kind.temporal === null)
    throw new Error(`${later.name} and ${earlier.name} of ${table} must both be dates, or both date-times`)
  const constraint = `${table}_${later.column}_not_before_${earlier.column}`
  checkLength(constraint, (message) => {
    throw new Error(`${table} ${message}`)
  })
  return { constraint, later, earlier }
}

/** Makes an object. @throws Error if a part is required: an object may be null, and PATCH may leave out any part */
function toGroup(table: string, key: string, fields: Readonly<Record<string, Field>>, named: readonly NamedField[]): Group {
  const required = Object.entries(fields).find(([, field]) => field.required)
  if (required) throw new Error(`${key}.${required[0]} of ${table} cannot be required: it is a part of an object`)
  const properties = Object.entries(fields).map(([part, field]) => toProperty(table, [key, part], field, {}, named))
  return { name: pascalCase(key), key, properties, allProperties: properties }
}

function toProperty(table: string, path: string[], field: Field, siblings: Fields, named: readonly NamedField[]): Property {
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
    reference: field.reference ? toReference(table, path[0] as string, field.reference, siblings) : null,
    related: null,
  }
}

/** Sets the target of each reference to the entity that it names; null if `entities` does not contain this entity. */
export function linkReferences(entities: readonly Entity[]): void {
  for (const { properties } of entities)
    for (const { reference } of properties)
      if (reference) reference.target = entities.find(({ name }) => name === reference.entity) ?? null
}

/** Makes a related property: the property of a row to which a reference leads. In JSON, its whole path is a single name. */
export function relatedProperty(reference: Property, view: View, property: Property): Property {
  return {
    path: [`${reference.path.join('.')}.${property.path.join('.')}`],
    name: `${reference.name}.${property.name}`,
    column: `${reference.column}.${property.column}`,
    kind: property.kind,
    writable: false,
    examples: property.examples,
    indexed: false,
    required: false,
    unique: null,
    computedFrom: [],
    computedBy: null,
    reference: property.reference,
    related: { reference, view, property },
  }
}

export function keyColumnOf(column: string): string {
  return `${column}_key`
}

/**
 * Makes a reference. `siblings`: fields of the same entity. If one of them is copied along the reference, the reference also
 * names the columns of this copy.
 */
function toReference(table: string, key: string, entity: string, siblings: Fields): Reference {
  const [name, field] =
    Object.entries(siblings).find(
      ([, field]) => 'copied' in field && snakeCase(field.copied?.reference ?? '') === snakeCase(key),
    ) ?? []
  const copied = field && 'copied' in field ? field.copied : undefined
  const referred = snakeCase(entity)
  const own = { entity, table: referred, isToItself: referred === table, target: null }
  if (!name || !copied) return { ...own, copy: null }
  const column = snakeCase(name)
  const source = snakeCase(copied.source)
  const copy = { column, source, keyColumn: keyColumnOf(column), sourceColumn: keyColumnOf(source) }
  return { ...own, copy }
}

/** The properties that a request has chosen for each row, in the entity's order. */
export interface Projection {
  readonly members: readonly (Property | Group)[]
  /** The chosen properties in a flat list, with the chosen parts of objects in place of the objects. */
  readonly properties: readonly Property[]
  /** The chosen related properties. */
  readonly related: readonly Property[]
}

/** Makes a projection of the chosen properties; related properties come last, in the order of `chosen`. */
export function project(entity: Entity, chosen: ReadonlySet<Property>): Projection {
  const related = [...chosen].filter((property) => property.related !== null)
  const members = entity.members.flatMap((member): (Property | Group)[] => {
    if (!isGroup(member)) return chosen.has(member) ? [member] : []
    const properties = member.properties.filter((part) => chosen.has(part))
    return properties.length === 0 ? [] : [{ ...member, properties }]
  })
  return {
    members: [...members, ...related],
    properties: [...entity.properties.filter((property) => chosen.has(property)), ...related],
    related,
  }
}

// Resources that the reader may read, from the OpenAPI document and the rights: names, properties, kinds, references.
import { Store } from './store.ts'

/** Kinds of values; they decide how filters and cells look. */
export type Kind = 'text' | 'oneOf' | 'uuid' | 'boolean' | 'integer' | 'decimal' | 'date' | 'instant' | 'json'

/** A property, or a part of an object, such as Period.Days. */
export interface Property {
  /** Name in requests, such as `Period.Days`. */
  readonly name: string
  /** Path in responses, such as `['period', 'days']`. */
  readonly path: readonly string[]
  /** Words for people, the same wherever the page names the property: `Period days`, `Employee: Department`. */
  readonly label: string
  readonly kind: Kind
  /** Values that the document names: all values of a `oneOf`, examples of a text. */
  readonly values: readonly string[]
  /** Entity to whose rows the property refers; null if the property is no reference. */
  readonly references: string | null
  /**
   * Name of the reference to the row from which the value is copied: `Employee` → `EmployeeId`. Null: the property is no copied
   * name.
   */
  readonly copiedThrough: string | null
  /**
   * Name of the reference to the row that has the property: `EmployeeId.Department` → `EmployeeId`. Null: the row itself has the
   * property.
   */
  readonly through: string | null
  /** True if the API can search for parts of the text. */
  readonly hasParts: boolean
  /**
   * True if the property refers to rows of the same entity, as the manager of an employee does. Filters can then follow the
   * chain.
   */
  readonly hasChain: boolean
  /** True if rows may have no value. */
  readonly isNullable: boolean
}

/** The properties with the start and the end of a row, such as of an absence. */
export interface Span {
  readonly start: Property
  readonly end: Property
  /**
   * Words for a row from its start to its end, such as `Away`; without such words, the labels of both properties: `Start–End`.
   */
  readonly words: string
}

/** True for an amount; false for a number that identifies a row, such as an id. */
export const isQuantity = ({ kind, name, references }: Property) =>
  kind === 'decimal' || (kind === 'integer' && name !== 'Id' && references === null)

/** An entity of the API, as the OpenAPI document describes it. */
export interface Resource {
  /** Name in paths, such as `Absences`. */
  readonly plural: string
  /** Name of one row, such as `Absence`; for a named view, the name of the view. */
  readonly entity: string
  /**
   * Entity whose rows the resource shows: `Employee` for a view of employees, otherwise `entity` itself. Properties that refer to
   * these rows have this name in `references`.
   */
  readonly rowsOf: string
  readonly properties: readonly Property[]
  /** Properties of the rows to which references lead. */
  readonly related: readonly Property[]
  /** The span of the first pair of dates in the schema's `x-not-before`; null: the reader does not see both dates. */
  readonly span: Span | null
  readonly hasSummary: boolean
  /** True if the summary takes a time zone, in which periods such as months begin. False: they begin in UTC. */
  readonly hasZone: boolean
  /** True if the API can list the changes of a row. */
  readonly hasChanges: boolean
  /** True if the list has the parameter `may`, which finds the rows that a right lets the reader update or delete. */
  readonly hasMay: boolean
  /**
   * Conditions of the rows that may be read: a row must match all conditions of one of the lists. Empty: all rows may be read.
   */
  readonly conditions: readonly (readonly Condition[])[]
}

/** A condition of a right, in the form of a filter. */
export interface Condition {
  readonly name: string
  readonly sign: string
  readonly values: readonly string[]
}

/** A right of the key or person, as `GET /Rights` answers it. */
export interface Right {
  readonly text: string
  /** Text of the right with variables such as `{me.Id}` in place of their values; null for rights of keys. */
  readonly template: string | null
  readonly collection: string
  readonly verb: string
  /** Names of the properties that the reader may see or set by the right; null: all. */
  readonly properties: readonly string[] | null
  readonly filters: readonly RightFilter[]
  /** Conditions that the row must meet after an update; null: the row must still meet the conditions of `filters`. */
  readonly becomes: readonly RightFilter[] | null
}

export interface RightFilter {
  readonly property: string
  readonly operator: string
  readonly value?: string | null
  /** Operands, if the operator is `[]`. */
  readonly values?: readonly (string | null)[]
}

/** Returns a condition of a right in the form of a filter. */
export function conditionOf({ property, operator, value = null, values = [value] }: RightFilter): Condition {
  return { name: property, sign: operator, values: values.map((one) => one ?? '') }
}

/** Resources and rights of a session. `sessionId` is null until the resources and rights are loaded. */
export interface Known {
  readonly sessionId: string | null
  readonly resources: readonly Resource[]
  readonly rights: readonly Right[]
  /** The OpenAPI document, from which forms are made. */
  readonly document: Schema
}

// biome-ignore lint/suspicious/noExplicitAny: the server writes the document, and tests hold it against its specification
export type Schema = any

export const NOTHING: Known = { sessionId: null, resources: [], rights: [], document: null }
export const knownStore = new Store<Known>(NOTHING)

/**
 * Returns the resources of an OpenAPI document: lists whose rows have an id. `rights`: rights of the same key, for the conditions
 * of each resource.
 */
export function resourcesOf(document: Schema, rights: readonly Right[]): Resource[] {
  const memberOf = (found: Schema, name: string) => found?.[name]
  const followed = (part: Schema): Schema => (part?.$ref ? part.$ref.slice(2).split('/').reduce(memberOf, document) : part)
  return Object.keys(document.paths).flatMap((path) => {
    const row = document.paths[`${path}/{id}`]?.get
    const list = document.paths[path].get
    const reads = rights.filter(({ collection, verb }) => verb === 'read' && `/${collection}` === path)
    const schema = row?.responses[200]?.content['application/json'].schema
    const reference: string | undefined = (schema?.anyOf?.[0] ?? schema)?.$ref
    if (!list || !reference || !/^\/[^/{]+$/.test(path)) return []
    const summary = document.paths[`${path}/Summary`]?.get
    const namesOf = ({ parameters }: Schema): string[] => parameters.map((parameter: Schema) => followed(parameter).name)
    const parameters = new Set(namesOf(list))
    const rowSchema = followed({ $ref: reference })
    const entity = reference.split('/').at(-1) as string
    const properties = propertiesOf(rowSchema, [], parameters)
    const schemaOf = (name: string) => document.components.schemas[name]
    return {
      plural: path.slice(1),
      entity,
      rowsOf: rowSchema['x-rows-of'] ?? entity,
      properties,
      related: relatedOf(rowSchema, properties, parameters, schemaOf),
      span: spanOf(rowSchema, properties),
      hasSummary: summary !== undefined,
      hasZone: summary !== undefined && namesOf(summary).includes('zone'),
      hasChanges: document.paths[`${path}/{id}/Changes`]?.get !== undefined,
      hasMay: parameters.has('may'),
      // A row may be read if one right admits it. So a right without filters admits all rows, and no conditions remain.
      conditions: reads.some(({ filters }) => filters.length === 0) ? [] : reads.map(({ filters }) => filters.map(conditionOf)),
    }
  })
}

function spanOf(schema: Schema, properties: readonly Property[]): Span | null {
  const [later = '', earlier = '', during] = schema['x-not-before']?.[0] ?? []
  const end = findNamed(properties, later)
  const start = findNamed(properties, earlier)
  return start && end ? { start, end, words: during ? upperFirst(during) : `${start.label}–${end.label}` } : null
}

/**
 * Returns the collections in which rows of an entity can be found. If the reader may read all rows of a collection, returns only
 * this collection. Otherwise returns all collections, the entity before its views.
 */
export function collectionsOf(entity: string): readonly Resource[] {
  const all = knownStore.value.resources.filter(({ rowsOf }) => rowsOf === entity)
  const isView = (one: Resource) => Number(one.entity !== one.rowsOf)
  const sorted = all.toSorted((one, other) => isView(one) - isView(other))
  const whole = sorted.find(({ conditions }) => conditions.length === 0)
  return whole ? [whole] : sorted
}

/** Returns all properties of a resource: those of its rows, and those of the rows to which their references lead. */
export function allProperties({ properties, related }: Resource): readonly Property[] {
  return [...properties, ...related]
}

/**
 * Returns the properties that are two references away. An address can name them, but menus leave them out, because they are too
 * many.
 */
export function distantProperties({ related }: Resource): Property[] {
  return related.flatMap((reference) => {
    const target = knownStore.value.resources.find(({ entity }) => entity === reference.references)
    return (target?.properties ?? []).map((property) => ({
      ...property,
      name: `${reference.name}.${property.name}`,
      path: [[...reference.path, ...property.path].join('.')],
      label: `${roleOf(reference.label)}: ${property.label}`,
      copiedThrough: property.copiedThrough && `${reference.name}.${property.copiedThrough}`,
      through: reference.name,
    }))
  })
}

/** Finds a property by its name in the API. */
export function findProperty(resource: Resource, name: string): Property | undefined {
  return findNamed(allProperties(resource), name) ?? findNamed(distantProperties(resource), name)
}

function propertiesOf(schema: Schema, above: readonly string[], parameters: ReadonlySet<string>): Property[] {
  return Object.entries<Schema>(schema.properties).flatMap(([key, part]) => {
    if (part['x-through']) return []
    const path = [...above, key]
    if (part.properties) return propertiesOf(part, path, parameters)
    return propertyOf(path, path.map(upperFirst).join('.'), wordsOf(...path), part, parameters)
  })
}

function relatedOf(
  schema: Schema,
  own: readonly Property[],
  parameters: ReadonlySet<string>,
  schemaOf: (entity: string) => Schema,
): Property[] {
  return Object.entries<Schema>(schema.properties).flatMap(([key, part]) => {
    const reference = own.find(({ name }) => name === part['x-through'])
    // The id of the referred row is left out, because it is the value of the reference.
    if (!reference || key === [...reference.path, 'id'].join('.')) return []
    const name = key.split('.').map(upperFirst).join('.')
    const rest = key.slice(reference.name.length + 1)
    const label = `${roleOf(reference.label)}: ${wordsOf(...rest.split('.'))}`
    const copied = schemaOf(reference.references ?? '')?.properties?.[rest]?.['x-copied-through']
    const copiedThrough = copied ? `${reference.name}.${copied}` : null
    return { ...propertyOf([key], name, label, part, parameters), through: reference.name, copiedThrough }
  })
}

function propertyOf(
  path: readonly string[],
  name: string,
  label: string,
  part: Schema,
  parameters: ReadonlySet<string>,
): Property {
  return {
    name,
    path,
    label,
    kind: kindOf(part),
    values: (part.enum ?? part.examples ?? []).filter((value: unknown) => typeof value === 'string'),
    references: part['x-references'] ?? null,
    copiedThrough: part['x-copied-through'] ?? null,
    through: null,
    hasParts: parameters.has(`${name}[contains]`),
    hasChain: parameters.has(`${name}[under]`),
    isNullable: [part.type].flat().includes('null'),
  }
}

/** Returns the kind of a value, by its schema. */
export function kindOf({ type, format, enum: values }: Schema): Kind {
  const name = [type].flat().find((one: string) => one !== 'null')
  if (name === undefined) return 'json'
  if (name === 'boolean' || name === 'integer') return name
  if (name === 'number') return 'decimal'
  if (format === 'date') return 'date'
  if (format === 'date-time') return 'instant'
  if (format === 'uuid') return 'uuid'
  return values ? 'oneOf' : 'text'
}

export const upperFirst = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
export const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1)

/**
 * Returns words for a name, or for an object and its part: `employeeNumber` → `Employee number`; `period`, `days` → `Period
 * days`.
 */
export function wordsOf(...names: readonly string[]): string {
  return upperFirst(
    names
      .map(upperFirst)
      .join('')
      .replace(/([a-z\d])([A-Z])/g, (_, end, start) => `${end} ${start.toLowerCase()}`),
  )
}

/** Returns the role of a referred row, by the label of the reference: `Manager id` → `Manager`. */
export const roleOf = (label: string) => label.replace(/ id$/, '')

/**
 * Returns the heading under which menus show a related property: `Employee: Department` → `Employee`. A property of the row
 * itself has no heading.
 */
export const headingOf = ({ through, label }: Property) => (through === null ? {} : { group: label.replace(/:.*/s, '') })

/** Finds an item by its name. Ignores case, as the API does. */
export function findNamed<Of extends { readonly name: string }>(all: readonly Of[], name: string): Of | undefined {
  return all.find((one) => one.name.toLowerCase() === name.toLowerCase())
}

/** A row, or a part of it. */
export interface Row {
  readonly [name: string]: Value
}
type Value = string | number | boolean | null | Row

/**
 * Returns the value of a property in a row; an object or array as its JSON. Returns null if the property, or the object that
 * contains it, has no value.
 */
export function valueIn(row: Row, { path }: { path: readonly string[] }): string | number | boolean | null {
  let value: Value | undefined = row
  for (const name of path) value = (value as Row | null | undefined)?.[name]
  return plainValue(value as Value | undefined)
}

/** Returns an object or array as its JSON, and a text, number or boolean as it is; null for undefined. */
export function plainValue(value: Value | undefined): string | number | boolean | null {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value ?? null)
}

// What may be written: the rights of the reader to create, change and delete rows, and the fields of which forms consist.
import {
  type Condition,
  conditionOf,
  findNamed,
  type Kind,
  kindOf,
  knownStore,
  type Resource,
  type Right,
  type Row,
  type Schema,
  upperFirst,
  valueIn,
  wordsOf,
} from './resources.ts'

/** A property that may be set. */
export interface FormField {
  /** Name in requests, such as `Period.Days`. */
  readonly name: string
  /** Path in responses, such as `['period', 'days']`. */
  readonly path: readonly string[]
  readonly label: string
  readonly kind: Kind
  /** Suggested values: all values of a `oneOf`, the values that a right allows, or examples of a text. */
  readonly values: readonly string[]
  /** True if the property can have only the values in `values`. */
  readonly isListed: boolean
  /** Maximum number of characters; null: the OpenAPI document names no maximum. */
  readonly lengthMax: number | null
  /** True for a number that may be less than 0. */
  readonly isSigned: boolean
  readonly isNullable: boolean
  readonly isRequired: boolean
  /** True if the property ends a span, and begins none. */
  readonly isEnd: boolean
  /** Entity to whose rows the field refers; null if the property is no reference. */
  readonly references: string | null
  /** Conditions that a right sets for the row to which this field refers. */
  readonly targets: readonly Condition[]
}

/** A right to write. */
export interface WriteRight {
  /** Names of the properties that the right lets the reader set; null: all. */
  readonly properties: readonly string[] | null
  /** Conditions that the row must meet before an update or a deletion, or after a create. */
  readonly conditions: readonly Condition[]
  /**
   * Conditions that the row must meet after an update. They replace `conditions` on the same properties. All other `conditions`
   * must still be met after the update. Null: all `conditions` must still be met.
   */
  readonly becomes: readonly Condition[] | null
}

/** Everything that the reader may write in one collection. */
export interface Writable {
  readonly plural: string
  readonly entity: string
  readonly creates: readonly WriteRight[]
  readonly updates: readonly WriteRight[]
  readonly deletes: readonly WriteRight[]
  readonly createFields: readonly FormField[]
  readonly updateFields: readonly FormField[]
}

let known: { readonly document: Schema; readonly writables: readonly Writable[] } = { document: null, writables: [] }

/** Returns what the reader may write, by collection. */
function writables(): readonly Writable[] {
  const { document, rights } = knownStore.value
  if (document === null) return []
  if (known.document !== document) known = { document, writables: writablesOf(document, rights) }
  return known.writables
}

/** Returns what the reader may write in a collection; undefined if she may write nothing. */
export function writableOf({ plural }: Pick<Resource, 'plural'>): Writable | undefined {
  return writables().find((one) => one.plural === plural)
}

/** Returns collections in which the reader may create rows, but may not read any. */
export function unreadableWritables(): readonly Writable[] {
  const { resources } = knownStore.value
  return writables().filter(({ plural, creates }) => creates.length > 0 && !resources.some((one) => one.plural === plural))
}

function writablesOf(document: Schema, rights: readonly Right[]): Writable[] {
  const plurals = [...new Set(rights.filter(({ verb }) => verb !== 'read').map(({ collection }) => collection))]
  return plurals.map((plural) => {
    const of = (verb: string) => rights.filter((right) => right.collection === plural && right.verb === verb).map(writeRightOf)
    const post = document.paths[`/${plural}`]?.post
    const patch = document.paths[`/${plural}/{id}`]?.patch
    return {
      plural,
      entity: entityOf(document, plural),
      creates: of('create'),
      updates: of('update'),
      deletes: of('delete'),
      createFields: fieldsOf(document, bodySchema(document, post)),
      // JSON is left out, because the page cannot write back all digits of the numbers in it.
      updateFields: fieldsOf(document, bodySchema(document, patch)).filter(({ kind }) => kind !== 'json'),
    }
  })
}

function writeRightOf({ properties, filters, becomes }: Right): WriteRight {
  return { properties, conditions: filters.map(conditionOf), becomes: becomes?.map(conditionOf) ?? null }
}

/**
 * Returns the name of a collection's entity, from the name of a schema: of the response with one row, else of the response to a
 * create. If there is no such schema, returns `plural`.
 */
function entityOf(document: Schema, plural: string): string {
  const operations = [document.paths[`/${plural}/{id}`]?.get, document.paths[`/${plural}`]?.post]
  for (const operation of operations) {
    const answer = operation?.responses[200] ?? operation?.responses[201]
    const schema = answer?.content?.['application/json']?.schema
    const reference: string | undefined = (schema?.anyOf?.[0] ?? schema)?.$ref
    if (reference)
      return reference
        .split('/')
        .at(-1)
        ?.replace(/Written$/, '') as string
  }
  return plural
}

function bodySchema(document: Schema, operation: Schema): Schema {
  const schema = operation?.requestBody?.content['application/json'].schema
  const name: string | undefined = schema?.$ref?.split('/').at(-1)
  return name === undefined ? schema : document.components.schemas[name]
}

function fieldsOf(document: Schema, schema: Schema, above: readonly string[] = []): FormField[] {
  const ends = endsOf(schema?.['x-not-before'] ?? [])
  return Object.entries<Schema>(schema?.properties ?? {}).flatMap(([key, part]) => {
    const path = [...above, key]
    if (part.properties) return fieldsOf(document, part, path)
    const isListed = part.enum !== undefined
    return {
      name: path.map(upperFirst).join('.'),
      path,
      label: wordsOf(...path).replace(/ id$/, part['x-references'] ? '' : '$&'),
      kind: kindOf(part),
      values: (part.enum ?? part.examples ?? []).filter((value: unknown) => typeof value === 'string'),
      isListed,
      lengthMax: part.maxLength ?? null,
      isSigned: part.minimum < 0,
      isNullable: kindOf(part) === 'json' || [part.type].flat().includes('null'),
      isRequired: (schema.required ?? []).includes(key),
      isEnd: ends.has(path.map(upperFirst).join('.')),
      references: part['x-references'] ?? null,
      targets: [],
    }
  })
}

/** Returns the properties that end a span and begin no other span. */
function endsOf(pairs: readonly (readonly [later: string, earlier: string, during?: string])[]): ReadonlySet<string> {
  const beginnings = new Set(pairs.map(([, earlier]) => earlier))
  return new Set(pairs.map(([later]) => later).filter((name) => !beginnings.has(name)))
}

/** True if a right lets the reader set the property. */
export function maySet({ properties }: WriteRight, { name }: Pick<FormField, 'name'>): boolean {
  return properties === null || properties.some((one) => isWithin(name, one))
}

/** True if `name` is `whole`, or a part of this object: `Period.Days` is within `Period`. */
function isWithin(name: string, whole: string): boolean {
  return `${name}.`.toLowerCase().startsWith(`${whole}.`.toLowerCase())
}

/** Returns the only values that a property can have after the write. Returns null if the right does not limit them. */
export function valuesAfter({ conditions, becomes }: WriteRight, name: string): readonly string[] | null {
  const isOf = (condition: Condition) => condition.name.toLowerCase() === name.toLowerCase()
  const own = becomes?.filter(isOf) ?? []
  const found = (own.length > 0 ? own : conditions.filter(isOf)).find(({ sign }) => sign === '=' || sign === '[]')
  return found?.values ?? null
}

/**
 * Returns whether a row meets the conditions of a right. Returns null if the page cannot tell, as for a condition on a path, or
 * on a property that the reader does not see.
 */
export function admits(resource: Resource, { conditions }: WriteRight, row: Row): boolean | null {
  const results = conditions.map((condition) => matches(resource, condition, row))
  if (results.includes(false)) return false
  return results.includes(null) ? null : true
}

function matches({ properties }: Resource, { name, sign, values }: Condition, row: Row): boolean | null {
  const property = findNamed(properties, name)
  if (!property) return null
  const value = valueIn(row, property)
  const isEqual = (operand: string) => (operand === '' ? value === null || value === '' : isSame(property.kind, value, operand))
  const [operand = ''] = values
  if (sign === '=') return isEqual(operand)
  if (sign === '!=') return !isEqual(operand)
  if (sign === '[]') return values.some(isEqual)
  return compares(property.kind, sign, value, operand)
}

function isSame(kind: Kind, value: unknown, operand: string): boolean {
  if (value === null) return false
  if (kind === 'decimal') return Number(value) === Number(operand)
  if (kind === 'instant') return Date.parse(String(value)) === Date.parse(operand)
  return String(value) === operand
}

/** Compares numbers and times. Returns null for texts, whose order only the database knows, and for invalid operands. */
function compares(kind: Kind, sign: string, value: unknown, operand: string): boolean | null {
  const isTime = kind === 'instant' || kind === 'date'
  if (!isTime && kind !== 'decimal' && kind !== 'integer') return null
  if (value === null) return false
  const numberOf = (text: string) => (isTime ? Date.parse(text) : Number(text))
  const difference = numberOf(String(value)) - numberOf(operand)
  const signs: Record<string, boolean> = {
    '<': difference < 0,
    '<=': difference <= 0,
    '>': difference > 0,
    '>=': difference >= 0,
  }
  return Number.isNaN(difference) ? null : (signs[sign] ?? null)
}

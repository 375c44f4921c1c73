// Rows in the OpenAPI document: schemas of responses and of request bodies, from the declaration of an entity.
import { type TObject, type TProperties, Type } from '@sinclair/typebox'
import type { Access, CreateRight } from '../model/access.ts'
import { DECIMAL_DIGITS } from '../model/decimal.ts'
import { type Entity, type Group, isGroup, keyOf, type Property, project } from '../model/entity.ts'
import type { Kind, KindName } from '../model/kinds.ts'
import { withArticle } from '../model/names.ts'
import { DATE_PATTERN } from '../model/plainInstant.ts'
import type { View } from '../model/view.ts'
import { INSTANT_PATTERN, operandPattern } from './conditions.ts'
import { exampleRow } from './exampleRow.ts'
import { listedPaths } from './related.ts'
import { objectSchema, optionalObject, orNull, type Schema } from './schema.ts'

/**
 * Returns the schema of a row in a response. An entity has only one such schema, because generated clients choose wrongly among
 * several. D56
 */
export function rowSchema(view: View): TObject {
  const chosen: ShapeOf = (properties) => optionalObject(properties, { minProperties: 1 })
  const paths = listedPaths(view)
  const schema = objectOf([...view.members, ...paths], (property) => answeredValue(property, view), chosen)
  const own = paths[0] ? ` but those of other rows, such as \`${keyOf(paths[0])}\`` : ''
  const description = `A row with all of these properties${own}; in an answer to a request with \`fields\`, with those that it has chosen.`
  return { description, ...schema, ...orderOf(view), examples: [exampleRow(view)] }
}

/**
 * Returns `x-not-before`: the names of each rule's later and earlier property, and the rule's word `during` if it has one. Forms
 * show the two properties as end and beginning, and lists show them as a span.
 */
function orderOf({ rules }: Entity) {
  const order = rules.map(({ later, earlier, during }) => [later.name, earlier.name, ...(during === null ? [] : [during])])
  return order.length > 0 ? { 'x-not-before': order } : {}
}

/** Schema of a row in the response to a write. D34 */
export function writtenSchema(entity: Entity): Schema {
  const description = 'The row as it is now; only its `id` if you may write but not read it.'
  const schema = objectOf(entity.members, (property) => answeredValue(property, entity))
  return { ...schema, description, required: ['id'], examples: [exampleRow(entity)] }
}

type SchemaOf = (property: Property) => Schema
type ShapeOf = (properties: TProperties) => TObject

/** Returns the schema of a row with these members. `mayPartsBeNull`: true if the objects in the row may be null. */
export function objectOf(
  members: Entity['members'],
  schemaOf: SchemaOf,
  shapeOf: ShapeOf = objectSchema,
  mayPartsBeNull = true,
): TObject {
  const partOf = ({ properties }: Group) => {
    const part = objectOf(properties, schemaOf, shapeOf, mayPartsBeNull)
    return mayPartsBeNull ? orNull(part) : part
  }
  return shapeOf(Object.fromEntries(members.map((own) => [keyOf(own), isGroup(own) ? partOf(own) : schemaOf(own)])))
}

export function answeredValue(property: Property, entity: Entity): Schema {
  if (property.related) return relatedValue(property)
  const { kind, writable, examples, reference } = property
  const through = entity.properties.find((other) => other.reference?.copy?.column === property.column)
  const description = describeProperty(property, entity, through)
  return Type.Unsafe({
    ...valueSchema(kind),
    ...(description === '' ? {} : { description }),
    // Programs read the members that begin with `x-`, because they cannot interpret the description.
    ...(reference ? { 'x-references': reference.entity } : {}),
    ...(through ? { 'x-copied-through': through.name } : {}),
    ...formatOf(kind),
    ...(examples.length === 0 ? {} : { examples }),
    ...(writable ? {} : { readOnly: true }),
  })
}

/** Returns the schema of a related property. Its value is null if the reference names no row. */
function relatedValue(property: Property): Schema {
  const { kind, reference, related } = property
  return Type.Unsafe({
    ...orNull(valueSchema(kind)),
    'x-through': related?.reference.name,
    ...(reference ? { 'x-references': reference.entity } : {}),
    ...formatOf(kind),
    ...(kind.values ? { enum: [...kind.values, null] } : {}),
    readOnly: true,
  })
}

/**
 * Returns the description of a property. `through`: reference to the row from which the property is copied; undefined if it is
 * not copied.
 */
function describeProperty(property: Property, entity: Entity, through: Property | undefined): string {
  if (property === entity.id) return 'Made by the server.'
  if (property.reference) return `The id of ${withArticle(property.reference.entity)}.`
  if (property.computedFrom.length > 0) return 'Made of other properties of the row.'
  return through ? `Copied from the row that \`${through.path.join('.')}\` names.` : ''
}

/**
 * Returns the schema of a value. The compiler does not know the type of the value, because the kind of a property is declared at
 * run time.
 */
function valueSchema({ schema, nullable, values }: Kind): Schema {
  const own = Type.Unsafe(schema)
  if (!nullable) return own
  return { ...orNull(own), ...(values ? { enum: [...values, null] } : {}) }
}

function formatOf({ format }: Kind): { format?: string } {
  return format === null ? {} : { format }
}

interface Bodies {
  /** Names of the schemas by the method of the write. */
  readonly names: { readonly [Method in 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE']?: string }
  readonly schemas: Readonly<Record<string, Schema>>
}

/**
 * Returns the schemas of the request bodies that the key may send. A create and an update share one schema if their schemas are
 * equal.
 */
export function bodiesOf({ whole, create, update }: Access): Bodies {
  const names: { PATCH?: string; PUT?: string; POST?: string } = {}
  const schemas: Record<string, Schema> = {}
  const share = (method: keyof typeof names, schema: Schema) => {
    const wanted = `${whole.name}${schema.required ? 'Complete' : 'Write'}`
    const isOther = wanted in schemas && !Bun.deepEquals(schemas[wanted], schema)
    names[method] = isOther ? `${whole.name}Create` : wanted
    schemas[names[method]] ??= schema
  }
  if (update) share('PATCH', writeSchema(update.body, update.settable, []))
  if (update?.isComplete) share('PUT', writeSchema(update.body, update.settable, whole.required))
  if (create) {
    const required = whole.required.filter((property) => create.rights.every((right) => isNeeded(property, right)))
    share('POST', writeSchema(create.body, create.settable, required))
  }
  return { names, schemas }
}

/** Returns whether a body must have the property: the right lets the key set the property, and has no preset for it. */
function isNeeded(property: Property, { settable, presets }: CreateRight): boolean {
  return settable.has(property) && !presets.has(property)
}

/** Schema of a request body: properties that the key may set, spelled as in responses. Spec 4.1; D7, D8, D65 */
function writeSchema(entity: Entity, settable: ReadonlySet<Property>, required: readonly Property[]): Schema {
  const rules = entity.rules.map(({ later, earlier }) => ` \`${keyOf(later)}\` is not before \`${keyOf(earlier)}\`.`)
  const schema = {
    ...objectOf(project(entity, settable).members, writtenValue, optionalObject),
    ...orderOf(entity),
  }
  if (required.length > 0) {
    const description = 'An omitted property gets its default; required properties have none.'
    return { ...schema, description, required: required.map(keyOf) }
  }
  const description = `No property is required${entity.required.length > 0 ? ' in a PATCH' : ''}. Names match in upper or lower case; the read-only properties of a response may be sent, too, and are ignored.${rules.join('')}`
  return { ...schema, description }
}

/**
 * Maximum of a decimal: the greatest double below the limit. `exclusiveMaximum` could state the limit itself, but generators for
 * Go do not accept a number there.
 */
const DECIMAL_MAX = 10 ** DECIMAL_DIGITS - 0.000001

function writtenValue({ kind, examples, reference }: Property): Schema {
  const schema: Schema = { ...valueSchema(kind), ...formatOf(kind) }
  if (reference) {
    // The schema has no minimum: an integer that cannot be an id is valid, and the server answers it with 409, because it refers
    // to no row.
    const description = `The id of ${withArticle(reference.entity)}.`
    return Type.Unsafe({ type: schema.type, ...formatOf(kind), description, 'x-references': reference.entity })
  }
  return { ...writtenByKind[kind.name](schema, kind), ...(examples.length === 0 ? {} : { examples }) }
}

/** Functions that return the schema of a value as clients write it. `schema`: schema of the value in a response. */
const writtenByKind: Readonly<Record<KindName, (schema: Schema, kind: Kind) => Schema>> = {
  text: (schema) => ({ ...schema, pattern: '^[^\\u0000]*$' }),
  oneOf: (schema) => schema,
  uuid: (schema, kind) => ({ ...schema, pattern: `^${operandPattern(kind)}$` }),
  boolean: (schema) => schema,
  integer: (schema) => schema,
  decimal: (schema, { allowed }) => ({ maximum: DECIMAL_MAX, ...schema, description: allowed }),
  date: (schema) => ({ ...schema, pattern: `^${DATE_PATTERN}$` }),
  // The schema is written out instead of referred to: for a reference to a schema that may be null, ogen makes Go code that does
  // not compile.
  instant: ({ type }) => Type.Unsafe({ ...DATE_TIME, type }),
  json: (schema, { allowed }) => ({ ...schema, description: `${allowed}.` }),
}

/** Schema of the date-times that clients write. `type` is missing, because it depends on whether the property may be null. */
const DATE_TIME = {
  description: 'RFC 3339 with `Z` or an offset; a fraction of a second is dropped. Answers have it in UTC.',
  format: 'date-time',
  pattern: `^${INSTANT_PATTERN}$`,
}

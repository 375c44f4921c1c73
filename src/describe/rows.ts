import { type Entity, type Group, isGroup, keyOf, type Property } from '../model/entity.ts'
import { withArticle } from '../model/names.ts'
import { DATE_PATTERN, INSTANT_PATTERN } from './conditions.ts'
import { exampleRow } from './exampleRow.ts'
import { objectSchema, refTo, type Schema } from './headers.ts'

/** Schemas that those of all rows share. */
export const sharedRowSchemas: Readonly<Record<string, Schema>> = {
  DateTime: {
    description: 'RFC 3339 with `Z` or an offset; a fraction of a second is dropped. Answers have it in UTC.',
    type: ['string', 'null'],
    format: 'date-time',
    pattern: `^${INSTANT_PATTERN}$`,
  },
}

/** A row in an answer: `entity.schema`, with descriptions and examples. */
export function rowSchema(entity: Entity): Schema {
  return { ...objectOf(entity.members, plain(entity.schema), entity), examples: [exampleRow(entity)] }
}

/** A row in an answer to a request with `fields`. D56 */
export function choiceSchema(entity: Entity): Schema {
  const { examples: _, ...schema } = withoutRequired(rowSchema(entity))
  return { description: 'What `fields` has chosen of a row.', ...schema }
}

/** A row in the answer to a write. One schema, since generated clients decide between several wrongly, or not at all. D34 */
export function writtenSchema(entity: Entity): Schema {
  const description = 'The row as it is now; for a key that may write but not read, its `id` alone.'
  return { ...rowSchema(entity), description, required: ['id'] }
}

function withoutRequired({ required: _, ...schema }: Schema): Schema {
  const { properties } = schema as { properties?: Record<string, Schema> }
  if (!properties) return schema
  const parts = Object.entries(properties).map(([key, part]) => [key, withoutRequired(part)])
  return { ...schema, minProperties: 1, properties: Object.fromEntries(parts) }
}

/** An object's schema, that of a row or of a part of it. Null is one of the types, not an alternative. */
function objectOf(members: readonly (Property | Group)[], schema: Schema, entity: Entity): Schema {
  const { properties, ...rest } = schema as { properties: Record<string, Schema> }
  const described = members.map((member) => {
    const key = keyOf(member)
    const own = withNull(properties[key] as Schema)
    return [key, isGroup(member) ? objectOf(member.properties, own, entity) : propertyOf(member, own, entity)]
  })
  return { ...rest, properties: Object.fromEntries(described) }
}

const FORMATS: Readonly<Record<string, string>> = { instant: 'date-time', date: 'date', integer: 'int64' }

function propertyOf(property: Property, schema: Schema, entity: Entity): Schema {
  const { kind, writable, examples, reference } = property
  const through = entity.properties.find((other) => other.reference?.copy?.column === property.column)
  const description = describeProperty(property, entity, through)
  return {
    ...schema,
    ...(description === '' ? {} : { description }),
    // For programs, which cannot read the description.
    ...(reference ? { 'x-references': reference.entity } : {}),
    ...(through ? { 'x-copied-through': through.name } : {}),
    ...(kind.name in FORMATS ? { format: FORMATS[kind.name] } : {}),
    ...(examples.length === 0 ? {} : { examples }),
    ...(writable ? {} : { readOnly: true }),
  }
}

/** `through`: the reference that it is copied through; undefined: it is no copy. */
function describeProperty(property: Property, entity: Entity, through: Property | undefined): string {
  if (property === entity.id) return 'Made by the server.'
  if (property.reference) return `The id of ${withArticle(property.reference.entity)}.`
  if (property.computedFrom.length > 0) return 'Made of other properties of the row.'
  return through ? `Copied from the row that \`${through.path.join('.')}\` names.` : ''
}

/** `{anyOf: [{type: 'string'}, {type: 'null'}]}` → `{type: ['string', 'null']}` */
function withNull(schema: Schema): Schema {
  const [some, none] = (schema.anyOf ?? []) as Schema[]
  if (!some || none?.type !== 'null') return schema
  const { enum: values } = some as { enum?: readonly string[] }
  return { ...some, type: [some.type, 'null'], ...(values ? { enum: [...values, null] } : {}) }
}

/** Without what TypeBox keeps for itself. */
function plain(schema: object): Schema {
  return JSON.parse(JSON.stringify(schema))
}

/** A body: what clients may write, in the spelling of answers. Spec 4.1; D7, D8 */
export function writeSchema(entity: Entity): Schema {
  const rules = entity.rules.map(({ later, earlier }) => ` \`${keyOf(later)}\` is not before \`${keyOf(earlier)}\`.`)
  return {
    description: `No property is required${entity.required.length > 0 ? ' in a PATCH' : ''}. Names match in any case; the read-only properties of an answer may stand here too, and are ignored.${rules.join('')}`,
    ...writableObject(entity.members),
  }
}

/** A body of a create or of a complete update, where some properties are required. D65 */
export function completeSchema(entity: Entity): Schema {
  const required = entity.required.map(keyOf)
  return {
    ...writeSchema(entity),
    description: 'What is left out gets its default; required properties have none.',
    required,
  }
}

function writableObject(members: readonly (Property | Group)[]): Schema {
  const written = members.filter((member) => isGroup(member) || member.writable)
  const properties = written.map((member) => [
    keyOf(member),
    isGroup(member) ? { ...writableObject(member.properties), type: ['object', 'null'] } : writtenValue(member),
  ])
  return objectSchema(Object.fromEntries(properties), [])
}

function writtenValue({ kind, examples, reference }: Property): Schema {
  const example = examples.length === 0 ? {} : { examples }
  if (kind.name === 'instant' && kind.nullable) return refTo('schemas', 'DateTime')
  if (reference)
    return {
      type: kind.nullable ? ['integer', 'null'] : 'integer',
      format: 'int64',
      description: `The id of ${withArticle(reference.entity)}.`,
    }
  const schema = withNull(plain(kind.schema))
  if (kind.name === 'instant') return { ...schema, ...sharedRowSchemas.DateTime, type: 'string' }
  if (kind.name === 'date') return { ...schema, format: 'date', pattern: `^${DATE_PATTERN}$` }
  if (kind.name === 'integer') return { ...schema, format: 'int64', ...example }
  if (kind.name === 'text') return { ...schema, pattern: '^[^\\u0000]*$', ...example }
  if (kind.name === 'decimal') return { ...schema, ...decimalBounds(kind.columnType), description: `${kind.allowed}` }
  return { ...schema, ...example }
}

/** Bounds of `numeric(18,8)`: 10 digits before the point and 8 behind it. */
function decimalBounds(columnType: string): Schema {
  const [precision = 0, scale = 0] = (columnType.match(/\d+/g) ?? []).map(Number)
  return { exclusiveMaximum: 10 ** (precision - scale), multipleOf: Number(`1e-${scale}`) }
}

// JSON Schemas of the OpenAPI document. TypeBox derives TypeScript types from the schemas. With these types the compiler checks
// the JSON of the server's own pages.
import {
  type SchemaOptions,
  type Static,
  type TArray,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
} from '@sinclair/typebox'

/** A JSON Schema of draft 2020-12, as in OpenAPI 3.1. */
export type Schema = TSchema

/** An object of the document that is no schema, such as a parameter, a header or a response. */
export type Part = Readonly<Record<string, unknown>>

/** Returns the schema of an object with exactly these properties. `Type.Optional` marks properties that the object may lack. */
export function objectSchema<Properties extends TProperties>(
  properties: Properties,
  options: SchemaOptions = {},
): TObject<Properties> {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

/** Schema of an object that may lack any of its properties. */
export function optionalObject(properties: TProperties, options?: SchemaOptions): TObject {
  return Type.Partial(objectSchema(properties, options))
}

/**
 * Returns the schema of an object with any names. TypeBox's record has `patternProperties`, which generators of clients ignore.
 */
export function mapOf<Value extends TSchema>(value: Value): TUnsafe<Record<string, Static<Value>>> {
  return Type.Unsafe({ type: 'object', additionalProperties: value })
}

/**
 * Returns the schema of a text that is one of `words`. TypeBox's union has a `const` for each word, and generators for Go ignore
 * `const`.
 */
export function oneOf<const Word extends string>(words: readonly Word[], options?: SchemaOptions): TUnsafe<Word> {
  return Type.Unsafe({ ...options, type: 'string', enum: words })
}

/**
 * Adds null to the types of a schema; a schema without a type accepts null already. TypeBox's union would have an alternative for
 * null, and generators of clients would make a type of this alternative.
 */
export function orNull<Own extends TSchema>(schema: Own): TUnsafe<Static<Own> | null> {
  if (schema.type === undefined) return Type.Unsafe({ ...schema })
  return Type.Unsafe({ ...schema, type: [...new Set([schema.type, 'null'].flat())] })
}

/** Returns the schema of a list of at least one value, and at most `maxItems`. */
export function someOf<Item extends TSchema>(items: Item, maxItems?: number): TArray<Item> {
  return Type.Array(items, { minItems: 1, ...(maxItems === undefined ? {} : { maxItems }) })
}

/** Reference to a schema of `components`, whose values have the type `Value`. */
export function schemaRef<Value = unknown>(name: string): TUnsafe<Value> {
  return Type.Unsafe(refTo('schemas', name))
}

/** Returns a reference to a component, such as `refTo('headers', 'ETag')`. */
export function refTo(section: 'schemas' | 'parameters' | 'headers' | 'responses' | 'examples', name: string): Part {
  return { $ref: `#/components/${section}/${name}` }
}

/** Returns references to parameters that operations share. */
export function parameterRefs(...names: readonly string[]): Part[] {
  return names.map((name) => refTo('parameters', name))
}

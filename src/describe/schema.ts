/** A JSON Schema, as OpenAPI 3.1 has it: draft 2020-12. */
export type Schema = Readonly<Record<string, unknown>>

/** Of `components`: `refTo('schemas', 'Error')`. */
export function refTo(section: 'schemas' | 'parameters' | 'headers' | 'responses' | 'examples', name: string): Schema {
  return { $ref: `#/components/${section}/${name}` }
}

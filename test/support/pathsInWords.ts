// Paths that the OpenAPI document describes in words: those through two references. They follow from its `x-references`. D94

// biome-ignore lint/suspicious/noExplicitAny: a document as it is read
type Json = any

/** A step of a path: the row to which its first reference leads, and the name of a property there. */
interface Step {
  /** Name of the target's schema. */
  readonly target: string
  readonly rest: string
}

export class PathsInWords {
  /** Paths of lists by the schemas of their rows: `/Absences` of `Absence`. */
  private readonly lists = new Map<string, string>()

  constructor(private readonly document: Json) {
    for (const [path, item] of Object.entries<Json>(document.paths)) {
      const { $ref } = item.get?.responses[200]?.content?.['application/json']?.schema ?? {}
      if ($ref && path.endsWith('/{id}')) this.lists.set($ref.split('/').at(-1), path.slice(0, -'/{id}'.length))
    }
  }

  /** Returns the schema of the rows at a path such as `/Absences/Summary`; null if the path has no rows. */
  rowAt(path: string): string | null {
    const list = path.replace(/\/(?:\{id\}|Summary)$/, '')
    return [...this.lists].find(([, own]) => own === list)?.[0] ?? null
  }

  /** Splits a name, in upper or lower case, after the first reference in it; null if it does not begin with a reference. */
  step(row: string | null, name: string): Step | null {
    for (const [key, schema] of row === null ? [] : this.leavesOf(row)) {
      const target = schema['x-references']
      const isBefore = name.toLowerCase().startsWith(`${key.toLowerCase()}.`)
      if (isBefore && target && !schema['x-through'] && this.lists.has(target))
        return { target, rest: name.slice(key.length + 1) }
    }
    return null
  }

  /** Returns the schema of the values to which a path leads; null if the name is no path. */
  valueSchema(row: string | null, name: string): Json | null {
    const step = this.step(row, name)
    const found = step && this.leavesOf(step.target).find(([key]) => key.toLowerCase() === step.rest.toLowerCase())
    return found?.[1] ?? null
  }

  /** Returns the filter parameters of the list of such rows. */
  filtersOf(row: string): Json[] {
    return this.document.paths[this.lists.get(row) as string].get.parameters
      .map((one: Json) => (one.$ref ? this.document.components.parameters[one.$ref.split('/').at(-1)] : one))
      .filter(({ explode }: Json) => explode === true)
  }

  /** Returns the properties of a row by their names in JSON, the parts of objects with a dot. */
  private leavesOf(row: string): [string, Json][] {
    return Object.entries<Json>(this.document.components.schemas[row].properties).flatMap(([key, schema]): [string, Json][] =>
      schema.properties ? Object.entries<Json>(schema.properties).map(([part, own]) => [`${key}.${part}`, own]) : [[key, schema]],
    )
  }
}

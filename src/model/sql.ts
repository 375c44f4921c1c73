// SQL as a template tag: text and parameters are kept apart, so that no value becomes part of a statement.

/** A value that PostgreSQL gets beside the text, never in it. The same object used twice is one parameter. */
export class Param {
  constructor(readonly value: string | null) {}
}

/** A piece of SQL: text and parameters in order. Only the tag and the functions of this file make one. */
export class Sql {
  constructor(readonly chunks: readonly (string | Param)[]) {}
}

/** SQL text ready for PostgreSQL, `$1` upwards standing for `values`. All values are text; the server casts them. */
export interface Statement {
  readonly text: string
  readonly values: readonly (string | null)[]
}

/** Values in the order of a statement's columns, as PostgreSQL writes them. */
export type Row = readonly (string | null)[]

/** The only way to write SQL: literal text, with nested pieces and parameters between. Plain strings do not type-check. */
export function sql(strings: TemplateStringsArray, ...parts: (Sql | Param)[]): Sql {
  const chunks: (string | Param)[] = [strings[0] as string]
  parts.forEach((part, index) => {
    if (part instanceof Param) chunks.push(part)
    else chunks.push(...part.chunks)
    chunks.push(strings[index + 1] as string)
  })
  return new Sql(chunks)
}

export function param(value: string | null): Param {
  return new Param(value)
}

/** Returns a writer of texts in quotes. They come from entity declarations; one without the form is a bug of ours and throws. */
function writerOf(what: string, form: RegExp, quote: string): (text: string) => Sql {
  return (text) => {
    if (!form.test(text)) throw new Error(`not ${what}: ${text}`)
    return new Sql([quote + text + quote])
  }
}

/** A quoted table or column name. */
export const name = writerOf('a name of a table or column', /^[a-z][a-z0-9_]{0,62}$/, '"')
/** The name of a type, as a kind declares it. */
export const typeName = writerOf('a name of a type', /^[a-z][a-z0-9 (),]*$/, '')
/** A text that is part of the statement's shape: the name of a table or of a property. */
export const word = writerOf('the name of anything', /^[A-Za-z][A-Za-z0-9_.]*$/, "'")
/** Letters as a text, and the point between letters. */
export const letters = writerOf('letters', /^[\p{L}·]+$/u, "'")

/** A number that is part of the statement's shape, such as a page size, so that the planner sees it. */
export function integer(value: number | bigint): Sql {
  if (typeof value === 'bigint') return new Sql([String(BigInt.asIntN(64, value))])
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`not a non-negative integer: ${value}`)
  return new Sql([String(value)])
}

export function join(parts: readonly Sql[], separator: Sql): Sql {
  return new Sql(parts.flatMap((part, index) => (index === 0 ? part.chunks : [...separator.chunks, ...part.chunks])))
}

/** Numbers the parameters: those of `first` as `$1..$n` in that order, then the others as they appear. */
export function toStatement(piece: Sql, first: readonly Param[] = []): Statement {
  const numbers = new Map<Param, number>(first.map((value, index) => [value, index + 1]))
  let text = ''
  for (const chunk of piece.chunks) {
    if (typeof chunk === 'string') text += chunk
    else text += `$${numbers.getOrInsert(chunk, numbers.size + 1)}`
  }
  // Statements of several lines are logged as one. No literal of ours holds a line break.
  if (text.includes('\n')) text = text.replace(/\s*\n\s*/g, ' ').trim()
  return { text, values: [...numbers.keys()].map((value) => value.value) }
}

/** The text with other SQL in the place of each parameter. */
export function replaceParams(piece: Sql, replace: (param: Param) => Sql): Sql {
  return new Sql(piece.chunks.flatMap((chunk) => (typeof chunk === 'string' ? [chunk] : replace(chunk).chunks)))
}

/** PostgreSQL's text of an array. */
export function arrayText(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? 'null' : `"${value.replace(/["\\]/g, '\\$&')}"`)).join(',')}}`
}

// SQL as a template tag, which keeps text and parameters apart, so that no value becomes part of a statement.

/** A value that is sent to PostgreSQL separately from the text. The same object used twice is one parameter. */
export class Param {
  constructor(readonly value: string | null) {}
}

/** A piece of SQL: text and parameters in order. Only the functions of this file create one. */
export class Sql {
  constructor(readonly chunks: readonly (string | Param)[]) {}
}

/** SQL text with `$1` upwards for `values`. All values are texts; the SQL casts them. */
export interface Statement {
  readonly text: string
  readonly values: readonly (string | null)[]
}

/** Values in the order of a statement's columns, as PostgreSQL prints them. */
export type Row = readonly (string | null)[]

/** Makes SQL of literal text with pieces and parameters in between. A plain string in between does not type-check. */
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

/**
 * Returns a function that quotes a text from an entity's declaration. The function throws if the text does not match `form`,
 * which is a bug of ours.
 */
function writerOf(what: string, form: RegExp, quote: string): (text: string) => Sql {
  return (text) => {
    if (!form.test(text)) throw new Error(`not ${what}: ${text}`)
    return new Sql([quote + text + quote])
  }
}

/** Quotes a table or column name. */
export const name = writerOf('a name of a table or column', /^[a-z][a-z0-9_]{0,62}$/, '"')
/** Writes the name of a column's type, as a kind declares it. */
export const typeName = writerOf('a name of a type', /^[a-z][a-z0-9 (),]*$/, '')
/** Writes a text literal that is part of the statement's shape: the name of a table or of a property. */
export const word = writerOf('the name of anything', /^[A-Za-z][A-Za-z0-9_.]*$/, "'")
/** Writes letters as a text literal, including the point of Catalan l·l. */
export const letters = writerOf('letters', /^[\p{L}·]+$/u, "'")

/** Writes a number as part of the statement's text, such as a page size, so that the planner knows it. */
export function integer(value: number | bigint): Sql {
  if (typeof value === 'bigint') return new Sql([String(BigInt.asIntN(64, value))])
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`not a non-negative integer: ${value}`)
  return new Sql([String(value)])
}

export function join(parts: readonly Sql[], separator: Sql): Sql {
  return new Sql(parts.flatMap((part, index) => (index === 0 ? part.chunks : [...separator.chunks, ...part.chunks])))
}

/**
 * Makes a statement. The parameters of `first` become `$1..$n`, then the other parameters follow in the order in which they
 * appear.
 */
export function toStatement(piece: Sql, first: readonly Param[] = []): Statement {
  const numbers = new Map<Param, number>(first.map((value, index) => [value, index + 1]))
  let text = ''
  for (const chunk of piece.chunks) {
    if (typeof chunk === 'string') text += chunk
    else text += `$${numbers.getOrInsert(chunk, numbers.size + 1)}`
  }
  // A statement of several lines becomes one line, for the log. No literal of ours contains a line break.
  if (text.includes('\n')) text = text.replace(/\s*\n\s*/g, ' ').trim()
  return { text, values: [...numbers.keys()].map((value) => value.value) }
}

/** Replaces each parameter by the SQL that `replace` returns for it. */
export function replaceParams(piece: Sql, replace: (param: Param) => Sql): Sql {
  return new Sql(piece.chunks.flatMap((chunk) => (typeof chunk === 'string' ? [chunk] : replace(chunk).chunks)))
}

/** Writes PostgreSQL's text of an array. */
export function arrayText(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? 'null' : `"${value.replace(/["\\]/g, '\\$&')}"`)).join(',')}}`
}

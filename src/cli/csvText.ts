/** A line of a CSV, which may go on over several lines of its text. */
export interface CsvRecord {
  /** Of its first character, from 1. */
  readonly line: number
  /** Null: nothing, not even quotes. */
  readonly cells: readonly (string | null)[]
}

/** A CSV that cannot be read. */
export class CsvFault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

const QUOTED = /"[^"]*(?:""[^"]*)*"/y
const NEWLINE = /\r\n|\n|\r/y
const NEWLINES = /\r\n|\n|\r/g

/**
 * The records of a CSV as RFC 4180 has them, separated by commas, or by semicolons or tabs where the first line has no comma; blank
 * lines are none. @throws CsvFault where quotes are wrong
 */
export function* csvRecords(text: string): Generator<CsvRecord, void, undefined> {
  const separator = separatorOf(text)
  const plain = new RegExp(`[^${separator}"\\r\\n]*`, 'y')
  let at = 0
  let line = 1
  while (at < text.length) {
    const begin = at
    const cells: (string | null)[] = []
    for (;;) {
      const isQuoted = text[at] === '"'
      const cell = match(isQuoted ? QUOTED : plain, text, at)
      if (cell === null) throw new CsvFault(lineAt(text, begin, at, line), 'the quote that ends a text is missing')
      at += cell.length
      cells.push(isQuoted ? cell.slice(1, -1).replaceAll('""', '"') : cell || null)
      if (text[at] === separator) at++
      else break
    }
    const newline = match(NEWLINE, text, at)
    if (newline === null && at < text.length)
      throw new CsvFault(
        lineAt(text, begin, at, line),
        'a text with a quote in it stands in quotes, and its quotes are doubled',
      )
    const isBlank = at === begin
    at += newline?.length ?? 0
    if (!isBlank) yield { line, cells }
    line = lineAt(text, begin, at, line)
  }
}

/** What stands behind `at`, as the pattern has it; null: something else. */
function match(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? null
}

function lineAt(text: string, begin: number, at: number, line: number): number {
  return line + (text.slice(begin, at).match(NEWLINES)?.length ?? 0)
}

/** Spreadsheets of many countries write semicolons. Names of properties have none of them. */
function separatorOf(text: string): string {
  const header = /^[^\r\n]*/.exec(text)?.[0] ?? ''
  return [',', ';', '\t'].find((candidate) => header.includes(candidate)) ?? ','
}

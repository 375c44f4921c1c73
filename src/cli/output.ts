// Output of commands: text and tables on stdout, progress on stderr.
import { printable } from '../log.ts'
import { CommandError } from './run.ts'

/** Writes to stdout, and resolves when everything is written, also into a pipe. @throws CommandError */
export async function print(text: string): Promise<void> {
  // An empty text would truncate the file that stdout goes to.
  if (text === '') return
  await Bun.write(Bun.stdout, text).catch((error) => {
    throw new CommandError(`the output could not be written: ${error.message}`)
  })
}

/** Prints the result of a command: a line of JSON, or a text for people. */
export function report(json: true | undefined, value: unknown, text: string): Promise<void> {
  return print(json ? `${JSON.stringify(value)}\n` : text)
}

/** Prints a list: a line of JSON, or a table with the headings `heads`. `named`: what the rows are called. */
export function reportAll<T>(json: true | undefined, listed: T[], named: string, heads: string[], cellsOf: (one: T) => string[]) {
  return report(json, listed, listed.length === 0 ? `There are no ${named}.\n` : formatTable([heads, ...listed.map(cellsOf)]))
}

/** Returns the rows as a text with aligned columns. Each line ends with a line feed. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => Bun.stringWidth(row[column] ?? ''))))
  // Widths are columns of a terminal: some letters take two.
  const pad = (cell: string, column: number) => cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell))
  return rows.map((row) => `${row.map(pad).join('  ').trimEnd()}\n`).join('')
}

const SHOWN_MS = 1_000
/** Interval of progress lines in ms, if stderr is no terminal. */
const LINE_MS = 10_000

/** Prints progress on stderr: on a terminal one line that changes, else one line per interval and one at the end. */
export function progress(textOf: (sum: number) => string): Disposable & { add(more: number): void } {
  const isTerminal = process.stderr.isTTY === true
  const everyMs = isTerminal ? SHOWN_MS : LINE_MS
  let sum = 0
  let shownMs = performance.now()
  const show = (end: string) => process.stderr.write(`${isTerminal ? '\r' : ''}${textOf(sum)}${end}`)
  return {
    add(more) {
      sum += more
      if (performance.now() - shownMs < everyMs) return
      shownMs = performance.now()
      show(isTerminal ? '' : '\n')
    },
    [Symbol.dispose]: () => void show('\n'),
  }
}

/** Prints a line on stderr; on a terminal it replaces the line of progress. */
export function say(text: string) {
  process.stderr.write(`${process.stderr.isTTY ? '\r\x1b[K' : ''}roster: ${printable(text)}\n`)
}

/** Returns a number with its noun: "1 row", "2 rows". */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

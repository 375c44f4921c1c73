/** A file that cannot be read as what it is. `line`: where; null: as a whole. */
export class FileFault extends Error {
  constructor(
    readonly line: number | null,
    message: string,
  ) {
    super(message)
  }
}

/** Maximum length of a row in characters: a server takes rows of up to 1 MiB. */
const ROW_LENGTH_MAX = 2 * 1024 * 1024

/** `length`: of what may be one row. @throws FileFault */
export function requireRowLength(line: number, length: number) {
  if (length > ROW_LENGTH_MAX) throw new FileFault(line, 'a row of more than 1 MiB begins here')
}

const NEWLINES = /\r\n|\n|\r/g

/** How many lines end in the text. */
export function countLines(text: string): number {
  return text.match(NEWLINES)?.length ?? 0
}

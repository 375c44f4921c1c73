// Lines of files that `roster import` reads: files come in pieces, of which no more than one row is kept.

/** A file that cannot be read as what it is, with the line where. */
export class FileFault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

/** Maximum length of a row in characters: a server takes rows of up to 1 MiB. */
export const ROW_LENGTH_MAX = 2 * 1024 * 1024

const LINE_END = /(?<=\n|\r(?!\n))/

/** Yields lines with their ends. @throws FileFault for one that is longer than a row may be */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let [line, rest] = [1, '']
  for await (const piece of pieces) {
    const lines = (rest + piece).split(LINE_END)
    rest = lines.pop() as string
    line += lines.length
    yield* lines
    if (rest.length > ROW_LENGTH_MAX) throw new FileFault(line, 'a row of more than 1 MiB begins here')
  }
  if (rest !== '') yield rest
}

import type { Opened } from './connection.ts'
import { errorOf, RosterError, unexpected } from './error.ts'

/** Maximum characters of a line; a server that never ends a line would fill the memory. */
const LINE_CHARACTERS_MAX = 4 * 1024 * 1024

/**
 * Yields the rows of a stream. @throws RosterError if the stream ends early, with a line that says why or with a broken
 * connection
 */
export async function* rowsOf<Row>(opened: Opened): AsyncGenerator<Row, void, undefined> {
  // All pieces have one decoder, because a piece may end within a character.
  const decoder = new TextDecoder()
  let partialLine = ''
  try {
    for (let piece = opened.first; piece !== null; piece = await opened.next()) {
      const [rest = '', ...lines] = decoder.decode(piece, { stream: true }).split('\n')
      partialLine += rest
      for (const line of lines) {
        yield rowOf<Row>(opened, partialLine)
        partialLine = line
      }
      if (partialLine.length > LINE_CHARACTERS_MAX) throw unexpected(opened, 'was answered with a line that does not end')
    }
  } finally {
    opened.close()
  }
  if (partialLine + decoder.decode() === '') return
  const message = `${opened.named} broke off in the middle of a row`
  throw new RosterError({ code: 'NetworkFailure', target: 'Api', message })
}

function rowOf<Row>(opened: Opened, line: string): Row {
  let row: unknown
  try {
    row = JSON.parse(line)
  } catch {
    throw unexpected(opened, 'was answered with a line that is not JSON')
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row))
    throw unexpected(opened, 'was answered with a line that is no row')
  // A line with only `Error` is an error, because an entity cannot have such a row.
  if ('Error' in row && Object.keys(row).length === 1) throw errorOf(opened, line)
  return row as Row
}

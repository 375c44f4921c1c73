import type { Opened } from './connection.ts'
import { errorOf, RosterError, unexpected } from './error.ts'

/** As much as a row may have: a server that never ends a line would fill the memory. */
const LINE_CHARACTERS_MAX = 4 * 1024 * 1024

/** The rows of a stream. @throws RosterError where it ended early: its last line says so, or the connection broke */
export async function* rowsOf<Row>(opened: Opened): AsyncGenerator<Row, void, undefined> {
  // Pieces may end anywhere, also inside of a character.
  const decoder = new TextDecoder()
  let begun = ''
  try {
    for (let piece = opened.first; piece !== null; piece = await opened.next()) {
      const [rest = '', ...lines] = decoder.decode(piece, { stream: true }).split('\n')
      begun += rest
      for (const line of lines) {
        yield rowOf<Row>(opened, begun)
        begun = line
      }
      if (begun.length > LINE_CHARACTERS_MAX) throw unexpected(opened, 'was answered with a line that does not end')
    }
  } finally {
    opened.close()
  }
  if (begun + decoder.decode() === '') return
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
  // No row has this alone, since a row has what was asked for by the names of its entity.
  if ('Error' in row && Object.keys(row).length === 1) throw errorOf(opened, line)
  return row as Row
}

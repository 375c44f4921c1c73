/** The values of a row by the columns of its relation; undefined: not sent, since it is as before. */
export type Tuple = readonly (string | null | undefined)[]

/** A table as the stream has announced it before its first row. */
export interface Relation {
  /** Its oid. */
  readonly id: number
  readonly columns: readonly string[]
  /** Another one where its columns or their types are others. */
  readonly definition: string
}

/** What a message of the stream says. */
export interface PgoutputHandlers {
  /** `transaction`: its lower 32 bits. */
  begin(transaction: number): void
  /** `end`: the position behind the transaction in the log. */
  commit(end: bigint): void
  /** What a statement has said by `pg_logical_emit_message`. */
  message(prefix: string, content: string): void
  relation(relation: Relation): void
  /** A row was written, of which `bytes` has the images: `hasImages`, `valueIn`, `readImages`. Most are not read any further. */
  row(relation: number, bytes: Buffer): void
  truncate(relations: readonly number[]): void
}

const [BEGIN, COMMIT, MESSAGE, RELATION, INSERT, UPDATE, DELETE, TRUNCATE, TYPE, ORIGIN] = codesOf('BCMRIUDTYO')
const [OLD_ROW, TEXT, UNCHANGED, NULL] = codesOf('Otun')
/** Where the first row of a message begins: behind its kind, the relation, and which row it is. */
const FIRST = 6

/**
 * Reads one message of the output plugin pgoutput, protocol 1 to 3 without streaming (PostgreSQL documentation, 54.9).
 * True: a transaction ends with it.
 * @throws Error for what is none; RangeError for one that is cut off
 */
export function readMessage(bytes: Buffer, handlers: PgoutputHandlers): boolean {
  const kind = bytes[0]
  if (kind === BEGIN) handlers.begin(bytes.readUInt32BE(17))
  else if (kind === COMMIT) handlers.commit(bytes.readBigUInt64BE(10))
  else if (kind === INSERT || kind === UPDATE || kind === DELETE) handlers.row(bytes.readUInt32BE(1), bytes)
  else if (kind === MESSAGE) readEmitted(bytes, handlers)
  else if (kind === RELATION) handlers.relation(readRelation(bytes))
  else if (kind === TRUNCATE)
    handlers.truncate(Array.from({ length: bytes.readUInt32BE(1) }, (_, at) => bytes.readUInt32BE(6 + 4 * at)))
  else if (kind !== TYPE && kind !== ORIGIN) throw new Error(`the stream has a message of an unknown kind: ${kind}`)
  return kind === COMMIT
}

/** Flags and a position of eight bytes, the prefix, the content's length and the content. */
function readEmitted(bytes: Buffer, handlers: PgoutputHandlers) {
  const end = endOfText(bytes, 10)
  const from = end + 5
  handlers.message(bytes.toString('utf8', 10, end), bytes.toString('utf8', from, from + bytes.readUInt32BE(end + 1)))
}

/** The id, schema and name, which replica identity, and of each column a flag, its name, type and modifier. */
function readRelation(bytes: Buffer): Relation {
  let at = endOfText(bytes, endOfText(bytes, 5) + 1) + 2
  const columns: string[] = []
  const count = bytes.readUInt16BE(at)
  at += 2
  for (let column = 0; column < count; column++) {
    const end = endOfText(bytes, at + 1)
    columns.push(bytes.toString('utf8', at + 1, end))
    at = end + 9
  }
  return { id: bytes.readUInt32BE(1), columns, definition: bytes.toString('latin1') }
}

/** Whether the message of a row has it as it was, where it was there before. */
export function hasImages(bytes: Buffer): boolean {
  return bytes[0] === INSERT || bytes[5] === OLD_ROW
}

/** The row as it was and as it is, of a message that has both. */
export function readImages(bytes: Buffer): { before: Tuple | null; after: Tuple | null } {
  const first = readTuple(bytes, FIRST)
  if (bytes[0] === INSERT) return { before: null, after: first.tuple }
  return { before: first.tuple, after: bytes[0] === DELETE ? null : readTuple(bytes, first.end + 1).tuple }
}

/** The value in this place of a row, as the message has it first: as it was, unless it is new. Null: none that was sent. */
export function valueIn(bytes: Buffer, place: number): string | null {
  let at = FIRST + 2
  for (let column = 0; column < place; column++) {
    if (bytes[at] === TEXT) at += 4 + bytes.readUInt32BE(at + 1)
    at++
  }
  return bytes[at] === TEXT ? bytes.toString('utf8', at + 5, at + 5 + bytes.readUInt32BE(at + 1)) : null
}

function readTuple(bytes: Buffer, from: number): { tuple: Tuple; end: number } {
  const tuple: (string | null | undefined)[] = new Array(bytes.readUInt16BE(from))
  let at = from + 2
  for (let column = 0; column < tuple.length; column++) {
    const kind = bytes[at++]
    if (kind === NULL) tuple[column] = null
    else if (kind === TEXT) {
      const begin = at + 4
      at = begin + bytes.readUInt32BE(at)
      if (at > bytes.length) throw new RangeError('a message of the stream is cut off')
      tuple[column] = bytes.toString('utf8', begin, at)
    } else if (kind !== UNCHANGED) throw new Error(`the stream has a value of an unknown kind: ${kind}`)
  }
  return { tuple, end: at }
}

/** Where the zero behind a text is. */
function endOfText(bytes: Buffer, from: number): number {
  const end = bytes.indexOf(0, from)
  if (end < 0) throw new RangeError('a message of the stream is cut off')
  return end
}

function codesOf(letters: string): number[] {
  return [...letters].map((letter) => letter.charCodeAt(0))
}

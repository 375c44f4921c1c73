import { messageOf } from './export.ts'
import type { FileRow } from './jsonText.ts'
import { CommandError } from './run.ts'

/** The collection to which rows are sent. */
export interface Target {
  /** URL of the collection, without a query. */
  readonly address: string
  /** Plural name of the entity. */
  readonly plural: string
  readonly key: string
  readonly isDry: boolean
  /**
   * Name of the file, or the run, that all pieces come from: a piece of it is created once, and another one in its place is
   * refused. Null: a piece is known by its content.
   */
  readonly file: string | null
  /** Called before each wait. */
  onWait(seconds: number, reason: string): void
}

/** Result of sending a piece. */
export type Sent =
  | { readonly rows: number /** By an earlier run. */; readonly wasThere: boolean }
  /** Nothing of it was written. */
  | { readonly faults: readonly RowFault[] }

export interface RowFault {
  /** The place of its row in the file. */
  readonly at: string
  readonly message: string
}

/** Waits that are longer are the operator's to decide on. */
const WAIT_SECONDS_MAX = 3_600
/** Maximum attempts at a server that does not answer, or cannot for now, and names no delay. */
const TRIES_MAX = 8
const PAUSE_SECONDS_MAX = 30
/** A server answers earlier, or not at all. */
const ANSWER_MS_MAX = 120_000

/** Thrown if it is unknown whether the server has created the rows of a piece. */
export class OutcomeUnknown extends CommandError {}

/** Thrown for a piece that the file had with other rows before. */
export class OtherVersion extends CommandError {}

/**
 * Sends a piece of a file until it is answered; the first one, of index 0, only where the server is there at all. Each time it
 * has one key, so it is done once.
 * @throws CommandError where the server refuses it as a whole; OutcomeUnknown where it does not answer
 */
export async function sendRows(target: Target, piece: readonly FileRow[], index: number): Promise<Sent> {
  const answer = await askUntilAnswered(requestOf(target, piece, index), target.onWait, index === 0)
  const { status, text, isReplayed, mayBeDone } = answer
  if (status !== 200 && status !== 201) return refusal(piece, answer, index === 0)
  requireRows(text, piece, target.isDry)
  return { rows: piece.length, wasThere: isReplayed && !mayBeDone }
}

/**
 * Sends a request until its answer is not a limit or a passing failure; the first one of a run only if the server is there at
 * all. `mayBeDone`: an earlier try may have been carried out. @throws CommandError; OutcomeUnknown where a write is not answered
 */
export async function askUntilAnswered(
  request: Asked,
  onWait: Target['onWait'],
  isFirst: boolean,
): Promise<Answer & { readonly mayBeDone: boolean }> {
  let mayBeDone = false
  for (let tries = 1; ; ) {
    const answer = await ask(request)
    const { status, retryAfter, text } = answer
    const isLimit = status === 429
    const isPassing = isLimit || PASSING.includes(status) || (status === 409 && retryAfter !== null)
    if (!isPassing) return { ...answer, mayBeDone }
    mayBeDone ||= !isLimit && status !== NOT_SENT
    const reason = status > 0 ? messageOf(text, status) : text
    const seconds = retryAfter ?? Math.min(2 ** (tries - 1), PAUSE_SECONDS_MAX)
    const isHopeless = seconds > WAIT_SECONDS_MAX || (isFirst && tries === 1 && status === NOT_SENT)
    // A limit that says when it ends does end.
    if (isHopeless || ((!isLimit || retryAfter === null) && tries++ === TRIES_MAX))
      throw mayBeDone && 'Idempotency-Key' in request.headers ? new OutcomeUnknown(reason) : new CommandError(reason)
    onWait(seconds, reason)
    await Bun.sleep(seconds * 1_000)
  }
}

export interface Asked {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

function requestOf({ address, plural, key, isDry, file }: Target, piece: readonly FileRow[], index: number): Asked {
  const body = piece.map(({ json }) => json).join('\n')
  const headers = { Authorization: `ApiKey ${key}`, 'Content-Type': 'application/x-ndjson' }
  if (isDry) return { method: 'POST', address: `${address}?dryRun=1`, headers, body }
  return { method: 'POST', address, headers: { ...headers, 'Idempotency-Key': keyOf([plural, index, file ?? body]) }, body }
}

/** Idempotency key of a piece by its index, and by its file or its content. */
function keyOf(parts: readonly (string | number)[]): string {
  return `import-${new Bun.CryptoHasher('sha256').update(JSON.stringify(parts)).digest('hex')}`
}

export interface Answer {
  /** NO_ANSWER, NOT_SENT: there is none. */
  readonly status: number
  readonly retryAfter: number | null
  readonly isReplayed: boolean
  readonly etag: string | null
  readonly text: string
}

const [NO_ANSWER, NOT_SENT] = [0, -1]
/** Temporary failures, with those of proxies whose server is gone. */
const PASSING = [NO_ANSWER, NOT_SENT, 502, 503, 504]
/** No connection came about. */
const NO_CONNECTION = ['ECONNREFUSED', 'ENOTFOUND', 'ERR_INVALID_URL']

async function ask({ method, address, headers, body }: Asked): Promise<Answer> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    const response = await fetch(address, { method, headers, body, redirect: 'manual', signal })
    return {
      status: response.status,
      retryAfter: secondsOf(response.headers.get('retry-after')),
      isReplayed: response.headers.get('idempotency-replayed') === 'true',
      etag: response.headers.get('etag'),
      text: await response.text(),
    }
  } catch (error) {
    const { message, code } = error as Error & { code?: unknown }
    const text = `${address.replace(/\?.*/, '')} cannot be reached: ${message} (--url names the server)`
    const status = NO_CONNECTION.includes(String(code)) ? NOT_SENT : NO_ANSWER
    return { status, retryAfter: null, isReplayed: false, etag: null, text }
  }
}

/**
 * Checks that the response is Roster's, because another server may answer everything with 200. @throws OutcomeUnknown,
 * CommandError
 */
function requireRows(text: string, piece: readonly FileRow[], isDry: boolean) {
  let rows: unknown
  try {
    const answer = JSON.parse(text)
    rows = isDry ? answer.rows : answer.length
  } catch {}
  if (rows === piece.length) return
  const message = 'the address is not that of a collection of a Roster'
  throw isDry ? new CommandError(message) : new OutcomeUnknown(message)
}

/** Null: it does not say it in seconds; proxies may write a date. */
function secondsOf(retryAfter: string | null): number | null {
  return retryAfter !== null && /^\d{1,9}$/.test(retryAfter) ? Math.max(1, Number(retryAfter)) : null
}

/** A body that is too slow, or too large for what stands before the server. */
const TOO_MUCH = [408, 413]

/** Faults of single rows. @throws CommandError for a fault of the whole request */
function refusal(piece: readonly FileRow[], { status, text }: Answer, isFirst: boolean): Sent {
  const details = detailsOf(text)
  if (details.some(({ Code }) => Code === 'IdempotencyMismatch')) throw new OtherVersion(OTHER_VERSION)
  const faults = details.flatMap((detail) => {
    const index = Number(/^\[(\d+)\]/.exec(detail.Target)?.[1])
    const row = piece[index]
    return row ? [{ index, at: row.at, message: messageOfRow(piece, detail) }] : []
  })
  if (faults.length > 0) return { faults: faults.sort((one, other) => one.index - other.index) }
  // Behind the first piece, others would be other pieces of what is there already.
  const isMended = isFirst && piece.length > 1 && TOO_MUCH.includes(status)
  throw new CommandError(`${messageOf(text, status)}${isMended ? '\nSmaller pieces may be taken: --piece 100.' : ''}`)
}

const OTHER_VERSION = `This file was imported within the last day in another version, or with another --piece: its rows would be created again.
To change the rows that are there, and create the others: --match <property>. To create all rows again: --again.`

interface Detail {
  readonly Code: string
  readonly Target: string
  readonly Message: string
}

/** With places in the file where the server names rows of the piece. */
function messageOfRow(piece: readonly FileRow[], { Code, Message }: Detail): string {
  const message = Message.replace(/^\[\d+\]: /, '').replace(/^\[\d+\]/, 'The row')
  // Of two rows with one value, the later one names the earlier one.
  if (Code !== 'AlreadyExists') return message
  return message.replace(/\[(\d+)\](?= has this value\.$)/, (own, at) => {
    const other = piece[Number(at)]
    return other?.at ?? own
  })
}

/** The faults of an answer; where it has none, what it is about. */
function detailsOf(text: string): readonly Detail[] {
  try {
    const { Error: error } = JSON.parse(text)
    return error.Details ?? [error]
  } catch {
    return []
  }
}

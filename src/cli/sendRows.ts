import type { FileRow } from './rowsFile.ts'
import { CommandError } from './run.ts'
import { messageOf } from './serverError.ts'

/** Where rows are sent. */
export interface Target {
  /** Of the collection, without a query. */
  readonly address: string
  readonly key: string
  readonly isDry: boolean
  /** Called before each wait. */
  onWait(seconds: number, reason: string): void
}

/** What a piece was answered. */
export type Sent =
  | { readonly rows: number /** By an earlier run. */; readonly wasThere: boolean }
  /** Nothing of it was written. */
  | { readonly faults: readonly RowFault[] }

export interface RowFault {
  readonly line: number
  readonly message: string
}

/** Waits that are longer are the operator's to decide on. */
const WAIT_SECONDS_MAX = 3_600
/** Of a server that does not answer, or cannot for now. */
const TRIES_MAX = 8
const PAUSE_SECONDS_MAX = 30

/**
 * Sends a piece of a file until it is answered; the first one only where the server is there at all. Each time it has one key,
 * which follows from the piece, so it is done once.
 * @throws CommandError where the server refuses it as a whole, or does not answer
 */
export async function sendRows(target: Target, piece: readonly FileRow[], isFirst: boolean): Promise<Sent> {
  const { address, key, isDry, onWait } = target
  const body = piece.map(({ json }) => json).join('\n')
  const headers: Record<string, string> = {
    Authorization: `ApiKey ${key}`,
    'Content-Type': 'application/x-ndjson',
    ...(isDry ? {} : { 'Idempotency-Key': keyOf(address, piece, body) }),
  }
  let isAgain = false
  for (let tries = 1; ; ) {
    const answer = await ask(isDry ? `${address}?dryRun=1` : address, headers, body)
    const { status, retryAfter, text } = answer
    if (status === 200 || status === 201) return { rows: piece.length, wasThere: answer.isReplayed && !isAgain }
    const isLimit = status === 429
    const isPassing = isLimit || status === 503 || status === 0 || (status === 409 && retryAfter !== null)
    if (!isPassing) return refusal(piece, status, text)
    if (status === 0 && isFirst && !isAgain) throw new CommandError(text)
    const seconds = retryAfter ?? Math.min(2 ** (tries - 1), PAUSE_SECONDS_MAX)
    const reason = status === 0 ? text : messageOf(text, status)
    if (seconds > WAIT_SECONDS_MAX) throw new CommandError(reason)
    if (!isLimit && tries++ === TRIES_MAX) throw new CommandError(reason)
    onWait(seconds, reason)
    isAgain = true
    await Bun.sleep(seconds * 1_000)
  }
}

/** Of a piece at its place in a file: as long as both are the same, it is one. */
function keyOf(address: string, piece: readonly FileRow[], body: string): string {
  const place = JSON.stringify([address, piece[0]?.line, piece.length])
  return `import-${new Bun.CryptoHasher('sha256').update(place).update(body).digest('hex')}`
}

interface Answer {
  /** 0: there is none. */
  readonly status: number
  readonly retryAfter: number | null
  readonly isReplayed: boolean
  readonly text: string
}

async function ask(address: string, headers: Record<string, string>, body: string): Promise<Answer> {
  try {
    const response = await fetch(address, { method: 'POST', headers, body, redirect: 'manual' })
    const retryAfter = response.headers.get('retry-after')
    return {
      status: response.status,
      retryAfter: retryAfter === null ? null : Number(retryAfter),
      isReplayed: response.headers.get('idempotency-replayed') === 'true',
      text: await response.text(),
    }
  } catch (error) {
    const text = `${address.replace(/\?.*/, '')} cannot be reached: ${(error as Error).message}`
    return { status: 0, retryAfter: null, isReplayed: false, text }
  }
}

/** What the server says of single rows. @throws CommandError for what it says of all */
function refusal(piece: readonly FileRow[], status: number, text: string): Sent {
  const faults = detailsOf(text).flatMap(({ Target, Message }) => {
    const row = piece[Number(/^\[(\d+)\]/.exec(Target)?.[1])]
    return row ? [{ line: row.line, message: Message.replace(/^\[\d+\]:? */, '') }] : []
  })
  if (faults.length === 0) throw new CommandError(messageOf(text, status))
  return { faults }
}

interface Detail {
  readonly Target: string
  readonly Message: string
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

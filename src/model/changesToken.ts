// Tokens of the change feed: positions as text that clients send back.

/** A position in the change feed: after this event and all earlier ones. */
export interface FeedPosition {
  /** Integers of PostgreSQL, of up to 64 bits. */
  readonly position: string
  readonly number: string
}

/** A position, and the run of the feed that it belongs to. */
export interface ChangesToken extends FeedPosition {
  readonly run: string
}

const LENGTH_MAX = 100
const PLAIN = /^([0-9a-f]{12})\.(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})$/

/** Writes a token, in characters that need no escapes in URLs. */
export function writeToken({ run, position, number }: ChangesToken): string {
  return Buffer.from(`${run}.${position}.${number}`).toString('base64url')
}

/** Reads a token; null unless `writeToken` has written exactly this text. */
export function readToken(text: string): ChangesToken | null {
  if (text.length > LENGTH_MAX) return null
  const [, run = '', position = '', number = ''] = PLAIN.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? []
  const token = { run, position, number }
  const isInRange = [position, number].every((part) => BigInt(part) <= BIGINT_MAX)
  return run !== '' && isInRange && writeToken(token) === text ? token : null
}

/** The greatest bigint of PostgreSQL. */
const BIGINT_MAX = 2n ** 63n - 1n

/** Compares positions; negative if `one` is before `other`. */
export function comparePositions(one: FeedPosition, other: FeedPosition): number {
  return Number(BigInt(one.position) - BigInt(other.position) || BigInt(one.number) - BigInt(other.number))
}

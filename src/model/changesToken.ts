// Tokens of the change feed: positions as text that clients send back, sealed for keys that do not see all changes.
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'

/** A position in the change feed: directly after the event that has these numbers. */
export interface FeedPosition {
  /** Number of the transaction that wrote the event: a bigint of PostgreSQL, like `number`. */
  readonly position: string
  readonly number: string
}

/** A position, and the run of the feed to which it belongs. Restoring the database begins a new run. */
export interface ChangesToken extends FeedPosition {
  readonly run: string
}

const LENGTH_MAX = 100
const PLAIN = /^([0-9a-f]{12})\.(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})$/

/** Writes a token, in characters that need no escapes in URLs. */
export function writeToken({ run, position, number }: ChangesToken): string {
  return Buffer.from(`${run}.${position}.${number}`).toString('base64url')
}

/** Reads a token. Returns null if the text is not exactly as `writeToken` writes it. */
export function readToken(text: string): ChangesToken | null {
  if (text.length > LENGTH_MAX) return null
  const [, run = '', position = '', number = ''] = PLAIN.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? []
  const token = { run, position, number }
  const isInRange = [position, number].every((part) => BigInt(part) <= BIGINT_MAX)
  return run !== '' && isInRange && writeToken(token) === text ? token : null
}

/** Length to which a token is padded before it is encrypted: the length of the longest token. */
const SEALED_LENGTH = 52
const IV_LENGTH = 16
const CIPHER = 'aes-256-ctr'
const OF_NO_RUN: ChangesToken = { run: '', position: '0', number: '0' }

/**
 * Tokens for keys that see only some of the changes. Plain tokens contain the numbers of transactions and events of the whole
 * database, so two tokens reveal how many events lie between them. A sealed token is encrypted; equal positions have equal
 * tokens.
 */
export class SealedTokens {
  /** `secret`: returns the secret of the database, which all servers share. */
  constructor(private readonly secret: () => string) {}

  seal(token: string): string {
    const text = Buffer.from(token, 'base64url').toString('latin1').padEnd(SEALED_LENGTH)
    // The initialization vector is a hash of the text, so that equal positions have equal tokens, and different tokens share no
    // key stream.
    const iv = this.hash('iv', text).subarray(0, IV_LENGTH)
    const cipher = createCipheriv(CIPHER, this.hash('key', ''), iv)
    return Buffer.concat([iv, cipher.update(text, 'latin1'), cipher.final()]).toString('base64url')
  }

  /**
   * Reads a sealed or a plain token. Returns null if the text has neither form. For a token that another secret has sealed,
   * returns a token with an empty run: it counts as expired, like a plain token of another database.
   */
  read(text: string): ChangesToken | null {
    const plain = readToken(text)
    const bytes = Buffer.from(text, 'base64url')
    if (plain !== null || bytes.length !== IV_LENGTH + SEALED_LENGTH) return plain
    const decipher = createDecipheriv(CIPHER, this.hash('key', ''), bytes.subarray(0, IV_LENGTH))
    const position = decipher.update(bytes.subarray(IV_LENGTH)).toString('latin1').trimEnd()
    const token = Buffer.from(position, 'latin1').toString('base64url')
    return (this.seal(token) === text ? readToken(token) : null) ?? OF_NO_RUN
  }

  /**
   * Reads a token of a key that gets only sealed tokens. Returns null if the text has neither form. A plain token counts as
   * expired: otherwise the key could compose plain tokens, and find the number of the last transaction by trial.
   */
  readSealed(text: string): ChangesToken | null {
    return readToken(text) === null ? this.read(text) : OF_NO_RUN
  }

  private hash(use: string, text: string): Buffer {
    return createHmac('sha256', this.secret()).update(`changes ${use} ${text}`).digest()
  }
}

/** The greatest bigint of PostgreSQL. */
const BIGINT_MAX = 2n ** 63n - 1n

/** Compares positions. The result is negative if `one` is before `other`, and 0 if they are equal. */
export function comparePositions(one: FeedPosition, other: FeedPosition): number {
  return Number(BigInt(one.position) - BigInt(other.position) || BigInt(one.number) - BigInt(other.number))
}

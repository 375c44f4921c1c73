import { createHash, timingSafeEqual } from 'node:crypto'

/** `ApiKey`, in any case, one space or more, the key. Spec 5, rule 1; RFC 9110, 11.1. */
const AUTHORIZATION = /^ApiKey +([\x21-\x7e]+)$/i

/** Longer than any key of ours; what is longer is not worth a hash. */
const KEY_LENGTH_MAX = 256

/** The header in the one spelling that the bearer plugin reads, or null where it holds no key. */
export function canonicalAuthorization(header: string): string | null {
  const key = AUTHORIZATION.exec(header)?.[1]
  return key && key.length <= KEY_LENGTH_MAX ? `ApiKey ${key}` : null
}

/** Knows which keys are valid. Holds hashes only. */
export class Keyring {
  private readonly hashes: readonly Buffer[]

  constructor(keys: readonly string[]) {
    this.hashes = keys.map(hash)
  }

  /** Compares with every key, in constant time, so that the time taken tells nothing. */
  accepts(key: string | undefined): boolean {
    if (key === undefined) return false
    const presented = hash(key)
    let accepted = false
    for (const known of this.hashes) accepted = timingSafeEqual(presented, known) || accepted
    return accepted
  }
}

function hash(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

// Tokens that were verified, by their hash: their texts are not kept.
import type { VerifiedToken } from '../model/token.ts'

const TOKENS_MAX = 10_000
/** Maximum characters of all kept tokens. Their claims take several bytes of memory for each. */
const LENGTH_MAX = 16 * 2 ** 20

interface Entry {
  readonly verified: VerifiedToken
  readonly length: number
}

/** Keeps tokens until they end, or newer ones need the room: the oldest gives way, since it is likely to end first. */
export class VerifiedTokens {
  private readonly entries = new Map<string, Entry>()
  private length = 0
  private readonly hash = Buffer.alloc(32)

  find(token: string): VerifiedToken | null {
    const key = this.keyOf(token)
    const verified = this.entries.get(key)?.verified
    if (verified === undefined) return null
    if (Date.now() < verified.endsMs) return verified
    this.drop(key)
    return null
  }

  /** Keeps a token, and returns what is kept: requests that come together verify a token several times. */
  keep(token: string, verified: VerifiedToken): VerifiedToken {
    const kept = this.find(token)
    if (kept !== null) return kept
    const key = this.keyOf(token)
    this.entries.set(key, { verified, length: token.length })
    this.length += token.length
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= TOKENS_MAX && this.length <= LENGTH_MAX) break
      this.drop(oldest)
    }
    return verified
  }

  clear(): void {
    this.entries.clear()
    this.length = 0
  }

  private drop(key: string): void {
    this.length -= this.entries.get(key)?.length ?? 0
    this.entries.delete(key)
  }

  private keyOf(token: string): string {
    Bun.SHA256.hash(token, this.hash)
    return this.hash.toString('latin1')
  }
}

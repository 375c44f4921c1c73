// Tokens that were verified, by their hashes: the texts of tokens are not kept.
import type { VerifiedToken } from '../model/token.ts'

const TOKENS_MAX = 10_000
/** Maximum characters of all kept tokens together. Claims take several bytes of memory for each character of a token. */
const LENGTH_MAX = 16 * 2 ** 20

interface Entry {
  readonly verified: VerifiedToken
  readonly length: number
}

/** Keeps tokens until they end. If newer tokens need the room, drops the oldest token, which is likely to end first. */
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

  /**
   * Keeps a token, and returns the kept object. If several requests verify the same token at once, all get the object of the
   * first.
   */
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

// Cursors: positions in a list as signed text. A cursor contains values of a row, and is valid for one list only.
import { timingSafeEqual } from 'node:crypto'
import type { ListQuery, Seek } from './query.ts'
import { identify, order } from './query.ts'
import type { View } from './view.ts'

/** Version of the cursor format. */
const VERSION = '1'
const SIGNS = { after: '>', before: '<' } as const
/** Number of characters of the signature, HMAC-SHA256 in base64url: 132 bits, too many to guess. */
const MAC_LENGTH = 22
/** Maximum length of a cursor: a link with it still fits into the longest target that the server accepts. */
const LENGTH_MAX = 2_048
/** Maximum number of sort keys: eight properties and the id. The SQL for a position grows with the square of this number. */
const KEYS_MAX = 9

/** Parts of a query that a cursor is bound to. */
type List = Pick<ListQuery, 'filters' | 'sorts' | 'may'>

/** Writes cursors, and reads cursors that were signed with the same secret. */
export class Cursors {
  /** The last list and its scope. They are kept because a page writes two cursors of the same list. */
  private last: { list: List; scope: string } | null = null

  constructor(private current: string) {}

  /** Secret of the database, the same for all servers on it. */
  get secret(): string {
    return this.current
  }

  /** Replaces the secret; cursors that were signed with the old secret become invalid. */
  replaceSecret(secret: string): void {
    this.current = secret
  }

  /**
   * Writes a cursor in base64url. Returns null if it would be over 2 KiB, or the list is sorted by more than eight properties.
   */
  write(view: View, list: List, { side, position }: Seek): string | null {
    if (position.length > KEYS_MAX) return null
    const payload = VERSION + SIGNS[side] + JSON.stringify(position)
    const encoded = Buffer.from(payload).toString('base64url')
    return MAC_LENGTH + encoded.length > LENGTH_MAX ? null : this.sign(view, list, encoded) + encoded
  }

  /** Reads a cursor. Returns null if `write` has not returned exactly this text for this list. */
  read(view: View, list: List, text: string): Seek | null {
    if (text.length > LENGTH_MAX) return null
    const encoded = text.slice(MAC_LENGTH)
    const given = Buffer.from(text.slice(0, MAC_LENGTH))
    const own = Buffer.from(this.sign(view, list, encoded))
    if (given.length !== own.length || !timingSafeEqual(given, own)) return null
    const payload = Buffer.from(encoded, 'base64url').toString()
    if (!payload.startsWith(VERSION)) return null
    const side = payload[1] === SIGNS.after ? 'after' : 'before'
    return { side, position: JSON.parse(payload.slice(2)) }
  }

  /** Signs the encoded text, not the position, because several texts of base64 decode to the same bytes. */
  private sign(view: View, list: List, encoded: string): string {
    if (this.last?.list !== list) this.last = { list, scope: scopeOf(view, list) }
    const hmac = new Bun.CryptoHasher('sha256', this.secret).update(this.last.scope).update(encoded)
    return hmac.digest('base64url').slice(0, MAC_LENGTH)
  }
}

/**
 * Returns a text that identifies a list. A cursor's signature is computed from this text and the encoded position after it. The
 * only line break of the text is at its end, so it is unambiguous where the position begins.
 */
function scopeOf(view: View, { filters, sorts, may }: List): string {
  // The filters of rights are left out, because their values can contain the current time. The texts of the rights stand for
  // them.
  const own = filters.filter((filter) => !view.filters.includes(filter) && !may?.filters.includes(filter))
  const conditions = own.map((filter) => JSON.stringify(identify(filter)))
  const keys = order(view, sorts).map(({ property, descending }) => [property.column, descending])
  const right = view.signedText === '' ? [] : [view.signedText]
  const reach = may === null ? [] : [{ may: [may.signedText, ...may.write.properties.map(({ column }) => column).sort()] }]
  return `${JSON.stringify([view.table, conditions.sort(), keys, ...right, ...reach])}\n`
}

// Cursors: positions in a list as signed text, which holds values of a row and is valid for no other list.
import { timingSafeEqual } from 'node:crypto'
import type { Entity } from './entity.ts'
import type { ListQuery, Seek } from './query.ts'
import { order } from './query.ts'

/** Version of the format of cursors. */
const VERSION = '1'
const SIGNS = { behind: '>', before: '<' } as const
/** Characters of an HMAC-SHA256 in base64url: 132 bits, which cannot be guessed either. */
const MAC_LENGTH = 22
/** In a head of 4 KiB, a link with a cursor of this length stays within the longest target that the server takes. */
const LENGTH_MAX = 2_048
/** Eight properties and the id: the SQL for a position grows with the square of it. */
const KEYS_MAX = 9

/** The list that a cursor belongs to. */
type List = Pick<ListQuery, 'filters' | 'sorts'>

/** Writes cursors, and reads those that were signed with the same secret. */
export class Cursors {
  /** A page has two cursors of one list. */
  private last: { list: List; scope: string } | null = null

  constructor(private secret: string) {}

  /** Replaces the secret; older cursors are no longer accepted. */
  replaceSecret(secret: string): void {
    this.secret = secret
  }

  /** In the letters of base64url; null: over 2 KiB, or the list is sorted by more than eight properties. */
  write(entity: Entity, list: List, { side, position }: Seek): string | null {
    if (position.length > KEYS_MAX) return null
    const payload = VERSION + SIGNS[side] + JSON.stringify(position)
    const encoded = Buffer.from(payload).toString('base64url')
    return MAC_LENGTH + encoded.length > LENGTH_MAX ? null : this.sign(entity, list, encoded) + encoded
  }

  /** Null: it was not written for this list, or not to the letter. */
  read(entity: Entity, list: List, text: string): Seek | null {
    if (text.length > LENGTH_MAX) return null
    const encoded = text.slice(MAC_LENGTH)
    const given = Buffer.from(text.slice(0, MAC_LENGTH))
    const own = Buffer.from(this.sign(entity, list, encoded))
    if (given.length !== own.length || !timingSafeEqual(given, own)) return null
    const payload = Buffer.from(encoded, 'base64url').toString()
    if (!payload.startsWith(VERSION)) return null
    const side = payload[1] === SIGNS.behind ? 'behind' : 'before'
    return { side, position: JSON.parse(payload.slice(2)) }
  }

  /** Signs the text, not the position: several texts of base64 can stand for the same. */
  private sign(entity: Entity, list: List, encoded: string): string {
    if (this.last?.list !== list) this.last = { list, scope: scopeOf(entity, list) }
    const hmac = new Bun.CryptoHasher('sha256', this.secret).update(this.last.scope).update(encoded)
    return hmac.digest('base64url').slice(0, MAC_LENGTH)
  }
}

/** Text of all lists of these rows in this order. Its only line break is its end, so that no part of it can pass for payload. */
function scopeOf(entity: Entity, { filters, sorts }: List): string {
  const conditions = filters.map(({ property, operator, value }) => JSON.stringify([property.column, operator.sign, value]))
  const keys = order(entity, sorts).map(({ property, descending }) => [property.column, descending])
  return `${JSON.stringify([entity.table, conditions.sort(), keys])}\n`
}

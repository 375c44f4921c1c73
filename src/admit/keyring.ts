// Valid keys in memory, by id.
import { timingSafeEqual } from 'node:crypto'
import type { KeyRecord } from '../model/key.ts'
import { type Rights, readRights } from '../model/rights.ts'
import { type Client, keyClient } from './address.ts'
import { hashKey, idOf } from './apiKey.ts'
import { ownTableOf } from './limiterFiles.ts'

/** A valid key. The same object for as long as the key stays as it is. */
export interface Key {
  /** A key of the settings has `bootstrap-1`, `bootstrap-2` and so on, which no other key can have. */
  readonly id: string
  /** False: it is one of the settings, which are never revoked. */
  readonly isStored: boolean
  readonly name: string
  readonly rights: Rights
  /** The table of its own limits, as `ownTableOf` names it; null, or without such a table: RATE_LIMITS apply. */
  readonly ownTable: string | null
  /** The client to charge: by the key's name, so that a key and the one that replaces it share their limits. */
  readonly client: Client
}

interface Entry {
  readonly key: Key
  readonly hash: Buffer
  readonly record: KeyRecord
  isUsed: boolean
}

/** A dummy key: a text with an unknown id is compared with it, so that times do not show which ids exist. */
const UNKNOWN_KEY: readonly Entry[] = [entryOf({ id: '', name: '', hash: hashKey('').toString('hex'), rights: '', limits: null })]

/** The keys that are valid, in memory, by their id. Holds hashes only. */
export class Keyring {
  private readonly bootstrap: readonly (Entry & { readonly bootstrapId: string })[]
  private entries = new Map<string, readonly Entry[]>()
  private used: Entry[] = []
  private readonly presented = Buffer.alloc(32)

  constructor(keys: readonly KeyRecord[], bootstrapKeys: readonly string[]) {
    this.bootstrap = bootstrapKeys.map((text, index) => {
      const [id, hash] = [`bootstrap-${index + 1}`, hashKey(text).toString('hex')]
      const entry = entryOf({ id, name: 'bootstrap', hash, rights: '*:read,*:write', limits: null })
      // By a name that no key in the database can have.
      const client = keyClient(`\n${index + 1}`)
      return { ...entry, key: { ...entry.key, isStored: false, client }, bootstrapId: idOf(text) }
    })
    this.replace(keys)
  }

  get hasKeys(): boolean {
    return this.entries.size > 0
  }

  replace(keys: readonly KeyRecord[]): void {
    const entries = new Map<string, readonly Entry[]>()
    for (const record of keys) {
      const known = this.entries.get(record.id)?.find((entry) => Bun.deepEquals(entry.record, record))
      entries.set(record.id, [known ?? entryOf(record)])
    }
    for (const entry of this.bootstrap) entries.set(entry.bootstrapId, [...(entries.get(entry.bootstrapId) ?? []), entry])
    this.entries = entries
  }

  find(text: string | undefined): Key | null {
    if (text === undefined) return null
    const candidates = this.entries.get(idOf(text)) ?? UNKNOWN_KEY
    hashKey(text, this.presented)
    let found: Entry | null = null
    for (const entry of candidates) if (timingSafeEqual(this.presented, entry.hash)) found = entry
    if (found === null || candidates === UNKNOWN_KEY) return null
    if (!found.isUsed) {
      found.isUsed = true
      this.used.push(found)
    }
    return found.key
  }

  /** The ids of the database's keys that `find` has found since the last call. */
  takeUsed(): string[] {
    const taken = this.used
    this.used = []
    for (const entry of taken) entry.isUsed = false
    return taken.filter(({ key }) => key.isStored).map(({ key }) => key.id)
  }
}

function entryOf(record: KeyRecord): Entry {
  const { id, name, hash, rights } = record
  const key = { id, isStored: true, name, rights: readRights(rights), ownTable: ownTableOf(record), client: keyClient(name) }
  return { key, hash: Buffer.from(hash, 'hex'), record, isUsed: false }
}

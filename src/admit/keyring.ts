import { timingSafeEqual } from 'node:crypto'
import type { KeyRecord } from '../model/key.ts'
import { parseRules, type Rule } from '../model/limits.ts'
import { type Rights, readRights } from '../model/rights.ts'
import { type Client, keyClient } from './address.ts'
import { hashKey, idOf } from './apiKey.ts'

/** Who asks. The same object for as long as the key stays as it is. */
export interface Key {
  /** Of a key from the settings `bootstrap-1`, `bootstrap-2` and so on, which no other key can have. */
  readonly id: string
  /** False: of the settings, where nothing is ever revoked. */
  readonly isStored: boolean
  readonly name: string
  readonly rights: Rights
  /** Null: the server's settings decide. */
  readonly limits: readonly Rule[] | null
  /** Who is charged: by the name, so that a key and the one that replaces it have their limits together. */
  readonly client: Client
}

interface Entry {
  readonly key: Key
  readonly hash: Buffer
  /** Null: from the settings. */
  readonly record: KeyRecord | null
  isUsed: boolean
}

/** Of more keys that were revoked or have expired it is asked again. */
const ENDED_MAX = 1_000

const NOBODY: readonly Entry[] = [
  entryOf({ id: '', name: '', hash: hashKey('').toString('hex'), rights: '', limits: null }),
]

/** The keys that are valid, in memory, by their id. Holds hashes only. */
export class Keyring {
  /** Another after each `replace`. */
  serial = 0
  private readonly bootstrap: readonly (Entry & { readonly place: string })[]
  private entries = new Map<string, readonly Entry[]>()
  private readonly ended = new Set<string>()
  private readonly added = new Set<string>()
  private used: Entry[] = []
  private readonly presented = Buffer.alloc(32)

  constructor(keys: readonly KeyRecord[], bootstrapKeys: readonly string[]) {
    this.bootstrap = bootstrapKeys.map((text, index) => ({
      key: {
        id: `bootstrap-${index + 1}`,
        isStored: false,
        name: 'bootstrap',
        rights: readRights('*:read,*:write'),
        limits: null,
        // A name that no key in the database can have.
        client: keyClient(`\n${index + 1}`),
      },
      hash: hashKey(text),
      record: null,
      isUsed: false,
      place: idOf(text),
    }))
    this.replace(keys)
  }

  /** From now on these are the keys of the database. */
  replace(keys: readonly KeyRecord[]): void {
    const entries = new Map<string, readonly Entry[]>()
    for (const record of keys) entries.set(record.id, [this.kept(record) ?? entryOf(record)])
    if (this.ended.size > ENDED_MAX) this.ended.clear()
    // What was added since may be newer than these.
    for (const id of this.entries.keys()) if (!entries.has(id) && !this.added.has(id)) this.ended.add(id)
    this.added.clear()
    for (const id of entries.keys()) this.ended.delete(id)
    for (const entry of this.bootstrap) entries.set(entry.place, [...(entries.get(entry.place) ?? []), entry])
    this.entries = entries
    this.serial++
  }

  /** One more key of the database, until they are replaced. */
  add(record: KeyRecord): void {
    this.entries.set(record.id, [entryOf(record), ...(this.entries.get(record.id) ?? [])])
    this.added.add(record.id)
  }

  /** Whether the id is that of a key that is known. */
  knows(id: string): boolean {
    return this.entries.has(id)
  }

  /** Whether the id is that of a key that is known, or was and has ended: the database need not be asked for it. */
  has(id: string): boolean {
    return this.entries.has(id) || this.ended.has(id)
  }

  /** The key with this text. An unknown id costs one hash and one comparison too: what is known here takes no other time. */
  find(text: string | undefined): Key | null {
    if (text === undefined) return null
    const candidates = this.entries.get(idOf(text)) ?? NOBODY
    hashKey(text, this.presented)
    let found: Entry | null = null
    for (const entry of candidates) if (timingSafeEqual(this.presented, entry.hash)) found = entry
    if (found === null || candidates === NOBODY) return null
    if (!found.isUsed) this.markUsed(found)
    return found.key
  }

  /** The ids of the database's keys that were found since the last call. */
  takeUsed(): string[] {
    const taken = this.used
    this.used = []
    for (const entry of taken) entry.isUsed = false
    return taken.map(({ key }) => key.id)
  }

  private markUsed(entry: Entry) {
    entry.isUsed = true
    if (entry.record) this.used.push(entry)
  }

  private kept(record: KeyRecord): Entry | undefined {
    return this.entries.get(record.id)?.find((entry) => entry.record && isSame(entry.record, record))
  }
}

function entryOf(record: KeyRecord): Entry {
  const { id, name, hash, rights, limits } = record
  const key = {
    id,
    isStored: true,
    name,
    rights: readRights(rights),
    limits: readRules(limits),
    client: keyClient(name),
  }
  return { key, hash: Buffer.from(hash, 'hex'), record, isUsed: false }
}

function isSame(one: KeyRecord, other: KeyRecord): boolean {
  const { hash, name, rights, limits } = one
  return hash === other.hash && name === other.name && rights === other.rights && limits === other.limits
}

/** Stored limits that cannot be read must not keep a server from starting. */
function readRules(text: string | null): readonly Rule[] | null {
  try {
    return text === null ? null : parseRules(text)
  } catch {
    return null
  }
}

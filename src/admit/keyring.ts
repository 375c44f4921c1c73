// Valid keys in memory, by id.
import { timingSafeEqual } from 'node:crypto'
import type { GrantedRights } from '../model/access.ts'
import type { KeyRecord } from '../model/key.ts'
import type { Client, Principal, RightsNow } from '../model/principal.ts'
import { keyClient } from './address.ts'
import { hashKey, idOf } from './apiKey.ts'
import { ownTableOf } from './limiterFiles.ts'

/** A valid key. It stays the same object until the key changes. */
export interface Key extends Principal {
  /** Id of the key. The key of BOOTSTRAP_API_KEY has the id `bootstrap-1`, which no key of the database can have. */
  readonly id: string
  /** False for the key of BOOTSTRAP_API_KEY, which is never revoked. */
  readonly isStored: boolean
  readonly isPerson: false
  /** The client to charge. It depends on the key's name, so that a rotated key shares its limits with its replacement. */
  readonly client: Client
  rightsNow(): RightsNow
}

/** A key, the hash of its text, and the record from which the key was made. */
interface Entry {
  readonly key: Key
  readonly hash: Buffer
  readonly record: KeyRecord
}

/** Reads the rights of a record: `RightsReader.read`. */
type ReadRights = (record: KeyRecord) => GrantedRights

/** Dummy hash: texts with unknown ids are compared with it, so that response times do not reveal which ids exist. */
const UNKNOWN_HASH = hashKey('')

/** Valid keys by id. Only hashes of their texts are kept. */
export class Keyring {
  private readonly bootstrap: Entry | null
  private entries = new Map<string, Entry>()
  private withheld = new Map<string, Entry>()
  private readonly used = new Set<Key>()
  private readonly presented = Buffer.alloc(32)

  constructor(
    bootstrapKey: string | null,
    private readonly readRights: ReadRights,
  ) {
    this.bootstrap = bootstrapKey === null ? null : bootstrapEntry(bootstrapKey, readRights)
  }

  get hasKeys(): boolean {
    return this.bootstrap !== null || this.entries.size > 0
  }

  /**
   * Replaces all keys that come from the database. `withheld`: keys that cannot be charged yet, so `find` does not return them.
   */
  replace(keys: readonly KeyRecord[], withheld: readonly KeyRecord[] = []): void {
    const entriesOf = (records: readonly KeyRecord[]) =>
      new Map(
        records.map((record): [string, Entry] => {
          const known = this.entries.get(record.id)
          return [record.id, known && Bun.deepEquals(known.record, record) ? known : entryOf(record, this.readRights)]
        }),
      )
    ;[this.entries, this.withheld] = [entriesOf(keys), entriesOf(withheld)]
  }

  find(text: string | undefined): Key | null {
    if (text === undefined) return null
    hashKey(text, this.presented)
    const isBootstrap = this.bootstrap !== null && timingSafeEqual(this.presented, this.bootstrap.hash)
    const found = isBootstrap ? this.bootstrap : matching(this.entries, text, this.presented)
    if (found === null) return null
    this.used.add(found.key)
    return found.key
  }

  /** Returns whether a withheld key has this text. */
  withholds(text: string): boolean {
    return matching(this.withheld, text, hashKey(text, this.presented)) !== null
  }

  /** Returns the ids of the database's keys that were used since the last call. */
  takeUsed(): string[] {
    const taken = [...this.used]
    this.used.clear()
    return taken.filter(({ isStored }) => isStored).map(({ id }) => id)
  }
}

function matching(entries: ReadonlyMap<string, Entry>, text: string, presented: Buffer): Entry | null {
  const found = entries.get(idOf(text)) ?? null
  return timingSafeEqual(presented, found?.hash ?? UNKNOWN_HASH) ? found : null
}

function entryOf(record: KeyRecord, readRights: ReadRights): Entry {
  const { id, name, hash } = record
  // Rights of a block of the roles file can depend on the time, so they are read at each call.
  const fixed = record.role === null ? rightsOf(record, readRights) : null
  const key: Key = {
    id,
    isStored: true,
    isPerson: false,
    name,
    ownTable: ownTableOf(record),
    client: keyClient(name),
    rightsNow: () => fixed ?? rightsOf(record, readRights),
  }
  return { key, hash: Buffer.from(hash, 'hex'), record }
}

function rightsOf(record: KeyRecord, readRights: ReadRights): RightsNow {
  return { rights: readRights(record), moment: null }
}

/** Name of the key of BOOTSTRAP_API_KEY; keys of the database may not have it. */
export const BOOTSTRAP_NAME = 'bootstrap'

function bootstrapEntry(text: string, readRights: ReadRights): Entry {
  const hash = hashKey(text).toString('hex')
  const entry = entryOf(
    { id: 'bootstrap-1', name: BOOTSTRAP_NAME, hash, rights: '*:read,*:write', addresses: null, role: null, limits: null },
    readRights,
  )
  // The key is charged under a name that no key of the database can have.
  return { ...entry, key: { ...entry.key, isStored: false, client: keyClient('\n1') } }
}

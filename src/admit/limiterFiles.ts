// Files of shared memory with the tables of rate limits.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import type { KeyRecord } from '../model/key.ts'
import { formatRules, parseRules, type Rule } from '../model/limits.ts'
import { RegionFile } from '../os/region.ts'
import { wordsFor } from './window.ts'

/** Paths of the files with rate-limit tables, which all workers map. */
export interface LimiterTables {
  readonly keys: string
  readonly anonymous: string
  /** Path of the table of persons; null if the server takes no tokens of persons. */
  readonly persons: string | null
  /**
   * Tables of keys with their own limits, by the name from `ownTableOf`. `serial` changes when a table is replaced at the same
   * path.
   */
  readonly own: ReadonlyMap<string, { readonly path: string; readonly serial: number }>
  /** Number that changes when the table of all keys, of all addresses or of all persons is replaced. */
  readonly serial: number
}

/** Names of the tables of keys with their own limits, as `ownTableOf` returns them. */
export type OwnLimits = ReadonlySet<string>

/**
 * Returns the name of the table for a key's own limits; null if the key has none. Keys of one name with the same limits share a
 * table.
 */
export function ownTableOf({ name, limits }: KeyRecord): string | null {
  return limits === null ? null : `${name}\n${limits}`
}

export function rulesOf(ownTable: string): readonly Rule[] {
  return parseRules(ownTable.slice(ownTable.indexOf('\n') + 1))
}

export function ownLimitsOf(keys: readonly KeyRecord[]): OwnLimits {
  return new Set(keys.map(ownTableOf).filter((table) => table !== null))
}

/** Settings that decide the size and the format of the tables. */
export type LimiterSettings = Pick<
  Config,
  'rateLimits' | 'rateLimitsAnonymous' | 'rateLimitClients' | 'rateLimitsPersons' | 'oidcIssuer'
>

/** Number of persons that are counted separately. All further persons share one entry. */
export const PERSONS_MAX = 10_000

const ANONYMOUS_BYTES = 8 * 1024 * 1024
const OWN_PREFIX = 'own-'

/** Returns the number of addresses that are counted separately: as many as fit into 8 MiB, but at least 64 and at most 65,536. */
export function anonymousClients(rules: readonly Rule[]): number {
  const bytesEach = 4 * (wordsFor(1, rules) - wordsFor(0, rules))
  return Math.min(65_536, Math.max(64, Math.floor(ANONYMOUS_BYTES / bytesEach)))
}

/**
 * Creates and repairs the files of rate-limit tables. Only one process, the supervisor, has an instance; the workers map the
 * files.
 */
export class LimiterFiles {
  private readonly keys: RegionFile
  private readonly anonymous: RegionFile
  private readonly persons: RegionFile | null
  private readonly own = new Map<string, { file: RegionFile; serial: number }>()
  private made = 0
  private serial = 0

  constructor(
    private readonly folder: string,
    { rateLimits, rateLimitsAnonymous, rateLimitClients, rateLimitsPersons, oidcIssuer }: LimiterSettings,
  ) {
    this.keys = fileFor(join(folder, 'keys'), rateLimitClients, rateLimits)
    this.anonymous = fileFor(join(folder, 'anonymous'), anonymousClients(rateLimitsAnonymous), rateLimitsAnonymous)
    this.persons = oidcIssuer === null ? null : fileFor(join(folder, 'persons'), PERSONS_MAX, rateLimitsPersons)
  }

  /** Files of the tables for all keys, for all addresses and for all persons. */
  private get shared(): RegionFile[] {
    return [this.keys, this.anonymous, ...(this.persons === null ? [] : [this.persons])]
  }

  /**
   * Creates missing tables, replaces damaged ones, and deletes the tables of keys' own limits that are not in `limits` (null:
   * deletes none). @throws Error if a shared table does not fit into memory; for a key's own table `onNoRoom` is called instead
   */
  ensure(limits: OwnLimits | null, onNoRoom: (error: Error, name: string) => void): LimiterTables {
    // An operator may have deleted the folder.
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
    for (const file of this.shared) if (file.ensure()) this.serial = ++this.made
    if (limits !== null) this.deleteOthers(limits)
    for (const table of limits ?? this.own.keys()) {
      try {
        const known = this.own.get(table)
        const file = known?.file ?? fileFor(this.pathFor(table), 1, rulesOf(table))
        if (file.ensure() || !known) this.own.set(table, { file, serial: ++this.made })
      } catch (error) {
        onNoRoom(errorOf(error), table.split('\n')[0] as string)
      }
    }
    const own = new Map([...this.own].map(([table, { file, serial }]) => [table, { path: file.path, serial }]))
    const { keys, anonymous, persons } = this
    return { keys: keys.path, anonymous: anonymous.path, persons: persons?.path ?? null, own, serial: this.serial }
  }

  close(): void {
    for (const file of [...this.shared, ...[...this.own.values()].map((entry) => entry.file)]) file.close()
  }

  private deleteOthers(limited: OwnLimits) {
    for (const [table, { file }] of this.own)
      if (!limited.has(table)) {
        file.close()
        this.own.delete(table)
      }
    const paths = new Set([...limited].map((table) => this.pathFor(table)))
    const existing = readdirSync(this.folder).filter((entry) => entry.startsWith(OWN_PREFIX))
    for (const entry of existing) if (!paths.has(join(this.folder, entry))) rmSync(join(this.folder, entry))
  }

  private pathFor(table: string): string {
    return join(this.folder, OWN_PREFIX + Bun.hash(table).toString(36))
  }
}

function fileFor(path: string, clients: number, rules: readonly Rule[]): RegionFile {
  return new RegionFile(path, `windows ${clients} ${formatRules(rules)}`, wordsFor(clients, rules))
}

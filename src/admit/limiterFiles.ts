// Files of shared memory with the tables of rate limits.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { KeyRecord } from '../model/key.ts'
import { formatRules, parseRules, type Rule } from '../model/limits.ts'
import { RegionFile } from '../os/region.ts'
import { wordsFor } from './window.ts'

/** The files of the limiter's tables, for the processes that map them. */
export interface LimiterTables {
  readonly keys: string
  readonly anonymous: string
  /** The tables of keys with limits of their own, by `ownTableOf`. `serial`: two can follow each other at one path. */
  readonly own: ReadonlyMap<string, { readonly path: string; readonly serial: number }>
  /** Changes when a table that all keys or all addresses share was made anew. */
  readonly serial: number
}

/** The tables of keys that have limits of their own, as `ownTableOf` names them. */
export type OwnLimits = ReadonlySet<string>

/** Name of the table of a key's own limits, which all keys of a name with the same limits share; null: it has none. */
export function ownTableOf({ name, limits }: KeyRecord): string | null {
  return limits === null ? null : `${name}\n${limits}`
}

export function rulesOf(ownTable: string): readonly Rule[] {
  return parseRules(ownTable.slice(ownTable.indexOf('\n') + 1))
}

export function ownLimitsOf(keys: readonly KeyRecord[]): OwnLimits {
  return new Set(keys.map(ownTableOf).filter((table) => table !== null))
}

/** The settings that decide the layout of the tables. */
export type LimiterSettings = Pick<Config, 'rateLimits' | 'rateLimitsAnonymous' | 'rateLimitClients'>

const ANONYMOUS_BYTES = 8 * 1024 * 1024
const OWN = 'own-'

/** How many addresses have an entry of their own at once: as many as 8 MiB hold. */
export function anonymousClients(rules: readonly Rule[]): number {
  const bytesEach = 4 * (wordsFor(1, rules) - wordsFor(0, rules))
  return Math.min(65_536, Math.max(64, Math.floor(ANONYMOUS_BYTES / bytesEach)))
}

/** The limiter's tables as files, held by the one process that makes them for all others. */
export class LimiterFiles {
  private readonly keys: RegionFile
  private readonly anonymous: RegionFile
  private readonly own = new Map<string, { file: RegionFile; serial: number }>()
  private made = 0
  private serial = 0

  constructor(
    private readonly folder: string,
    { rateLimits, rateLimitsAnonymous, rateLimitClients }: LimiterSettings,
  ) {
    this.keys = fileFor(join(folder, 'keys'), rateLimitClients, rateLimits)
    this.anonymous = fileFor(join(folder, 'anonymous'), anonymousClients(rateLimitsAnonymous), rateLimitsAnonymous)
  }

  /**
   * Makes tables that are missing, replaces damaged ones, and deletes those of other limits than `limits`; null: none.
   * @throws Error when a table that all share does not fit; `onNoRoom` is called for a key's own
   */
  ensure(limits: OwnLimits | null, onNoRoom: (error: Error, name: string) => void): LimiterTables {
    // An operator may have deleted it.
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
    for (const file of [this.keys, this.anonymous]) if (file.ensure()) this.serial = ++this.made
    if (limits !== null) this.dropAllBut(limits)
    for (const table of limits ?? this.own.keys()) {
      try {
        const known = this.own.get(table)
        const file = known?.file ?? fileFor(this.pathFor(table), 1, rulesOf(table))
        if (file.ensure() || !known) this.own.set(table, { file, serial: ++this.made })
      } catch (error) {
        onNoRoom(error as Error, table.split('\n')[0] as string)
      }
    }
    const own = new Map([...this.own].map(([table, { file, serial }]) => [table, { path: file.path, serial }]))
    return { keys: this.keys.path, anonymous: this.anonymous.path, own, serial: this.serial }
  }

  close(): void {
    for (const file of [this.keys, this.anonymous, ...[...this.own.values()].map((entry) => entry.file)]) file.close()
  }

  private dropAllBut(limited: OwnLimits) {
    for (const [table, { file }] of this.own)
      if (!limited.has(table)) {
        file.close()
        this.own.delete(table)
      }
    const kept = new Set([...limited].map((table) => this.pathFor(table)))
    const there = readdirSync(this.folder).filter((entry) => entry.startsWith(OWN))
    for (const entry of there) if (!kept.has(join(this.folder, entry))) rmSync(join(this.folder, entry))
  }

  private pathFor(table: string): string {
    return join(this.folder, OWN + Bun.hash(table).toString(36))
  }
}

function fileFor(path: string, clients: number, rules: readonly Rule[]): RegionFile {
  return new RegionFile(path, `windows ${clients} ${formatRules(rules)}`, wordsFor(clients, rules))
}

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
  /** The tables of keys with limits of their own, by `ownTableOf`. */
  readonly own: ReadonlyMap<string, OwnTable>
  /** Changes when a table that all keys or all addresses share was made anew. */
  readonly serial: number
}

interface OwnTable {
  readonly path: string
  readonly limits: string
  /** Differs for each table that is made: two can follow each other at one path. */
  readonly serial: number
}

/** The limits of keys that have their own, by `ownTableOf`. */
export type OwnLimits = ReadonlyMap<string, { readonly name: string; readonly limits: string }>

/** Name of the table of a key's own limits: all keys of a name with the same limits share it. */
export function ownTableOf(name: string, limits: string): string {
  return `${name}\n${limits}`
}

/** The keys that have limits of their own, by these limits. */
export function ownLimitsOf(keys: readonly KeyRecord[]): OwnLimits {
  return new Map(keys.flatMap(({ name, limits }) => (limits === null ? [] : [[ownTableOf(name, limits), { name, limits }]])))
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
  private readonly own = new Map<string, { file: RegionFile; name: string; limits: string; serial: number }>()
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
    for (const [table, own] of limits ?? this.own) {
      try {
        this.ensureOwn(table, own)
      } catch (error) {
        onNoRoom(error as Error, own.name)
      }
    }
    const own = new Map([...this.own].map(([table, { file, ...more }]) => [table, { path: file.path, ...more }]))
    return { keys: this.keys.path, anonymous: this.anonymous.path, own, serial: this.serial }
  }

  close(): void {
    for (const file of [this.keys, this.anonymous, ...[...this.own.values()].map((entry) => entry.file)]) file.close()
  }

  private ensureOwn(table: string, { name, limits }: { name: string; limits: string }) {
    const known = this.own.get(table)
    const file = known?.file ?? fileFor(this.pathFor(table), 1, parseRules(limits))
    const isNew = file.ensure()
    if (isNew || !known) this.own.set(table, { file, name, limits, serial: ++this.made })
  }

  private dropAllBut(limited: OwnLimits) {
    for (const [table, { file }] of this.own)
      if (!limited.has(table)) {
        file.close()
        this.own.delete(table)
      }
    const kept = new Set([...limited.keys()].map((table) => this.pathFor(table)))
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

import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { KeyRecord } from '../model/key.ts'
import { formatRules, parseRules, type Rule } from '../model/limits.ts'
import { monotonicMs } from '../os/clock.ts'
import { OWN_WORD, RegionFile } from '../os/region.ts'
import { wordsFor } from './window.ts'

/** Where the limiter's tables lie, for the processes that map them. */
export interface LimiterTables {
  readonly keys: string
  readonly anonymous: string
  /** The tables of keys with limits of their own, by the key's name. */
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

/** What the tables are made for. */
export interface LimiterSettings {
  /** For keys that have none of their own. */
  readonly limits: readonly Rule[]
  /** For addresses. */
  readonly anonymousLimits: readonly Rule[]
  /** Keys that have an entry of their own at once. */
  readonly clients: number
}

const ANONYMOUS_BYTES = 8 * 1024 * 1024
const OWN = 'own-'
/** The word in the table of keys that says when workers last had the database's keys, by the monotonic clock; 0: unknown. */
export const NEWS_WORD = OWN_WORD + 1

/** The limiters' part of the settings. */
export function limiterSettings(config: Config): LimiterSettings {
  const { rateLimits, rateLimitsAnonymous, rateLimitClients } = config
  return { limits: rateLimits, anonymousLimits: rateLimitsAnonymous, clients: rateLimitClients }
}

/** How many addresses have an entry of their own at once: as many as 8 MiB hold. */
export function anonymousClients(rules: readonly Rule[]): number {
  const bytesEach = 4 * (wordsFor(1, rules) - wordsFor(0, rules))
  return Math.min(65_536, Math.max(64, Math.floor(ANONYMOUS_BYTES / bytesEach)))
}

/** The limiter's tables as files, held by the one process that makes them for all others. */
export class LimiterFiles {
  private readonly keys: RegionFile
  private readonly anonymous: RegionFile
  private readonly own = new Map<string, { file: RegionFile; limits: string; serial: number }>()
  private made = 0
  private newsMs = 0
  private serial = 0

  constructor(
    private readonly folder: string,
    { limits, anonymousLimits, clients }: LimiterSettings,
  ) {
    const addresses = anonymousClients(anonymousLimits)
    this.keys = fileFor(join(folder, 'keys'), clients, limits)
    this.anonymous = fileFor(join(folder, 'anonymous'), addresses, anonymousLimits)
  }

  /**
   * Makes tables that are missing, replaces damaged ones, and deletes those of keys that are no more.
   * @throws Error when a table that all share does not fit; `onNoRoom` is called for a key's own
   */
  ensure(records: readonly KeyRecord[], onNoRoom: (error: Error, name: string) => void): LimiterTables {
    // An operator may have deleted it.
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
    for (const file of [this.keys, this.anonymous]) if (file.ensure()) this.serial = ++this.made
    this.keys.write(NEWS_WORD, this.newsMs)
    const limited = new Map(records.flatMap(({ name, limits }) => (limits === null ? [] : [[name, limits]])))
    this.dropAllBut(limited)
    for (const [name, limits] of limited) {
      try {
        this.ensureOwn(name, limits)
      } catch (error) {
        onNoRoom(error as Error, name)
      }
    }
    const own = new Map([...this.own].map(([name, { file, ...table }]) => [name, { path: file.path, ...table }]))
    return { keys: this.keys.path, anonymous: this.anonymous.path, own, serial: this.serial }
  }

  /** Notes that workers have the keys as they were at `ms` of the monotonic clock. @throws Error of the file system */
  noteNews(ms: number = monotonicMs()): void {
    this.newsMs = ms | 0 || 1
    this.keys.write(NEWS_WORD, this.newsMs)
  }

  close(): void {
    for (const file of [this.keys, this.anonymous, ...[...this.own.values()].map((entry) => entry.file)]) file.close()
  }

  private ensureOwn(name: string, limits: string) {
    const known = this.own.get(name)
    const file = known?.file ?? fileFor(this.pathFor(name, limits), 1, parseRules(limits))
    const isNew = file.ensure()
    if (isNew || !known) this.own.set(name, { file, limits, serial: ++this.made })
  }

  private dropAllBut(limited: ReadonlyMap<string, string>) {
    for (const [name, { file, limits }] of this.own)
      if (limited.get(name) !== limits) {
        file.close()
        this.own.delete(name)
      }
    const kept = new Set([...limited].map(([name, limits]) => this.pathFor(name, limits)))
    const there = readdirSync(this.folder).filter((entry) => entry.startsWith(OWN))
    for (const entry of there) if (!kept.has(join(this.folder, entry))) rmSync(join(this.folder, entry))
  }

  private pathFor(name: string, limits: string): string {
    return join(this.folder, OWN + Bun.hash(`${name}\n${limits}`).toString(36))
  }
}

function fileFor(path: string, clients: number, rules: readonly Rule[]): RegionFile {
  return new RegionFile(path, `windows ${clients} ${formatRules(rules)}`, wordsFor(clients, rules))
}

import { LimiterFiles, type LimiterTables, limiterSettings } from '../admit/limiterFiles.ts'
import type { Config } from '../config/config.ts'
import { KeyStore } from '../keys/store.ts'
import { type KeyWatch, watchKeys } from '../keys/watch.ts'
import type { Log } from '../log.ts'
import type { KeyRecord } from '../model/key.ts'
import { withDeadline } from '../os/deadline.ts'
import { StartError } from './startError.ts'

interface Events {
  /** The keys have changed: workers must get these, and the tables in which their requests are counted. */
  onKeys(keys: readonly KeyRecord[], tables: () => LimiterTables): void
  /** A damaged table was made anew: workers that go on with the old one would count apart. */
  onTableReplaced(): void
}

/** How long a start waits for the first keys. */
const FIRST_KEYS_MS_MAX = 10_000

/** What workers need to admit requests: follows the keys in the database, and keeps the limiters' tables usable. */
export class KeyService {
  private readonly files: LimiterFiles
  private store: KeyStore | null = null
  private watch: KeyWatch | null = null
  /** Null until the keys were read for the first time. */
  private read: readonly KeyRecord[] | null = null
  private failure: unknown = null
  private tables: LimiterTables | null = null
  private lastTouch: Promise<void> = Promise.resolve()

  /** `folder`: where the tables lie. */
  constructor(
    private readonly config: Config,
    folder: string,
    private readonly log: Log,
    private readonly events: Events,
  ) {
    this.files = new LimiterFiles(folder, limiterSettings(config))
  }

  /** The keys as they were last read. */
  get keys(): readonly KeyRecord[] {
    return this.read ?? []
  }

  /** The tables, made or repaired; the last ones where that fails. @throws Error where there have been none */
  ensureTables(): LimiterTables {
    const before = this.tables
    try {
      this.tables = this.files.ensure(this.keys, ({ message }, key) => {
        this.log.warn('the limits of a key cannot be used: RATE_LIMITS apply to it', { key, error: message })
      })
    } catch (error) {
      if (before === null) throw error
      this.log.error('rate limit tables cannot be repaired: the last ones stay in use', {
        error: (error as Error).message,
      })
      return before
    }
    if (before !== null && before.serial !== this.tables.serial) this.events.onTableReplaced()
    return this.tables
  }

  /** Follows the keys of the database from now on; resolves when they have been read. @throws StartError */
  async follow(databaseUrl: string): Promise<void> {
    const { databasePrepare, databaseDirectUrl } = this.config
    this.store ??= new KeyStore(databaseUrl, databasePrepare || databaseDirectUrl !== null)
    if (this.watch === null) this.files.noteNews() // from now on workers expect news
    this.watch ??= watchKeys(this.store, {
      onChange: (keys) => {
        this.read = keys
        this.events.onKeys(keys, () => this.ensureTables())
      },
      onNews: (ms) => this.files.noteNews(ms),
      onError: (error) => {
        this.failure = error
        this.log.warn('the supervisor cannot read the keys: workers read them by themselves', { error: String(error) })
      },
    })
    await withDeadline(this.watch.first, FIRST_KEYS_MS_MAX, () => undefined)
    const { failure: cause } = this
    if (cause !== null && this.read === null) throw new StartError(`the keys cannot be read: ${cause}`, { cause })
  }

  /** Notes in the database when these keys were used; a convenience, of which one may get lost. */
  touch(ids: readonly string[]): void {
    const touched = this.store?.touch(ids).catch(() => undefined)
    this.lastTouch = Promise.all([this.lastTouch, touched]).then(() => undefined)
  }

  /** Ends the calls of events. */
  stop(): void {
    this.watch?.stop()
  }

  /** Writes what `touch` has noted, and closes the connection. */
  async end(): Promise<void> {
    await this.lastTouch
    await this.store?.end()
  }

  /** Closes the tables' files. */
  close(): void {
    this.files.close()
  }
}

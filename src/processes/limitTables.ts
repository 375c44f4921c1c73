import { LimiterFiles, type LimiterTables, type OwnLimits } from '../admit/limiterFiles.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'
import { takeMemoryFolder } from '../os/folder.ts'

/** The tables in which all workers count requests: keeps them usable, and has one for each key with limits of its own. */
export class LimitTables {
  private readonly files: LimiterFiles
  private tables: LimiterTables | null = null
  /** Limits of the keys that each worker has. */
  private readonly limitsByWorker = new Map<unknown, OwnLimits>()

  /** `onReplaced`: a damaged table was made anew; workers that go on with the old one would count apart. */
  constructor(
    config: Config,
    folder: string,
    private readonly log: Log,
    private readonly onReplaced: () => void,
  ) {
    this.files = new LimiterFiles(folder, config)
  }

  /** The tables, made or repaired; the last ones where that fails. @throws Error where there have been none */
  ensure(limits: OwnLimits | null = null): LimiterTables {
    const before = this.tables
    try {
      this.tables = this.files.ensure(limits, ({ message }, key) => {
        this.log.warn('the limits of a key cannot be used: RATE_LIMITS apply to it', { key, error: message })
      })
    } catch (error) {
      if (before === null) throw error
      const { message } = error as Error
      this.log.error('rate limit tables cannot be repaired: the last ones stay in use', { error: message })
      return before
    }
    if (before !== null && before.serial !== this.tables.serial) this.onReplaced()
    return this.tables
  }

  /** A worker has other keys: the tables for the limits that these, and those of other workers, have of their own. */
  take(worker: unknown, limits: OwnLimits): LimiterTables {
    this.limitsByWorker.set(worker, limits)
    return this.ensure(new Map([...this.limitsByWorker.values()].flatMap((own) => [...own])))
  }

  leave(worker: unknown): void {
    this.limitsByWorker.delete(worker)
  }

  close(): void {
    this.files.close()
  }
}

/** Makes the tables of the limits, on the disk of the data folder where shared memory has no room. @throws Error */
export function openTables(config: Config, log: Log, restart: () => void): { tables: LimitTables; release(): void } {
  const openIn = (kind: 'memory' | 'disk') => {
    const folder = takeMemoryFolder(config.dataDir, config.port, kind)
    const tables = new LimitTables(config, folder.path, log, restart)
    const release = () => {
      tables.close()
      folder.release()
    }
    try {
      tables.ensure()
    } catch (error) {
      tables.close()
      folder.remove()
      throw error
    }
    return { tables, release }
  }
  try {
    return openIn('memory')
  } catch (error) {
    try {
      const opened = openIn('disk')
      const reason = (error as Error).message
      log.warn('no room in shared memory: the tables of the limits lie in DATA_DIR', { reason })
      return opened
    } catch {
      throw error
    }
  }
}

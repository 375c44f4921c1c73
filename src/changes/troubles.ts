import type { Log } from '../log.ts'
import type { Stranger } from './catalog.ts'

interface Trouble {
  readonly sinceMs: number
  isLogged: boolean
}

/** Logs once that the cache is off for a reason that lasts, and once that it is on again. */
export class Troubles {
  private readonly known = new Map<string, Trouble>()
  private strangers = ''

  constructor(
    private readonly log: Pick<Log, 'info' | 'warn'>,
    private readonly patienceMs: number,
  ) {}

  note(name: string, reason: string, afterMs = this.patienceMs): void {
    const nowMs = performance.now()
    const trouble = this.known.get(name) ?? { sinceMs: nowMs, isLogged: false }
    this.known.set(name, trouble)
    if (trouble.isLogged || nowMs - trouble.sinceMs < afterMs) return
    trouble.isLogged = true
    this.log.warn('list cache off: writes may be unknown', { reason })
  }

  /** Lasts until an operator ends it, so it is logged at once. */
  noteStrangers(strangers: readonly Stranger[]): void {
    const causes = [...new Set(strangers.map(({ kind, name, place }) => `${kind} ${name} of ${place}`))].join(', ')
    if (causes === this.strangers) return
    this.strangers = causes
    const tables = [...new Set(strangers.map(({ table }) => table ?? 'all'))].join(', ')
    if (causes === '') this.log.info('list cache on again for all tables')
    else this.log.warn('list cache off for tables whose rows may change without notice', { tables, causes })
  }

  end(name: string): void {
    if (this.known.get(name)?.isLogged) this.log.info('list cache on again')
    this.known.delete(name)
  }
}

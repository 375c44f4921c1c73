import type postgres from 'postgres'
import type { Row } from '../model/sql.ts'
import { monotonicMs } from '../share/clock.ts'
import * as statements from './changeStatements.ts'
import { connectTo } from './connecting.ts'

/** Runs a statement over the listener's connection. */
export type Ask = (text: string, values?: readonly string[]) => Promise<Row[]>

export interface Listener {
  /** A name that no other start of a server has: who writes with it as `roster.machine` need not notify. */
  readonly machine: string
  /** Nothing is heard while one of them has no trigger that tells of every change. */
  readonly tables: readonly string[]
  /** Rows of the table were written through a connection of this machine; '' for one that names none. */
  onWrite(table: string, machine: string): void
  /** Hears from now on; what came before is not known. */
  onBegin(): void
  /** Has heard all that was committed up to `untilMs` of the monotonic clock, but for the last moments. */
  onPulse(untilMs: number): void
  /** Hears nothing, until it begins again; which it does not by itself where an operator is needed. */
  onEnd(reason: string, needsOperator?: boolean): void
  /** Before each pulse, whether anything is heard or not. */
  attend(ask: Ask): Promise<void>
}

const PULSE_MS = 50
/** Nobody relies on a pulse that is late; a connection is given up later, since with it goes all that is known. */
const PULSE_MS_MAX = 3_000
const LEAVE_MS_MAX = 500
const SWEEP_MS = 10_000

/** Hears of every write to the database by others, whoever they are; connects again and again. */
export function listenForChanges(url: string, listener: Listener): { stop(): Promise<void> } {
  let isStopped = false
  let ear = new Ear(url, listener)

  async function beat() {
    while (!isStopped) {
      const late = Promise.withResolvers<never>()
      const timer = setTimeout(() => late.reject(new Error('no pulse')), PULSE_MS_MAX)
      try {
        await Promise.race([ear.pulse(), late.promise])
      } catch (error) {
        ear.close((error as Error).message)
        if (!isStopped) ear = new Ear(url, listener)
      }
      clearTimeout(timer)
      await Bun.sleep(PULSE_MS)
    }
  }

  const ended = beat()
  return {
    async stop() {
      isStopped = true
      await ended
      // Others must not notify for somebody who has gone. If it does not work out, they find out by themselves.
      await Promise.race([ear.leave().catch(() => undefined), Bun.sleep(LEAVE_MS_MAX)])
      ear.close('stopped')
    },
  }
}

/** Who only writes need not notify the dead either, where no listener is left to take their rows away. */
export async function sweepListeners(url: string): Promise<void> {
  const sql = connectTo(url, { max: 1, prepare: false })
  try {
    await sql.unsafe(statements.deleteGone)
  } finally {
    await sql.end({ timeout: 0 })
  }
}

/**
 * One connection, and what it has heard.
 *
 * **Nothing is missed.** Who writes looks into `change_listener` behind its rows, in a trigger, and notifies if somebody
 * else stands there. First this connection listens, then its row is committed. Whoever looks from then on sees the row.
 * Whoever looked before has written to the table before, and holds a lock on it until its end. So who holds such a lock
 * after the row was committed is noted, and only when they all have let go does hearing begin: with that, all that was
 * known before is forgotten. (A prepared transaction keeps its lock. None is prepared after it has notified.)
 *
 * A pulse finds that this is still the same connection, whose row is there, and that nobody has touched the triggers
 * since; PostgreSQL has sent what was notified before it answers. Where one of that is not so, all begins anew over another
 * connection. A pooler between, which could give one client's connection to another, would not let the setting through
 * that the pulse looks for.
 */
class Ear {
  isHearing = false
  private isClosed = false
  private readonly sql: postgres.Sql
  /** The triggers as they were when the row was written; null: there is no row yet. */
  private triggers: string | null = null
  /** Transactions that may have written before they could see it. */
  private writers = ''
  private sweptMs = 0

  constructor(
    url: string,
    private readonly listener: Listener,
  ) {
    this.sql = this.connect(url)
  }

  /** @throws Error when the connection is of no use any more */
  async pulse(): Promise<void> {
    const { listener } = this
    const askedMs = monotonicMs()
    await listener.attend(this.ask)
    const found = await this.ask(statements.selectTriggers, [JSON.stringify(listener.tables)])
    const missing = listener.tables.filter((table) => !found.some(([name]) => name === table))
    if (missing.length > 0 && this.triggers === null)
      return listener.onEnd(`no trigger tells of all changes of ${missing.join(' and ')}`, true)
    const triggers = found.join()
    if (this.triggers === null) await this.register(triggers)
    if (triggers !== this.triggers) throw new Error('the triggers have changed')
    await this.requireRow()
    if (!this.isHearing && (await this.hasOldWriters())) return listener.onEnd('who writes since before does not end')
    await this.sweep()
    if (!this.isHearing) listener.onBegin()
    this.isHearing = true
    listener.onPulse(askedMs)
  }

  /** From now on nobody has to notify. */
  async leave(): Promise<void> {
    if (this.triggers !== null) await this.ask(statements.deleteListener, [this.listener.machine])
  }

  close(reason: string): void {
    if (!this.isClosed) this.listener.onEnd(reason)
    this.isClosed = true
    this.isHearing = false
    this.sql.end({ timeout: 0 }).catch(() => undefined)
  }

  private async register(triggers: string) {
    const { machine, tables } = this.listener
    await this.ask(statements.listen)
    await this.ask(statements.insertListener, [machine])
    this.triggers = triggers
    const writers = await this.ask(statements.selectWriters, [JSON.stringify(tables)])
    this.writers = JSON.stringify(writers.flat())
  }

  private async requireRow() {
    const rows = await this.ask(statements.selectListener, [this.listener.machine])
    if (rows.length === 0) throw new Error('the connection is another, or its row has gone')
  }

  private async hasOldWriters(): Promise<boolean> {
    const { tables } = this.listener
    const left = await this.ask(statements.selectWritersLeft, [JSON.stringify(tables), this.writers])
    return left.length > 0
  }

  /** A machine that has died costs the others its notifications no longer than this. */
  private async sweep() {
    const nowMs = performance.now()
    if (this.isHearing && nowMs - this.sweptMs < SWEEP_MS) return
    await this.ask(statements.deleteGone)
    this.sweptMs = nowMs
  }

  private readonly ask: Ask = async (text, values = []) => {
    if (this.isClosed) throw new Error('the connection is closed')
    const rows = await this.sql.unsafe(text, values as string[], { prepare: true, simple: false } as object).values()
    if (this.isClosed) throw new Error('the connection is closed')
    return rows as unknown as Row[]
  }

  private connect(url: string): postgres.Sql {
    return connectTo(url, {
      max: 1,
      onclose: () => this.close('the connection was lost'),
      onnotify: (_: string, payload: string) => {
        const [table = '', machine = ''] = payload.split(' ')
        this.listener.onWrite(table, machine)
      },
      connection: statements.listenerSettings(this.listener.machine),
    })
  }
}

import { compileNewest } from '../compile/changes.ts'
import type { Database } from '../execute/database.ts'
import { type ChangesPlace, comparePlaces } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'

/** A request that waits for a change of some entities behind a position. */
interface Wait {
  readonly entities: readonly Entity[]
  readonly after: ChangesPlace
  readonly untilMs: number
  readonly signal: AbortSignal
  /** The id of the key that asked. */
  readonly key: string
  /** Returns whether the key is what it was when it began to wait; undefined: always. */
  isAdmitted?(): boolean
}

interface Waiter extends Wait {
  /** `isWoken`: false where it should be answered as it is. */
  end(isWoken: boolean): void
}

interface Options {
  isDraining(): boolean
  waitersMax?: number
  waitersOfKeyMax?: number
}

/** More are answered at once, and ask again. */
const WAITERS_MAX = 500
/** Maximum of one key, so that several can wait, however many one of them asks for. */
const WAITERS_OF_KEY_MAX = 100
/** Between two looks into the database. */
const LOOK_MS = 100

/** Requests of this process that wait for changes. While there are any, one statement looks for all of them every 100 ms. */
export class ChangeWaits {
  private readonly waiters = new Set<Waiter>()
  /** By key, how many there are. */
  private readonly ofKeys = new Map<string, number>()
  private timer: Timer | null = null
  private isLooking = false

  constructor(
    private readonly entities: readonly Entity[],
    private readonly database: Pick<Database, 'read'>,
    private readonly options: Options,
  ) {}

  /**
   * True: there is a line behind `after`. False: time has passed, the client has gone, its key is another or none, or there are
   * too many already, of all keys or of this one.
   */
  wait(wait: Wait): Promise<boolean> {
    const { signal, key } = wait
    const { isDraining, waitersMax = WAITERS_MAX, waitersOfKeyMax = WAITERS_OF_KEY_MAX } = this.options
    const hasRoom = this.waiters.size < waitersMax && (this.ofKeys.get(key) ?? 0) < waitersOfKeyMax
    if (!hasRoom || isDraining() || signal.aborted) return Promise.resolve(false)
    return new Promise((resolve) => {
      const gone = () => waiter.end(false)
      const waiter: Waiter = {
        ...wait,
        end: (isWoken) => {
          if (this.waiters.delete(waiter)) this.count(key, -1)
          signal.removeEventListener('abort', gone)
          resolve(isWoken)
        },
      }
      signal.addEventListener('abort', gone)
      this.waiters.add(waiter)
      this.count(key, 1)
      this.timer ??= setInterval(() => this.tick(), LOOK_MS)
    })
  }

  private count(key: string, more: number) {
    const count = (this.ofKeys.get(key) ?? 0) + more
    if (count === 0) this.ofKeys.delete(key)
    else this.ofKeys.set(key, count)
  }

  private tick() {
    const nowMs = performance.now()
    for (const waiter of this.waiters)
      if (nowMs >= waiter.untilMs || this.options.isDraining() || waiter.isAdmitted?.() === false) waiter.end(false)
    if (this.waiters.size === 0) {
      clearInterval(this.timer ?? undefined)
      this.timer = null
    } else if (!this.isLooking) this.look()
  }

  private async look() {
    this.isLooking = true
    try {
      for (const [table, position, number] of await this.database.read(compileNewest(this.entities))) {
        const place = { position: position as string, number: number as string }
        for (const waiter of this.waiters)
          if (waiter.entities.some((entity) => entity.table === table) && comparePlaces(place, waiter.after) > 0) waiter.end(true)
      }
    } catch {
      // A database that is away has nothing new; those who wait learn of it with their next request.
    } finally {
      this.isLooking = false
    }
  }
}

import { AsyncLocalStorage } from 'node:async_hooks'

/** For how long a request has waited for the database. */
export class DatabaseTime {
  private waiting = 0
  private sinceMs = 0
  private sumMs = 0

  /** Of several that run at once, the time is counted once. */
  begin(): void {
    if (this.waiting++ === 0) this.sinceMs = performance.now()
  }

  end(): void {
    if (--this.waiting === 0) this.sumMs += performance.now() - this.sinceMs
  }

  get ms(): number {
    return this.sumMs + (this.waiting > 0 ? performance.now() - this.sinceMs : 0)
  }
}

const asking = new AsyncLocalStorage<DatabaseTime>()
/** Requests that ask for their time; without any, nothing is looked up. */
let open = 0

/** Does a request's work, and counts into `time` what `waitingFor` waits for in it. */
export async function withDatabaseTime<T>(time: DatabaseTime, work: () => Promise<T> | T): Promise<T> {
  open++
  try {
    return await asking.run(time, work)
  } finally {
    open--
  }
}

/** The same promise; the request that is under way waits for it. */
export function waitingFor<T>(promise: Promise<T>): Promise<T> {
  const time = open === 0 ? undefined : asking.getStore()
  if (time === undefined) return promise
  time.begin()
  return promise.finally(() => time.end())
}

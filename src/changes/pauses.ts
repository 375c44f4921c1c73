import postgres from 'postgres'
import { classify } from '../execute/sqlstate.ts'

const PAUSE_MS_MIN = 50
/** While nothing answers, which costs hardly anything: who comes back is noticed soon. */
const AWAY_MS_MAX = 500
/** While PostgreSQL answers that it cannot be: it lacks rights, room or connections, or only reads. */
const REFUSED_MS_MAX = 5_000

/** How long to wait before another attempt: twice as long each time, up to what such an attempt costs. */
export class Pauses {
  private nextMs = PAUSE_MS_MIN

  /** `error`: why the attempt came to nothing; null: it has to wait for something. */
  after(error: unknown): number {
    const isRefused = error instanceof postgres.PostgresError && !['lost', 'notSent'].includes(classify(error))
    const pauseMs = Math.min(this.nextMs, isRefused ? REFUSED_MS_MAX : AWAY_MS_MAX)
    this.nextMs = 2 * pauseMs
    return pauseMs
  }

  /** One has come to something. */
  reset(): void {
    this.nextMs = PAUSE_MS_MIN
  }
}

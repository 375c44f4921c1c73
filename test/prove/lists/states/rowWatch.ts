import type { Findings } from '../check.ts'
import type { Cluster } from '../cluster.ts'
import type { Plan } from './plans.ts'
import { printed } from './printed.ts'
import type { Timeline } from './timeline.ts'

const PAUSE_MS = 1

/**
 * Looks at the row of a write while that is in flight, by its id and in lists that are counted. As soon as one answer
 * shows the write, every list that is asked for afterwards has to: one client's reads never go back.
 */
export class RowWatch {
  private isOver = false

  constructor(
    private readonly cluster: Cluster,
    private readonly timeline: Timeline,
    private readonly findings: Findings,
    plan: Plan,
  ) {
    const { method, collection, path } = plan
    if (method === 'POST') return
    const [change] = plan.changes(0)
    if (!change?.before) return
    const [before, after] = [change.before, change.after].map((row) => row && printed(collection, row))
    if (before === after) return
    const state = timeline.sent
    // Of no other list, so that the database has to count it.
    const list = `/${collection}?Id=${change.before.Id}&sort=-Id&PageSize=${5 + (state % 40)}`
    this.look(path, state, (status, text) => (after === null ? status === 404 : text === after))
    this.look(list, state, (status, text) => status === 200 && text === (after === null ? '[]' : `[${after}]`))
  }

  end(): void {
    this.isOver = true
  }

  private async look(path: string, state: number, isShown: (status: number, text: string) => boolean) {
    while (!this.isOver) {
      const { status, text } = await this.cluster.ask(path)
      if (isShown(status, text)) {
        this.timeline.see(state)
        return this.findings.count(this.isOver ? 'seen when it was answered' : 'seen before it was answered')
      }
      await Bun.sleep(PAUSE_MS)
    }
  }
}

// Background jobs of a server: deletes expired rows, and delivers webhooks.
import { type Config, isPooled } from '../config/config.ts'
import { type HookMetrics, HookSender } from '../hooks/sender.ts'
import type { Log } from '../log.ts'
import type { Entity } from '../model/entity.ts'
import { parseTargets } from '../model/networks.ts'
import { withDeadline } from '../os/time.ts'
import { deleteOldRows, oldAnswers, oldChanges, oldRowChanges } from '../postgres/oldRows.ts'

/**
 * Maximum time that a stop waits for running deliveries, in case the database hangs. The next sender repeats deliveries that were
 * not finished.
 */
const HOOKS_MS_MAX = 1_500

/** Jobs that start once, when the database is reachable. */
export class BackgroundJobs {
  private stopDeleting: (() => Promise<void>) | null = null
  private hooks: HookSender | null = null

  constructor(
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** Current metrics of webhooks; null if this server delivers no webhooks. */
  get hookMetrics(): HookMetrics | null {
    return this.hooks?.metrics ?? null
  }

  start(url: string, entities: readonly Entity[]): void {
    if (this.stopDeleting !== null) return
    const { config, log } = this
    const { changesDays, hooksAllow } = config
    const kinds = [oldRowChanges(), oldAnswers, ...(changesDays > 0 ? [oldChanges(changesDays)] : [])]
    this.stopDeleting = deleteOldRows(url, kinds, (reason) => log.warn('old rows cannot be deleted', { reason }))
    // Without recorded changes there is nothing to deliver. The sender of webhooks holds a lock: through a pooler, the lock would
    // belong to a connection that other clients use, too.
    const canLock = !isPooled(config) || config.databaseDirectUrl !== null
    if (changesDays > 0 && canLock) this.hooks = new HookSender(url, entities, { allowed: parseTargets(hooksAllow), log })
  }

  /** Makes the sender check the hooks now, because they may have changed. */
  checkHooks(): void {
    this.hooks?.wake()
  }

  async stop(): Promise<void> {
    const hooksStopped = withDeadline(Promise.resolve(this.hooks?.stop()), HOOKS_MS_MAX, () => undefined)
    await Promise.all([this.stopDeleting?.(), hooksStopped])
  }
}

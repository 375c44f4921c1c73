import { type Config, isPooled } from '../config/config.ts'
import { HookSender, type HookUse } from '../hooks/sender.ts'
import type { Log } from '../log.ts'
import type { Entity } from '../model/entity.ts'
import { parseTargets } from '../model/targets.ts'
import { OldRows, oldAnswers, oldChanges, oldRowChanges } from '../postgres/oldRows.ts'

interface Surroundings {
  readonly entities: readonly Entity[]
  readonly log: Log
}

/** Background jobs: deletes expired rows, and delivers webhooks. */
export class Chores {
  private readonly oldRows: OldRows
  private readonly hooks: HookSender | null

  /** `directUrl`: the database, past a pooler. */
  constructor(config: Config, directUrl: string, { entities, log }: Surroundings) {
    const { changesDays, hooksAllow } = config
    this.oldRows = new OldRows(directUrl, [oldRowChanges(), oldAnswers, ...(changesDays > 0 ? [oldChanges(changesDays)] : [])])
    // Without lines there is nothing to post; behind a pooler the lock of the sender would be that of any client.
    const hasHooks = changesDays > 0 && (!isPooled(config) || config.databaseDirectUrl !== null)
    this.hooks = hasHooks ? new HookSender(directUrl, entities, { allowed: parseTargets(hooksAllow), log }) : null
  }

  /** Null: this server posts no webhooks. */
  get hookUse(): HookUse | null {
    return this.hooks?.use ?? null
  }

  /** An operator may have changed the hooks. */
  look(): void {
    this.hooks?.look()
  }

  async stop(): Promise<void> {
    await Promise.all([this.oldRows.stop(), this.hooks?.stop()])
  }
}

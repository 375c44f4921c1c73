// A finding about webhooks: hooks whose rights do not fit the entities any more.
import type postgres from 'postgres'
import { type Subscription, viewsOf } from '../hooks/rights.ts'
import type { Entity } from '../model/entity.ts'
import { RightError } from '../rights/grammar.ts'
import { type Finding, fault, ok } from './finding.ts'

/** Examines the rights of hooks. Returns nothing if no hook has rights. */
export async function examineHooks(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding[]> {
  const check = 'webhooks'
  const hooks = await sql<(Subscription & { id: string })[]>`
    select id, to_json(events_by_rights) as events, rights from hook where rights is not null order by id`
  if (hooks.length === 0) return []
  const unfit = hooks.flatMap((hook) => {
    const reason = reasonOf(hook, entities)
    return reason === null
      ? []
      : [fault(check, `the hook ${hook.id} posts nothing: ${reason} Remove it, and add one whose rights fit`)]
  })
  return unfit.length === 0 ? [ok(check, 'the rights of all hooks fit the entities')] : unfit
}

/** Returns the reason why the rights of a hook do not fit the entities; null if they fit. */
function reasonOf(hook: Subscription, entities: readonly Entity[]): string | null {
  try {
    viewsOf(hook, entities)
    return null
  } catch (error) {
    if (error instanceof RightError) return error.message
    throw error
  }
}

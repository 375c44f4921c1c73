import { type ListedHook, WAITING_MAX } from '../hooks/store.ts'
import { formatTable } from './table.ts'

const HEADS = ['ID', 'ADDRESS', 'EVENTS', 'STATE', 'LAST ANSWER', 'WAITING']

/** A table of hooks, or a sentence where there are none. */
export function formatHooks(hooks: readonly ListedHook[]): string {
  if (hooks.length === 0) return 'There are no hooks.\n'
  return formatTable([HEADS, ...hooks.map(cellsOf)])
}

function cellsOf({ id, url, events, lastStatus, lastAttempt, waiting, ...rest }: ListedHook): string[] {
  const answer = lastAttempt === null ? 'none yet' : `${lastStatus} (${lastAttempt})`
  return [id, shownUrl(url), briefly(events), stateOf(rest), answer, countOf(waiting)]
}

function stateOf({
  state,
  since,
  reason,
  nextAttempt,
}: Pick<ListedHook, 'state' | 'since' | 'reason' | 'nextAttempt'>) {
  if (state === 'active') return 'active'
  const more = state === 'failing' ? `, next attempt ${nextAttempt}` : reason === null ? '' : `: ${reason}`
  return `${state} since ${since}${more}`
}

function countOf(waiting: number | null): string {
  if (waiting === null) return '?'
  return waiting === WAITING_MAX ? `${waiting} or more` : String(waiting)
}

/** A query may have a secret of the receiver, and a list is read over shoulders. */
function shownUrl(text: string): string {
  const { origin, pathname, search } = new URL(text)
  return `${origin}${pathname}${search === '' ? '' : '?...'}`
}

/** `Employees:create,update Absences:delete`. */
function briefly(events: readonly string[]): string {
  const actions = new Map<string, string[]>()
  for (const event of events) {
    const [name = '', action] = event.split(':')
    actions.set(name, [...(actions.get(name) ?? []), ...(action === undefined ? [] : [action])])
  }
  return [...actions].map(([name, all]) => (all.length === 0 ? name : `${name}:${all.join()}`)).join(' ')
}

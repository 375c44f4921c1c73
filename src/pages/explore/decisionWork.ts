// Sends the decisions that the buttons of a row make. A decision is made once, and only on a row that is still as the reader has
// seen it.
import { send } from './api.ts'
import type { Attempt } from './drafts.ts'
import { renewRights } from './renewRights.ts'
import { findNamed, type Property, type Resource, type Row, valueIn } from './resources.ts'
import { Store } from './store.ts'
import { printBody } from './typed.ts'
import { announceDecided } from './undo.ts'
import { announce, attemptOf, inWordsOf, isUncertain, problemOf, readVersioned, type Versioned, writeRow } from './writes.ts'

/** The change that a button makes, and the words of the button. */
export interface Decision {
  /** Properties and the values that they get. The button's words name the first value. */
  readonly values: readonly { readonly name: string; readonly value: string }[]
  readonly words: string
}

/** A row as the reader sees it. `tag`: version of the row; null if the version is not known, as in a list. */
export interface Seen {
  readonly row: Row
  readonly tag: string | null
}

/** State of the buttons: what is under way, or the result of a decision. */
export type State =
  | { readonly kind: 'idle'; readonly message: string }
  | { readonly kind: 'sending' }
  | { readonly kind: 'waiting'; readonly problem: ReturnType<typeof inWordsOf>; again(): void }
  /** Another person has changed the row but has not decided it. The page asks the reader to confirm the decision. */
  | { readonly kind: 'changed'; readonly message: string; readonly decision: Decision; readonly now: Versioned }

const IDLE: State = { kind: 'idle', message: '' }
/**
 * Maximum times that a decision is sent. It is sent again if somebody else has changed only properties that the reader does not
 * see.
 */
const SENDS_MAX = 3

export class DecisionWork {
  readonly state = new Store<State>(IDLE)

  constructor(
    private readonly resource: Resource,
    /** Path of the row. */
    private readonly path: string,
    /** True if the row is in a list. A decision can remove the row from the list, so messages are not shown in the row. */
    private readonly isInList: boolean,
  ) {}

  /** Sends a decision about a row as the reader has seen it. `conflicts`: number of earlier attempts that were answered 412. */
  async decide(decision: Decision, seen: Seen, conflicts = 0): Promise<void> {
    this.state.set({ kind: 'sending' })
    if (seen.tag === null) return this.compare(decision, seen, conflicts)
    const values = decision.values.map(({ name, value }) => ({ name, json: JSON.stringify(value) }))
    await this.send(decision, seen, attemptOf(printBody(values), seen.tag), conflicts)
  }

  stop(): void {
    this.state.set(IDLE)
  }

  private async send(decision: Decision, seen: Seen, attempt: Attempt, conflicts: number): Promise<void> {
    this.state.set({ kind: 'sending' })
    try {
      const now = await writeRow('PATCH', this.path, attempt)
      this.state.value = IDLE
      await this.announce(decision, seen, now)
    } catch (error) {
      const problem = problemOf(error)
      if (problem.status === 412) return this.compare(decision, seen, conflicts + 1)
      const again = () => void this.send(decision, seen, attempt, conflicts)
      if (isUncertain(problem) || problem.retryAfter !== null) return this.wait(error, again)
      this.refuse(REFUSALS[problem.status] ?? inWordsOf(problem).message)
    }
  }

  /**
   * Reads the row. If nothing that the reader sees has changed, sends the decision; otherwise shows what somebody else has
   * changed.
   */
  private async compare(decision: Decision, seen: Seen, conflicts: number): Promise<void> {
    let now: Versioned
    try {
      now = await readVersioned(await send(this.path))
    } catch (error) {
      if (problemOf(error).status !== 404) return this.wait(error, () => void this.compare(decision, seen, conflicts))
      return this.refuse(GONE)
    }
    const changed = this.differences(seen.row, now.row)
    const decided = changed.find(({ name }) => name === decision.values[0]?.name)
    if (decided) {
      this.state.value = IDLE
      const value = valueIn(now.row, decided) ?? 'no value'
      return announce(`Somebody else was faster: ${decided.label} is “${value}” now. Nothing of yours was saved.`)
    }
    if (changed.length === 0 && conflicts < SENDS_MAX) return this.decide(decision, now, conflicts)
    const labels = changed.map(({ label, ...property }) => `${label} is “${valueIn(now.row, property) ?? 'no value'}” now`)
    const message = `Somebody else has changed this meanwhile${labels.length > 0 ? `: ${labels.join(', ')}` : ''}.`
    this.state.set({ kind: 'changed', message, decision, now })
  }

  /**
   * Returns the properties whose values differ. A row of a list may have only some properties, so only properties that both rows
   * have are compared.
   */
  private differences(seen: Row, now: Row): readonly Property[] {
    const isIn = (row: Row, { path }: Property) => (path[0] as string) in row
    return this.resource.properties.filter(
      (property) => isIn(seen, property) && isIn(now, property) && valueIn(seen, property) !== valueIn(now, property),
    )
  }

  private wait(error: unknown, again: () => void): void {
    this.state.set({ kind: 'waiting', problem: inWordsOf(problemOf(error)), again })
  }

  /** Says why nothing was decided. */
  private refuse(message: string): void {
    this.state.value = { kind: 'idle', message: this.isInList ? '' : message }
    // Somebody else may have decided, so lists and rows are read again. A row that then leaves its list would take its message
    // along, so the page shows the message as a notice.
    announce(this.isInList ? message : '')
    // The reader may have lost the right, so the rights are read again.
    void renewRights()
  }

  private async announce({ values: [first, ...others] }: Decision, seen: Seen, now: Versioned): Promise<void> {
    const { name = '', value = '' } = first ?? {}
    const property = findNamed(this.resource.properties, name)
    // An undo is offered only if the decision has set a single property, and the reader can see this property.
    if (property === undefined || others.length > 0) return announce(`${property?.label ?? name} is “${value}” now.`)
    await announceDecided({ resource: this.resource, property, value, row: seen.row, now })
  }
}

const GONE = 'This row was deleted meanwhile, or you may no longer see it.'
/** Messages by status. The API's own messages name properties and rights, which the buttons do not show. */
const REFUSALS: Readonly<Record<number, string>> = {
  403: 'You may not decide this, or not any more. Nothing was changed.',
  404: GONE,
}

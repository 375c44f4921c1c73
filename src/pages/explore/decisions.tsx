// Decisions: buttons that set a property to one of the values that a right allows, such as Approve and Decline.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { readTotal, useAnswer } from './api.ts'
import { Button, Hint, Trouble } from './controls.tsx'
import { type Decision, DecisionWork } from './decisionWork.ts'
import { findNamed, knownStore, lowerFirst, type Resource, type Row, valueIn } from './resources.ts'
import { mayUndo } from './rights.ts'
import { printPath } from './view.ts'
import { admits, maySet, valuesAfter, type WriteRight, writableOf } from './writable.ts'

/** Words of buttons, by the values that they set. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['approved', 'Approve'],
  ['accepted', 'Accept'],
  ['declined', 'Decline'],
  ['rejected', 'Reject'],
  ['cancelled', 'Cancel it'],
  ['canceled', 'Cancel it'],
  ['withdrawn', 'Withdraw'],
  ['closed', 'Close it'],
  ['requested', 'Request'],
])

const decisionWords = (value: string) => WORDS.get(value.toLowerCase()) ?? `Set to “${value}”`

interface Props {
  readonly resource: Resource
  /** The row as the reader sees it. */
  readonly row: Row
  /** Version of the row. Null or undefined: a click on a button first reads the row, and compares it with `row`. */
  readonly tag?: string | null
  /**
   * True if the reader certainly has the right to decide the row, because the row comes from a list that is filtered by `may`.
   */
  readonly isAdmitted?: boolean
  /**
   * True if the row is in a list. Then no request asks whether the reader may decide it, and messages are not shown in the row.
   */
  readonly isInList?: boolean
}

/** Buttons for the decisions about a row; nothing if no right allows a decision. */
export function Decisions(props: Props) {
  const { resource, row, tag, isAdmitted = false, isInList = false } = props
  const { sure, unsure } = decisionsOf(resource, row)
  const names = [...new Set(unsure.flatMap(({ values }) => values.map(({ name }) => name)))]
  const isAsked = unsure.length > 0 && !isAdmitted && !isInList && resource.hasMay
  const path = printPath(resource.plural, [{ name: 'Id', sign: '=', values: [String(row.id)] }], {
    may: `update(${names.join()})`,
  })
  const { answer: total } = useAnswer(isAsked ? path : null, readTotal, tag ?? '', 'HEAD')
  const isOffered = isAsked ? total === 1 : isAdmitted || !isInList
  return <Buttons {...props} decisions={isOffered ? [...sure, ...unsure] : sure} />
}

/**
 * Returns the decisions about a row that rights may allow. `sure`: the page knows that a right admits the row. `unsure`: only the
 * server can tell, such as for a right with a condition on a path.
 */
function decisionsOf(resource: Resource, row: Row): Readonly<Record<'sure' | 'unsure', readonly Decision[]>> {
  const updates = writableOf(resource)?.updates ?? []
  const by = (isAdmitted: boolean | null) =>
    updates
      .filter((right) => admits(resource, right, row) === isAdmitted)
      .flatMap((right) => decisionsBy(right, resource, row))
      .filter(({ words }, index, all) => all.findIndex((one) => one.words === words) === index)
  const sure = by(true)
  return { sure, unsure: by(null).filter(({ words }) => sure.every((one) => one.words !== words)) }
}

/**
 * Returns the decisions that a right allows. If one property can get several values, there is a decision for each value. If each
 * property can get only one value, there is one decision. A decision for the value that the row already has is left out.
 */
function decisionsBy(right: WriteRight, { properties }: Resource, row: Row): readonly Decision[] {
  // A property that the reader may not set is left out: the row must already have the value that the right demands.
  const names = [...new Set((right.becomes ?? []).map(({ name }) => name))].filter((name) => maySet(right, { name }))
  const closed = names.map((name) => ({ name, values: valuesAfter(right, name)?.filter((value) => value !== '') ?? [] }))
  // Only one property may have several values. Each decision also sends the single values of the remaining properties.
  const several = closed.filter(({ values }) => values.length > 1)
  const [decided = closed[0]] = several
  if (!decided || several.length > 1 || closed.some(({ values }) => values.length === 0)) return []
  const property = findNamed(properties, decided.name)
  if (property && property.kind !== 'text' && property.kind !== 'oneOf') return []
  const others = closed.filter((one) => one !== decided).map(({ name, values: [value = ''] }) => ({ name, value }))
  return decided.values
    .filter((value) => !property || String(valueIn(row, property)) !== value)
    .map((value) => ({ values: [{ name: decided.name, value }, ...others], words: decisionWords(value) }))
}

type ButtonsProps = Props & { readonly decisions: readonly Decision[] }

function Buttons({ resource, row, tag = null, isInList = false, decisions }: ButtonsProps) {
  const path = `${resource.plural}/${encodeURIComponent(String(row.id))}`
  // `resource` is a new object whenever the rights have changed. A new `DecisionWork` for each of these objects would lose the
  // messages on the page. So only a new `path` makes one.
  const work = useMemo(() => new DecisionWork(resource, path, isInList), [path])
  const state = work.state.value
  const [asked, ask] = useState<Decision | null>(null)
  const frame = useRef<HTMLSpanElement>(null)
  const wasAsked = useRef(false)
  useLayoutEffect(() => {
    // The question had the focus and is gone, so the focus moves to the first button.
    if (wasAsked.current && asked === null) frame.current?.querySelector('button')?.focus()
    wasAsked.current = asked !== null
  }, [asked])
  const decide = (decision: Decision) => {
    ask(null)
    void work.decide(decision, { row, tag })
  }
  // Somebody else may have decided while the question was open. If its decision is not offered any more, the question is closed.
  const isOffered = decisions.some(({ words }) => words === asked?.words)
  if (state.kind === 'idle' && asked !== null && isOffered)
    return <Question decision={asked} decide={decide} keep={() => ask(null)} />
  if (decisions.length === 0 && state.kind === 'idle' && state.message === '') return null
  return (
    <span class="decisions" ref={frame}>
      {state.kind !== 'changed' &&
        decisions.map((decision) => (
          <Button
            key={decision.words}
            label={decision.words}
            aria-disabled={state.kind !== 'idle'}
            onClick={() => {
              if (state.kind !== 'idle') return
              if (hasWayBack(decision, resource, row)) decide(decision)
              else ask(decision)
            }}
          />
        ))}
      {state.kind === 'idle' && state.message !== '' && <Hint text={state.message} />}
      {state.kind === 'waiting' && (
        <>
          <Trouble key={state.problem} problem={state.problem} words={['Trying', 'Try']} retry={state.again} />
          {state.problem.retryAfter === null && <Button label="Try again" onClick={state.again} />}
        </>
      )}
      {state.kind === 'changed' && (
        <span role="alert">
          {state.message}{' '}
          <Button label={`${state.decision.words} all the same`} onClick={() => void work.decide(state.decision, state.now)} />{' '}
          <Button label="Leave it" onClick={() => work.stop()} />
        </span>
      )}
    </span>
  )
}

/**
 * True if the reader can probably undo a decision, because a right allows the opposite change. Then no question is asked: a
 * message after the decision offers the undo.
 */
function hasWayBack({ values: [first, ...others] }: Decision, { plural, properties }: Resource, row: Row): boolean {
  const property = findNamed(properties, first?.name ?? '')
  if (first === undefined || property === undefined || others.length > 0) return false
  const from = String(valueIn(row, property) ?? '')
  return mayUndo(knownStore.value.rights, { collection: plural, name: property.name, from, to: first.value })
}

interface QuestionProps {
  readonly decision: Decision
  decide(decision: Decision): void
  keep(): void
}

/** Asks before a decision that the reader cannot undo. */
function Question({ decision, decide, keep }: QuestionProps) {
  const question = useRef<HTMLSpanElement>(null)
  // Focuses the question rather than a button, so that Enter, if it is held down or pressed twice, does not answer.
  useLayoutEffect(() => question.current?.focus(), [])
  return (
    <span class="decisions">
      <span role="alert" tabIndex={-1} ref={question}>
        You cannot take this back.
      </span>
      <Button class="button primary" label={`Yes, ${lowerFirst(decision.words)}`} onClick={() => decide(decision)} />
      <Button label="Not now" onClick={keep} />
    </span>
  )
}

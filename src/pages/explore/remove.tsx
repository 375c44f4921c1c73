// Deletion of a row: a question that names the row, and why the server refuses to delete it.
import { useEffect, useRef, useState } from 'preact/hooks'
import { readTotal, useAnswer } from './api.ts'
import { Button, Trouble } from './controls.tsx'
import { type Attempt, draftIdOf, forgetDraft } from './drafts.ts'
import { nameOfRow } from './names.ts'
import { knownStore, type Resource, type Row, roleOf, wordsOf } from './resources.ts'
import { emptyView, printPath, printView } from './view.ts'
import { admits, writableOf } from './writable.ts'
import { announce, attemptOf, inWordsOf, isUncertain, problemOf, type Versioned, write } from './writes.ts'

interface Props {
  readonly resource: Resource
  readonly row: Versioned
  /** Called when the row is deleted: closes its panel. */
  removed(): void
}

/** Returns whether the reader may delete the row. Returns null if only the server can tell. */
function mayDelete(resource: Resource, row: Row): boolean | null {
  const results = (writableOf(resource)?.deletes ?? []).map((right) => admits(resource, right, row))
  if (results.includes(true)) return true
  return results.includes(null) ? null : false
}

/** Button that asks whether to delete the row. Shows nothing if no right admits the deletion. */
export function DeleteButton(props: Props) {
  const { resource, row } = props
  const may = mayDelete(resource, row.row)
  const path = printPath(resource.plural, [{ name: 'Id', sign: '=', values: [String(row.row.id)] }], { may: 'delete' })
  const { answer: total } = useAnswer(may === null && resource.hasMay ? path : null, readTotal, '', 'HEAD')
  const [isAsked, ask] = useState(false)
  if (may === false || (may === null && resource.hasMay && total !== 1)) return null
  if (isAsked) return <Question {...props} close={() => ask(false)} />
  return <Button label="Delete" onClick={() => ask(true)} />
}

type State =
  | { readonly kind: 'asking' | 'sending' }
  | { readonly kind: 'refused'; readonly error: unknown; readonly attempt: Attempt }

function Question({ resource, row, removed, close }: Props & { close(): void }) {
  const [state, setState] = useState<State>({ kind: 'asking' })
  const first = useRef<HTMLButtonElement>(null)
  useEffect(() => first.current?.focus(), [])
  const name = nameOfRow(resource, row.row)
  const id = String(row.row.id)
  const send = async (attempt: Attempt) => {
    setState({ kind: 'sending' })
    let words = `${name} was deleted.`
    try {
      await write('DELETE', `${resource.plural}/${encodeURIComponent(id)}`, attempt)
    } catch (error) {
      if (problemOf(error).status !== 404) return setState({ kind: 'refused', error, attempt })
      words = `${name} was deleted by somebody else meanwhile, or you may no longer see it.`
    }
    forgetDraft(draftIdOf(resource.plural, id))
    removed()
    announce(words)
  }
  const start = () => void send(attemptOf('', row.tag))
  return (
    <section class="question" aria-label="Delete">
      <p>
        Delete <bdi>{name}</bdi>? This cannot be undone.
      </p>
      <span class="bar">
        <Button label="Delete it" class="button danger" aria-disabled={state.kind === 'sending'} onClick={start} />
        <Button label="Keep it" ref={first} onClick={close} />
      </span>
      {state.kind === 'refused' && (
        <Refused error={state.error} again={() => void send(state.attempt)} close={close} entity={resource.entity} />
      )}
    </section>
  )
}

/** Says why the row was not deleted, with links to rows that refer to it. */
function Refused({
  error,
  entity,
  again,
  close,
}: {
  readonly error: unknown
  readonly entity: string
  again(): void
  close(): void
}) {
  const problem = problemOf(error)
  useEffect(() => {
    // 412: the row has changed since it was shown. It is read again, and the reader has to decide anew.
    if (problem.status !== 412) return
    close()
    announce('Somebody else has changed this row meanwhile. Look at it again before you delete it.')
  }, [problem])
  if (problem.status === 412) return null
  if (problem.code === 'StillReferenced') return <References message={problem.message} entity={entity} />
  const shown = inWordsOf(problem)
  return (
    <>
      <Trouble key={shown} problem={shown} words={['Trying', 'Try']} retry={again} />
      {isUncertain(problem) && shown.retryAfter === null && <Button label="Try again" onClick={again} />}
    </>
  )
}

/** Links to the rows that refer to this row, made from the API's message: `2 of Employees (CompanyId=1)`. */
function References({ message, entity }: Readonly<Record<'message' | 'entity', string>>) {
  const found = [...message.matchAll(/((?:over )?[\d,]+) of (\w+) \((\w+)=(\d+)\)/g)]
  return (
    <div class="trouble">
      <span role="alert">It cannot be deleted, because others refer to it. Change or delete those first.</span>
      <ul>
        {found.map(([text, count, plural = '', name = '', id = '']) => {
          const other = knownStore.value.resources.find((one) => one.plural === plural)
          // Words such as `4 absences of this employee`, or `1 employee of this employee, as manager`.
          const kind = wordsOf(count === '1' && other ? other.entity : plural).toLowerCase()
          const isPlain = name.toLowerCase() === `${entity}id`.toLowerCase()
          const role = isPlain ? '' : `, as ${roleOf(wordsOf(name)).toLowerCase()}`
          const words = `${count} ${kind} of this ${wordsOf(entity).toLowerCase()}${role}`
          const href = printView({ ...emptyView(plural), filters: [{ name, sign: '=', values: [id] }] })
          return <li key={text}>{other ? <a href={href}>{words}</a> : words}</li>
        })}
      </ul>
    </div>
  )
}

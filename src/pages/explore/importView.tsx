// The page of an import. The reader chooses a file, says where its columns go, sees what the import would do, and starts it.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button, Empty, Trouble } from './controls.tsx'
import { formatCount } from './format.ts'
import { CheckView, FaultList } from './importCheckView.tsx'
import { ColumnTable, Preview, Reading } from './importColumnsView.tsx'
import { DropArea, FileField, mayImport } from './importDrop.tsx'
import type { ImportEntry } from './importJournal.ts'
import type { Progress } from './importRequests.ts'
import { type Doing, type ImportWork, importWorkOf } from './importWork.ts'
import { wordsOf } from './resources.ts'
import { change, emptyView, printView, type Shown } from './view.ts'
import { writableOf } from './writable.ts'

/** Page of an import, which is shown in place of the collection's list. */
export function ImportView({ resource, view }: Shown) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const writable = writableOf(resource)
  const close = () => change(view, { form: '' })
  if (!writable || !mayImport(resource))
    return (
      <Empty title="Import" words={`You may not create rows of ${resource.plural}.`}>
        <Button label={`All ${resource.plural}`} onClick={close} />
      </Empty>
    )
  const work = importWorkOf(resource, writable)
  const { opened, fault, check, doing, entries, undone } = work.state.value
  return (
    <>
      <div class="bar">
        <h1 tabIndex={-1} ref={heading}>
          Import {wordsOf(resource.plural).toLowerCase()}
        </h1>
        <Button label="‹ Back to the list" onClick={close} />
      </div>
      <DropArea resource={resource} view={view} />
      <DoingView doing={doing} work={work} />
      {fault !== '' && (
        <p class="trouble" role="alert">
          {fault}
        </p>
      )}
      {!work.isBusy && <FileField resource={resource} view={view} />}
      {opened && (
        <>
          <Reading work={work} opened={opened} />
          <ColumnTable work={work} opened={opened} />
          <Preview work={work} />
          {!check && (
            <div class="bar">
              <Button
                class="button primary"
                label="Check the file"
                disabled={work.isBusy || opened.chosen.size === 0 || work.doubles().length > 0}
                onClick={() => void work.check()}
              />
              <span class="count">
                {opened.chosen.size === 0 && 'Choose above where each column goes. '}Nothing is written yet.
              </span>
            </div>
          )}
          {check && <CheckView work={work} check={check} opened={opened} />}
        </>
      )}
      {undone && undone.left.length > 0 && <FaultList title="These were left as they are" lines={undone.left} />}
      {entries.length > 0 && <Entries work={work} entries={entries} />}
    </>
  )
}

const BEING: Readonly<Record<string, string>> = {
  opening: 'Reading the file',
  checking: 'Checking',
  importing: 'Importing',
  undoing: 'Undoing',
}

function DoingView({ doing, work }: { readonly doing: Doing; readonly work: ImportWork }) {
  if (doing.kind === 'nothing') return null
  if (doing.kind === 'stopped')
    return (
      <>
        <Trouble
          key={doing.problem}
          problem={{ ...doing.problem, message: doing.problem.message, retryAfter: null }}
          retry={() => undefined}
        />
        {doing.faults.length > 0 && <FaultList title="What is wrong" lines={doing.faults} />}
      </>
    )
  const { kind, progress } = doing
  return (
    <div class="question">
      <p role="status">{wordsOfProgress(BEING[kind] ?? '', progress)}</p>
      {progress.total > 0 && <progress max={progress.total} value={progress.done} aria-label={BEING[kind]} />}
      {kind !== 'opening' && <Button label="Stop" onClick={() => work.stop()} />}
    </div>
  )
}

function wordsOfProgress(being: string, { done, total, waits }: Progress): string {
  const extent = total > 0 ? `: ${formatCount(done)} of ${formatCount(total)} rows` : ' …'
  return waits === null ? being + extent : `${being}${extent}. Goes on in ${waits.seconds} s: ${waits.message}`
}

interface EntriesProps {
  readonly work: ImportWork
  readonly entries: readonly ImportEntry[]
}

/** List of the imports of this browser, with buttons that continue, undo or forget an import. */
function Entries({ work, entries }: EntriesProps) {
  return (
    <section class="part" aria-labelledby="import-entries">
      <h2 id="import-entries">Your imports in this browser</h2>
      <p class="count">They are kept here for seven days, or until you sign out or forget the key.</p>
      <ul class="items">
        {entries.map((entry) => (
          <Entry key={entry.id} work={work} entry={entry} />
        ))}
      </ul>
    </section>
  )
}

const STATES: Readonly<Record<ImportEntry['state'], string>> = {
  open: 'not finished',
  done: 'done',
  undoing: 'undone in part',
  undone: 'undone',
}

function Entry({ work, entry }: { readonly work: ImportWork; readonly entry: ImportEntry }) {
  const [isAsked, ask] = useState(false)
  const { file, begunMs, created, changed, filters, state } = entry
  const isGone = state === 'undone' || work.isBusy
  const mayUndo = state !== 'undone' && created + changed > 0 && (created === 0 || work.writable.deletes.length > 0)
  const of = ` ${file}`
  return (
    <li class="item">
      <span class="facts">
        <span class="title">{file}</span>
        <span class="fact">{new Date(begunMs).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}</span>
        <span class="fact">
          {STATES[state]}: {formatCount(created)} created, {formatCount(changed)} changed
        </span>
        {state === 'done' && filters && (
          <a href={printView({ ...emptyView(work.resource.plural), filters })} aria-label={`${wordsOfLink(created)} of${of}`}>
            {wordsOfLink(created)}
          </a>
        )}
      </span>
      {isAsked && !isGone ? (
        <span class="decisions">
          <Button
            class="button danger"
            label={state === 'undoing' ? 'Undo the rest' : wordsOfUndo(created, changed)}
            onClick={() => {
              ask(false)
              void work.undo(entry)
            }}
          />
          <Button label="Keep them" onClick={() => ask(false)} />
        </span>
      ) : (
        <span class="decisions">
          {state === 'open' && (
            <Button
              class="button primary"
              label="Continue"
              aria-label={`Continue${of}`}
              disabled={work.isBusy}
              onClick={() => void work.resume(entry)}
            />
          )}
          {mayUndo && <Button label="Undo" aria-label={`Undo${of}`} disabled={work.isBusy} onClick={() => ask(true)} />}
          <Button
            label="Remove from this list"
            aria-label={`Remove from this list${of}`}
            disabled={work.isBusy}
            onClick={() => void work.forget(entry)}
          />
        </span>
      )}
    </li>
  )
}

/**
 * Returns the words of the link to the new rows. The words have no number, because the reader may not be allowed to read all of
 * the rows.
 */
const wordsOfLink = (created: number) => `Show the new ${created === 1 ? 'row' : 'rows'}`

/** Says what an undo does: `Delete 300, change 4 back`. */
function wordsOfUndo(created: number, changed: number): string {
  const deleted = created > 0 ? `Delete ${formatCount(created)}` : ''
  if (changed === 0) return deleted
  return deleted === '' ? `Change ${formatCount(changed)} back` : `${deleted}, change ${formatCount(changed)} back`
}

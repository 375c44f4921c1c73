// View of what an import would do: faults of the file, new and changed rows, and new rows that nearly equal stored ones.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button, CopyButton, Select } from './controls.tsx'
import { formatCount, formatDate } from './format.ts'
import { shownValue } from './importColumnsView.tsx'
import type { ChangedRow, NearRow } from './importMatch.ts'
import type { ReferencedRows, References } from './importReferences.ts'
import type { ImportRow } from './importRows.ts'
import type { Check, ImportWork, Opened } from './importWork.ts'
import { upperFirst } from './resources.ts'

interface Props {
  readonly work: ImportWork
  readonly check: Check
  readonly opened: Opened
}

/** Result of a check, and the button that begins the import. */
export function CheckView({ work, check, opened }: Props) {
  const [takesAll, setTakesAll] = useState(false)
  const { created, changed, equal, near, twins, faults, repeated, match, matches } = check
  const count = created.length - (takesAll ? 0 : near.length + twins.length)
  const same = equal + (takesAll ? 0 : twins.length)
  const isNothing = count + changed.length === 0
  const options = [
    ...matches.map(({ name, label }) => ({ name, words: label })),
    { name: '', words: 'nothing: all rows are new' },
  ]
  const section = useRef<HTMLElement>(null)
  // The result is below the table of columns, and can be out of sight.
  useEffect(() => section.current?.scrollIntoView({ block: 'nearest' }), [check])
  return (
    <section aria-labelledby="import-result" ref={section}>
      <h2 id="import-result">What it does</h2>
      {repeated.map((line) => (
        <p key={line} class="trouble" role="alert">
          <bdi>{upperFirst(line)}</bdi>
        </p>
      ))}
      {matches.length > 0 && (
        <p>
          <label for="import-match">
            Rows that are there already are found by{' '}
            <Select
              id="import-match"
              label="Rows that are there already are found by"
              value={match}
              options={options}
              take={(value) => work.chooseMatch(value)}
            />
          </label>
        </p>
      )}
      {faults.length > 0 ? (
        <FaultList
          title={`${opened.name} has faults: correct them, and choose the file again. Nothing was written`}
          lines={faults}
        />
      ) : (
        <>
          <p role="status">
            {isNothing && near.length === 0 && twins.length === 0
              ? 'Nothing to do: all rows are there as in the file.'
              : `${formatCount(count)} new, ${formatCount(changed.length)} changed, ${formatCount(same)} as they are.`}
          </p>
          {near.length > 0 && <NearRows near={near} takes={takesAll} take={setTakesAll} />}
          {twins.length > 0 && <Twins check={check} takes={takesAll} take={setTakesAll} />}
          {changed.length > 0 && <Changes changed={changed} references={check.references} />}
          {!isNothing && (
            <div class="bar">
              <Button
                class="button primary"
                label={wordsOfStart(count, changed.length)}
                disabled={work.isBusy}
                onClick={() => void work.start(takesAll)}
              />
              <span class="count">You can undo it afterwards.</span>
            </div>
          )}
        </>
      )}
    </section>
  )
}

function wordsOfStart(created: number, changed: number): string {
  const parts = [
    ...(created > 0 ? [`create ${formatCount(created)}`] : []),
    ...(changed > 0 ? [`change ${formatCount(changed)}`] : []),
  ]
  return `Import: ${parts.join(', ')}`
}

const LINES_SHOWN = 100

/** List of the first `LINES_SHOWN` sentences, with a button that copies all of them. */
export function FaultList({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  const more = lines.length - LINES_SHOWN
  return (
    <div class="question" role="alert">
      <p>{title}:</p>
      <ul class="faults">
        {lines.slice(0, LINES_SHOWN).map((line) => (
          <li key={line}>
            <bdi>{line}</bdi>
          </li>
        ))}
      </ul>
      {more > 0 && <p>and {formatCount(more)} more, which the copy has.</p>}
      <CopyButton label="Copy all" text={() => lines.join('\n')} />
    </div>
  )
}

interface NearProps {
  readonly near: readonly NearRow[]
  readonly takes: boolean
  take(takes: boolean): void
}

const NEAR_SHOWN = 20

function NearRows({ near, takes, take }: NearProps) {
  return (
    <div class="question">
      <p>{formatCount(near.length)} new rows are nearly the same as rows that are there. They are left out, unless you say so:</p>
      <ul class="faults">
        {near.slice(0, NEAR_SHOWN).map(({ at, value, id, stored }) => (
          <li key={at}>
            {at}: “{value}” is nearly “{stored}” of row {id}
          </li>
        ))}
      </ul>
      {near.length > NEAR_SHOWN && <p>and {formatCount(near.length - NEAR_SHOWN)} more</p>}
      <label>
        <input type="checkbox" checked={takes} onChange={({ currentTarget }) => take(currentTarget.checked)} /> Create them, too
      </label>
    </div>
  )
}

interface TwinProps {
  readonly check: Check
  readonly takes: boolean
  take(takes: boolean): void
}

function Twins({ check, takes, take }: TwinProps) {
  const { twins, created, references } = check
  const rows = new Map(created.map((row) => [row.at, row]))
  const words =
    twins.length === 1
      ? '1 row is there already, with the same values. It is'
      : `${formatCount(twins.length)} rows are there already, with the same values. They are`
  return (
    <div class="question">
      <p>{words} left out, unless you say so:</p>
      <ul class="faults">
        {twins.slice(0, NEAR_SHOWN).map(({ at, id }) => (
          <li key={at}>
            {at} is as row {id}: {wordsOfValues(rows.get(at), references)}
          </li>
        ))}
      </ul>
      {twins.length > NEAR_SHOWN && <p>and {formatCount(twins.length - NEAR_SHOWN)} more</p>}
      <label>
        <input type="checkbox" checked={takes} onChange={({ currentTarget }) => take(currentTarget.checked)} /> Create them again
      </label>
    </div>
  )
}

/** Maximum number of values of a row that are shown. People recognize the row by a few values. */
const VALUES_SHOWN = 3

const wordsOfValues = (row: ImportRow | undefined, references: References) =>
  (row?.values ?? [])
    .flatMap((value) => shownValue(value, references) || [])
    .slice(0, VALUES_SHOWN)
    .join('; ')

const CHANGES_SHOWN = 50

interface ChangesProps {
  readonly changed: readonly ChangedRow[]
  readonly references: References
}

function Changes({ changed, references }: ChangesProps) {
  const all = changed.flatMap(({ at, value, changes }) => changes.map((one) => ({ at, value, ...one })))
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
      <section class="scroll low" aria-label="Changes" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">In the file</th>
              <th scope="col">Row</th>
              <th scope="col">Property</th>
              <th scope="col">Now</th>
              <th scope="col">Becomes</th>
            </tr>
          </thead>
          <tbody>
            {all.slice(0, CHANGES_SHOWN).map(({ at, value, name, label, before, after }) => (
              <tr key={`${at} ${name}`}>
                <td>{at}</td>
                <td>{value}</td>
                <td>{label}</td>
                <td>{shownJson(before, references.get(name))}</td>
                <td>{shownJson(after, references.get(name))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {all.length > CHANGES_SHOWN && <p class="count">and {formatCount(all.length - CHANGES_SHOWN)} more changes</p>}
    </>
  )
}

/** Returns a value as text for people. For a reference, this is the name of the row, if the page knows it. */
function shownJson(json: string, rows: ReferencedRows | undefined): string {
  if (json === 'null' || json === '""') return 'nothing'
  const named = rows?.names.get(json) ?? ''
  if (named !== '') return named
  const text = json.startsWith('"') ? JSON.parse(json) : json
  return /^\d{4}-\d\d-\d\dT/.test(text) ? formatDate('instant', text) : text
}

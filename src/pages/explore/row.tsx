// The open row: its properties, links to related rows, and its changes.
import { useEffect, useRef } from 'preact/hooks'
import { readJson, readTotal, send, useAnswer } from './api.ts'
import { Button, CopyButton, Hint } from './controls.tsx'
import { formatCount, formatDate } from './format.ts'
import { zoneLabel } from './readerZone.ts'
import { findNamed, knownStore, type Property, type Resource, type Row, roleOf, valueIn, wordsOf } from './resources.ts'
import { Cell, referredBy } from './table.tsx'
import { emptyView, printPath, printView, type Shown } from './view.ts'

type Props = Pick<Shown, 'resource'> & { readonly id: string; close(): void }

/** One row at the side of the list, with links to rows that it refers to, and to rows that refer to it. */
export function RowPanel({ resource, id, close }: Props) {
  const path = `${resource.plural}/${encodeURIComponent(id)}`
  const { answer: row, problem } = useAnswer<Row>(path, readJson)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const referring = knownStore.value.resources.flatMap((other) =>
    other.properties.flatMap((property) => (property.references === resource.entity ? { other, property } : [])),
  )
  const isShown = row !== null && String(row.id) === id
  return (
    <aside aria-label="Row">
      <div class="bar">
        <Button class="button narrow" label="‹ Back" onClick={close} />
        <h2 tabIndex={-1} ref={heading}>
          {wordsOf(resource.entity)} {id}
        </h2>
        <span class="grow" />
        {isShown && <CopyButton label="Copy JSON" text={() => JSON.stringify(row, null, 2)} />}
        <Button class="button wide" label="Close" aria-keyshortcuts="Escape" onClick={close} />
      </div>
      {problem && <Hint text={problem.message} />}
      {isShown && (
        <>
          <dl>
            {withoutNamedIds(resource.properties).map((property) => (
              <div key={property.name}>
                <dt title={titleOf(property, resource, row)}>
                  {property.label}
                  {property.kind === 'instant' && <small> {zoneLabel()}</small>}
                </dt>
                <dd>
                  <Cell resource={resource} property={property} row={row} view={null} />
                </dd>
              </div>
            ))}
          </dl>
          <ul>
            {resource.properties.map(
              (property) =>
                property.references && <Referred key={property.name} property={property} resource={resource} row={row} />,
            )}
            {referring.map(({ other, property }) => (
              <Referring key={other.plural + property.name} property={property} other={other} id={id} one={resource.entity} />
            ))}
          </ul>
          {resource.hasChanges && <Changes path={`${path}/Changes`} resource={resource} />}
        </>
      )}
    </aside>
  )
}

/** Leaves out the ids of rows whose names are shown. */
function withoutNamedIds(properties: readonly Property[]): readonly Property[] {
  return properties.filter(({ name }) => !properties.some(({ copiedThrough }) => copiedThrough === name))
}

/** Returns the id of the row that a copied name is of: `Manager id 1`. */
function titleOf({ copiedThrough }: Property, { properties }: Resource, row: Row): string | undefined {
  const reference = properties.find((one) => one.name === copiedThrough)
  return reference && `${reference.label} ${valueIn(row, reference) ?? 'without a value'}`
}

type ReferredProps = Pick<Shown, 'resource'> & { readonly property: Property; readonly row: Row }

/** Link to the row that a reference names, if the key may read it. */
function Referred({ property, resource, row }: ReferredProps) {
  const found = referredBy(resource, property, row)
  // Where the key reads some rows only, the list of this one row tells whether it is among them.
  const isAsked = found !== null && found.resource.conditions.length > 0
  const path = isAsked ? printPath(found.resource.plural, [{ name: 'Id', sign: '=', values: [found.id] }]) : null
  const { answer: total } = useAnswer(path, readTotal, '', 'HEAD')
  if (found === null || (isAsked && total !== 1)) return null
  return (
    <li>
      <a href={found.href}>Open {roleOf(property.label).toLowerCase()}</a>
    </li>
  )
}

type ReferringProps = Readonly<Record<'one' | 'id', string>> & { readonly other: Resource; readonly property: Property }

/** Links to the rows that refer to this one, with their number. */
function Referring({ property: { name, label }, other, one, id }: ReferringProps) {
  const filters = [{ name, sign: '=', values: [id] }]
  const { answer: total } = useAnswer(printPath(other.plural, filters), readTotal, '', 'HEAD')
  const isPlain = name.toLowerCase() === `${one}id`.toLowerCase()
  return (
    <li>
      <a href={printView({ ...emptyView(other.plural), filters })}>
        {other.plural} of this {wordsOf(one).toLowerCase()}
        {!isPlain && `, as ${roleOf(label).toLowerCase()}`}
      </a>{' '}
      {total !== null && <span class="count">{formatCount(total)}</span>}
    </li>
  )
}

interface Change {
  readonly token: string
  readonly action: string
  readonly at: string
  readonly key: string | null
  readonly changed: readonly string[]
}

const CHANGES_PAGE = 500
const CHANGES_SHOWN = 100

/** Reads all pages of a history, which begin with the oldest change. Returns the newest changes, the last one first. */
function readChanges(path: string) {
  return async (response: Response): Promise<readonly Change[]> => {
    let { changes, next, more } = await readJson(response)
    while (more) {
      const page = await readJson(await send(`${path}?PageSize=${CHANGES_PAGE}&after=${next}`))
      changes = [...changes, ...page.changes].slice(-CHANGES_SHOWN)
      next = page.next
      more = page.more
    }
    return changes.slice(-CHANGES_SHOWN).toReversed()
  }
}

/** The changes of the row, if the server keeps changes. */
function Changes({ path, resource: { properties } }: Pick<Shown, 'resource'> & { readonly path: string }) {
  const { answer } = useAnswer(`${path}?PageSize=${CHANGES_PAGE}`, readChanges(path))
  if (!answer?.length) return null
  const labelOf = (name: string) => findNamed(properties, name)?.label ?? name
  return (
    <>
      <h3>
        Changes <small>{zoneLabel()}</small>
      </h3>
      <ol>
        {answer.map(({ token, action, at, key, changed }) => (
          <li key={token}>
            {formatDate('instant', at)}: {action} {changed.map(labelOf).join(', ')}{' '}
            {key && <span class="count">by key {key}</span>}
          </li>
        ))}
      </ol>
    </>
  )
}

// The open row: its properties, links to related rows, and its changes.
import { useEffect, useRef } from 'preact/hooks'
import { readTotal, useAnswer } from './api.ts'
import { Button, CopyButton, Hint } from './controls.tsx'
import { Decisions } from './decisions.tsx'
import { draftIdOf, readDraft } from './drafts.ts'
import { useEditing } from './editing.ts'
import { EditForm, LostDraft } from './form.tsx'
import { formatCount } from './format.ts'
import { Changes } from './history.tsx'
import { type Found, referredBy, resourcesOfRows, useReadable } from './links.ts'
import { nameIn } from './names.ts'
import { zoneLabel } from './readerZone.ts'
import { DeleteButton } from './remove.tsx'
import { findNamed, knownStore, type Property, type Resource, type Row, roleOf, valueIn, wordsOf } from './resources.ts'
import { Cell } from './table.tsx'
import { change, emptyView, printPath, printView, type Shown } from './view.ts'
import { readVersioned, type Versioned, writesStore } from './writes.ts'

type Props = Shown & { readonly id: string; close(): void }

/** One row at the side of the list, with links to the rows to which it refers, and to the rows that refer to it. */
export function RowPanel({ resource, view, id, close }: Props) {
  const path = `${resource.plural}/${encodeURIComponent(id)}`
  const { answer, problem } = useAnswer<Versioned>(path, readVersioned, String(writesStore.value))
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [view.form])
  // If a write has removed the button that had the focus, the heading gets it.
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus()
  }, [answer?.tag])
  const row = answer?.row ?? null
  const isShown = row !== null && String(row.id) === id
  const name = isShown ? nameIn(resource, row) : ''
  const variants = useEditing(resource, isShown ? row : null)
  const isEditable = variants !== null && variants.length > 0
  const isEdited = isShown && view.form === 'edit' && isEditable
  // If the row is gone, or may not be changed any more, what was typed is shown, so that the reader can copy it.
  const isLost = !isEdited && (problem?.status === 404 || (isShown && variants?.length === 0))
  return (
    <aside aria-label="Row">
      <div class="bar">
        <Button class="button narrow" label="‹ Back" onClick={close} />
        <h2 tabIndex={-1} ref={heading}>
          {name !== '' && <bdi>{name}</bdi>}{' '}
          <span class={name === '' ? undefined : 'count'}>
            {wordsOf(resource.entity)} {id}
          </span>
        </h2>
        <span class="grow" />
        {isShown && <CopyButton label="Copy JSON" text={() => JSON.stringify(row, null, 2)} />}
        <Button class="button wide" label="Close" aria-keyshortcuts="Escape" onClick={close} />
      </div>
      {problem && <Hint text={problem.message} />}
      {isLost && <LostDraft plural={resource.plural} id={id} />}
      {isEdited && (
        <EditForm resource={resource} row={answer as Versioned} variants={variants} close={() => change(view, { form: '' })} />
      )}
      {isShown && !isEdited && (
        <>
          <Actions resource={resource} view={view} row={answer as Versioned} isEditable={isEditable} close={close} />
          <Facts resource={resource} row={row} />
          {resource.hasChanges && <Changes path={`${path}/Changes`} resource={resource} />}
        </>
      )}
    </aside>
  )
}

type ActionsProps = Shown & { readonly row: Versioned; readonly isEditable: boolean; close(): void }

/** Buttons for what the reader may do with the row: decide it, change it, delete it. */
function Actions({ resource, view, row, isEditable, close }: ActionsProps) {
  const isBegun = readDraft(draftIdOf(resource.plural, String(row.row.id))) !== null
  return (
    <div class="bar actions">
      <Decisions key={row.row.id} resource={resource} row={row.row} tag={row.tag} />
      {isEditable && <Button label={isBegun ? 'Go on editing (draft)' : 'Edit'} onClick={() => change(view, { form: 'edit' })} />}
      <DeleteButton key={row.row.id} resource={resource} row={row} removed={close} />
    </div>
  )
}

/** The properties of a row, with links to the rows to which it refers, and to the rows that refer to it. */
function Facts({ resource, row }: { readonly resource: Resource; readonly row: Row }) {
  const isReadable = useReadable(resource, [row])
  const id = String(row.id)
  return (
    <>
      <dl>
        {withoutNamedIds(resource.properties).map((property) => (
          <div key={property.name}>
            <dt title={titleOf(property, resource, row)}>
              {property.label}
              {property.kind === 'instant' && <small> {zoneLabel()}</small>}
            </dt>
            <dd>
              <Cell resource={resource} property={property} row={row} view={null} isReadable={isReadable} />
            </dd>
          </div>
        ))}
      </dl>
      <ul>
        {resource.properties.map((property) => {
          const found = property.references === null ? null : referredBy(resource, property, row)
          return found && isReadable(found) && <Referred key={property.name} property={property} found={found} />
        })}
        {referringTo(resource).map(({ other, property }) => (
          <Referring key={other.plural + property.name} property={property} other={other} id={id} one={resource.rowsOf} />
        ))}
      </ul>
    </>
  )
}

/** Leaves out a reference if `properties` also has a name that is copied from the referred row. */
function withoutNamedIds(properties: readonly Property[]): readonly Property[] {
  return properties.filter(({ name }) => !properties.some(({ copiedThrough }) => copiedThrough === name))
}

/**
 * Returns a title for a copied name, with the id of the row that has the name: `Manager id 1`. Returns undefined for any other
 * property.
 */
function titleOf({ copiedThrough }: Property, { properties }: Resource, row: Row): string | undefined {
  const reference = properties.find((one) => one.name === copiedThrough)
  return reference && `${reference.label} ${valueIn(row, reference) ?? 'without a value'}`
}

/** Link to the row that a reference names. */
function Referred({ property, found }: { readonly property: Property; readonly found: Found }) {
  return (
    <li>
      <a href={found.href}>Open {roleOf(property.label).toLowerCase()}</a>
    </li>
  )
}

/** A reference from the rows of the resource `other`, which may also be the resource of the open row. */
interface Reference {
  readonly other: Resource
  readonly property: Property
}

/**
 * Returns the references that lead to rows of a resource. If an entity and its views show the same reference, it is returned
 * once.
 */
function referringTo({ rowsOf }: Resource): readonly Reference[] {
  const { resources } = knownStore.value
  return resources.flatMap((other) =>
    other.properties.flatMap((property) => {
      if (property.references !== rowsOf) return []
      const first = resourcesOfRows(other.rowsOf).find(({ properties }) => findNamed(properties, property.name) !== undefined)
      return first === other ? { other, property } : []
    }),
  )
}

type ReferringProps = Readonly<Record<'one' | 'id', string>> & { readonly other: Resource; readonly property: Property }

/** Link to the rows that refer to this row by one property, with the number of these rows. */
function Referring({ property: { name, label }, other, one, id }: ReferringProps) {
  const filters = [{ name, sign: '=', values: [id] }]
  const { answer: total } = useAnswer(printPath(other.plural, filters), readTotal, '', 'HEAD')
  // If the reader may read only some of these rows, a number of 0 does not mean that there are none.
  if (other.conditions.length > 0 && !total) return null
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

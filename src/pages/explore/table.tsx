// The table of a list: headers sort, cells link to other rows, keys move the focus and open rows.
import { useState } from 'preact/hooks'
import { formatValue } from './format.ts'
import { type Found, referredBy, useReadable } from './links.ts'
import { inOrder } from './listPages.ts'
import { hasPills, Pill } from './pills.tsx'
import { zoneLabel } from './readerZone.ts'
import { isQuantity, type Property, type Resource, type Row, valueIn } from './resources.ts'
import { change, changed, go, printView, type Shown, type View } from './view.ts'

interface HeaderProps {
  readonly name: string
  readonly label: string
  readonly isNumber?: boolean
  /** Why the API cannot sort by this column; empty if it can. */
  readonly unsortable?: string
  /** Words in small type after the label, such as the time zone of the values. */
  readonly note?: string
  readonly sort: readonly string[]
  setSort(sort: string[]): void
}

/** Header of a column; a click sorts. */
export function Header({ name, label, isNumber = false, unsortable = '', note = '', sort, setSort }: HeaderProps) {
  const index = sort.findIndex((part) => part.replace('-', '').toLowerCase() === name.toLowerCase())
  const isDescending = sort[index]?.startsWith('-')
  const look = isNumber ? 'n' : ''
  if (unsortable !== '')
    return (
      <th class={look} title={unsortable}>
        {label}
        {note && <small> {note}</small>}
      </th>
    )
  /** Cycles through ascending, descending, and not sorted. With Shift, columns that are sorted already stay sorted. */
  const sortNext = ({ shiftKey }: MouseEvent) => {
    const next = index < 0 ? [name] : isDescending ? [] : [`-${name}`]
    setSort(shiftKey ? sort.toSpliced(index < 0 ? sort.length : index, 1, ...next) : next)
  }
  return (
    <th class={look} aria-sort={index < 0 ? 'none' : isDescending ? 'descending' : 'ascending'}>
      <button type="button" title="Sort; with Shift, also by other columns." onClick={sortNext}>
        {label}
        {note && <small> {note}</small>}
        {index >= 0 && (isDescending ? ' ↓' : ' ↑')}
        {sort.length > 1 && index >= 0 && <small> {index + 1}</small>}
      </button>
    </th>
  )
}

const OF_JSON = 'Lists cannot be sorted by values of several parts.'
const OF_ANOTHER_ROW = 'Lists cannot be sorted by properties of other rows.'

type TableProps = Shown & { readonly columns: readonly Property[]; readonly rows: readonly Row[] }

/** A page of rows. Arrow keys move the focus, Enter opens a row. */
export function Table({ resource, columns, rows, view }: TableProps) {
  const [focused, focus] = useState(0)
  const isReadable = useReadable(resource, rows)
  const { sort } = inOrder(resource, view)
  const open = (row: Row) => go(changed(view, { row: String(row.id) }), view.row === '')
  const onKey = (event: KeyboardEvent & { currentTarget: HTMLElement }, row: Row) => {
    if (event.target !== event.currentTarget) return
    const { nextElementSibling: next, previousElementSibling: previous } = event.currentTarget
    const step = { ArrowDown: next, ArrowUp: previous }[event.key]
    if (event.key === 'Enter') open(row)
    if (step === undefined) return
    event.preventDefault()
    ;(step as HTMLElement | null)?.focus()
  }
  return (
    <table>
      <thead>
        <tr>
          {columns.map((property) => (
            <Header
              key={property.name}
              {...property}
              note={property.kind === 'instant' ? zoneLabel() : ''}
              isNumber={isQuantity(property)}
              unsortable={property.kind === 'json' ? OF_JSON : property.through === null ? '' : OF_ANOTHER_ROW}
              sort={sort}
              setSort={(sort) => change(view, { sort })}
            />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr
            key={row.id}
            tabIndex={index === Math.min(focused, rows.length - 1) ? 0 : -1}
            aria-current={String(row.id) === view.row}
            onFocus={() => focus(index)}
            onKeyDown={(event) => onKey(event, row)}
            onClick={({ target }) => {
              if (!(target as Element).closest('a') && getSelection()?.isCollapsed !== false) open(row)
            }}
          >
            {columns.map((property) => (
              <td key={property.name} class={isQuantity(property) ? 'n' : ''}>
                <Cell resource={resource} property={property} row={row} view={view} isReadable={isReadable} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Matches names of properties that have e-mail addresses. */
const MAIL_NAME = /mail$/i
/** Matches an e-mail address. */
const MAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

interface CellProps {
  readonly resource: Resource
  readonly property: Property
  readonly row: Row
  /** View in which the id of the row is a link that opens the row; null: the row is open already, and its id is no link. */
  readonly view: View | null
  /** Returns whether the reader may read the row that a reference names. Without this function, references have no links. */
  isReadable?(found: Found): boolean
}

/** The value of a property. If the value is a reference, or a name copied through one, it links to the referred row. */
export function Cell({ resource, property, row, view, isReadable }: CellProps) {
  const value = valueIn(row, property)
  if (value === null) return <span class="none" title="no value" children="–" />
  const text = formatValue(property, value)
  const isPill = hasPills(property) && text !== ''
  const shown = isPill ? <Pill property={property} value={text} /> : <bdi title={text}>{text}</bdi>
  if (property.name === 'Id' && view) return <a href={printView(changed(view, { row: text }))}>{shown}</a>
  if (MAIL_NAME.test(property.name) && MAIL.test(text))
    return <a href={`mailto:${encodeURIComponent(text).replace('%40', '@')}`}>{shown}</a>
  const found = referredBy(resource, property, row)
  return found !== null && isReadable?.(found) ? <a href={found.href}>{shown}</a> : shown
}

// Shows rows on the start page. Each row is a line of short texts: its name or whose row it is, its dates, some facts, and its
// state.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { formatOperand, formatValue } from './format.ts'
import { nameIn, namingProperty } from './names.ts'
import { findNamed, isQuantity, type Property, type Resource, type Row, valueIn, wordsOf } from './resources.ts'
import type { Part } from './rights.ts'
import { Cell } from './table.tsx'
import { emptyView, printView, type View } from './view.ts'

/** Maximum number of properties of `ItemProperties.what` that are shown for a row. */
const ITEM_VALUES_MAX = 3

/** Properties that say what a row is, in the order in which they are shown. */
export interface ItemProperties {
  /** Property that names a row; null if rows have no name, such as absences. */
  readonly name: Property | null
  /** Copied names of rows to which the row refers, such as the name of an employee. */
  readonly whose: readonly Property[]
  /** The first two properties that are dates. */
  readonly when: readonly Property[]
  readonly what: readonly Property[]
  /** Property with the state, such as `Status`. */
  readonly state: Property | null
}

/** Matches properties that are not shown for a row with a name: parts of the name, titles and numbers. */
const NAME_PART = /^title$|name$|^knownas$|number$/i
/** Patterns of properties that tell apart rows of the same name, the best first. */
const TELLING = [/jobtitle/i, /department/i, /location/i]

/**
 * Returns the properties by which a list shows rows. `state`: name of the property that decisions change. `skipped`: names of
 * properties that have the same value in all rows of the list.
 */
export function itemProperties(resource: Resource, state: string | null, skipped: readonly string[] = []): ItemProperties {
  const name = namingProperty(resource)
  const shown = resource.properties.filter((property) => !skipped.includes(property.copiedThrough ?? property.name))
  const isFact = (property: Property) =>
    (property.kind === 'text' || property.kind === 'oneOf' || isQuantity(property)) &&
    property.copiedThrough === null &&
    property.name !== state &&
    !(name && NAME_PART.test(property.name))
  return {
    name,
    whose: name ? [] : shown.filter(({ copiedThrough }) => copiedThrough !== null),
    when: name ? [] : shown.filter(({ kind }) => kind === 'instant' || kind === 'date').slice(0, 2),
    what: shown.filter(isFact).toSorted((one, other) => rank(one) - rank(other)),
    state: findNamed(resource.properties, state ?? '') ?? null,
  }
}

/**
 * Returns the sort key of a property in `ItemProperties.what`. A text inside an object comes last: `Period.Prefered` says nothing
 * without the other properties of `Period`.
 */
function rank({ name, kind, path }: Property): number {
  const at = TELLING.findIndex((pattern) => pattern.test(name))
  if (at >= 0) return at
  return TELLING.length + Number(kind === 'text' && path.length > 1)
}

/**
 * Returns the property to sort by: the first date, with a minus sign if the newest row comes first; without a date, the name.
 * Returns undefined if there is neither.
 */
export function sortOf({ name, when }: ItemProperties, isNewestFirst: boolean): string | undefined {
  const [date] = when
  if (date) return isNewestFirst ? `-${date.name}` : date.name
  return name?.name
}

interface Props {
  readonly part: Part
  readonly properties: ItemProperties
  readonly rows: readonly Row[]
  /** Parts of the view in which a row opens, such as the sort. */
  readonly view: Partial<View>
  /** Returns what is shown at the end of a row, such as buttons. */
  actions?(row: Row): ComponentChildren
}

/** Rows of a part of the start page. Each row begins with a link that opens it in the list of the part. */
export function Items({ part: { resource, filters }, properties, rows, view, actions }: Props) {
  const list = useFocusInList(rows)
  return (
    <ul class="items" ref={list}>
      {rows.map((row) => {
        const href = printView({ ...emptyView(resource.plural), ...view, filters, row: String(row.id) })
        return <Item key={row.id} resource={resource} properties={properties} row={row} href={href} actions={actions?.(row)} />
      })}
    </ul>
  )
}

/** Returns the unit in the name of a quantity: ` days` for `Period.Days`. Returns null if the name contains no unit. */
function unitOf({ path }: Property): string | null {
  const word = String(path.at(-1))
  return /^(minutes|hours|days|weeks|months|years)$/i.test(word) ? ` ${word.toLowerCase()}` : null
}

interface ItemProps extends Pick<Props, 'properties'> {
  readonly resource: Resource
  readonly row: Row
  readonly href: string
  readonly actions: ComponentChildren
}

function Item({ resource, properties: { whose, when, what, state }, row, href, actions }: ItemProps) {
  const hasValue = (property: Property) => ![null, ''].includes(valueIn(row, property) as string | null)
  const name = nameIn(resource, row)
  const [first] = name === '' ? [...whose, ...what].filter(hasValue) : []
  const title = name || (first ? formatValue(first, valueIn(row, first) as string) : `${wordsOf(resource.entity)} ${row.id}`)
  const dates = when.filter(hasValue).map((property) => formatOperand(property, String(valueIn(row, property))))
  const others = [...whose.filter(hasValue), ...what.filter(hasValue).slice(0, ITEM_VALUES_MAX)].filter(
    (property) => property !== first,
  )
  return (
    <li class="item">
      <div class="facts">
        <a class="title" href={href}>
          <bdi>{title}</bdi>
        </a>
        {dates.length > 0 && <span class="fact">{dates.join(' – ')}</span>}
        {others.map((property) => (
          <span key={property.name} class="fact" title={property.label}>
            {isQuantity(property) && unitOf(property) === null && `${property.label} `}
            <Cell resource={resource} property={property} row={row} view={null} />
            {unitOf(property)}
          </span>
        ))}
        {state && hasValue(state) && <Cell resource={resource} property={state} row={row} view={null} />}
      </div>
      {actions && (
        <fieldset class="acts" aria-label={[title, ...dates].join(', ')}>
          {actions}
        </fieldset>
      )}
    </li>
  )
}

/** Hook that moves the focus to the next row when the focused row leaves the list, as after a decision. */
function useFocusInList(rows: readonly Row[]) {
  const list = useRef<HTMLUListElement>(null)
  const focusedIndex = useRef(-1)
  useEffect(() => {
    const onFocus = ({ target }: FocusEvent) => {
      const items = [...(list.current?.children ?? [])]
      focusedIndex.current = items.findIndex((item) => item.contains(target as Node))
    }
    // Listens on the whole page, because the focus may leave the list before the row does.
    addEventListener('focusin', onFocus)
    return () => removeEventListener('focusin', onFocus)
  }, [])
  useEffect(() => {
    if (focusedIndex.current < 0 || document.activeElement !== document.body) return
    const next = list.current?.children[Math.min(focusedIndex.current, rows.length - 1)]
    const heading = list.current?.closest('section')?.querySelector<HTMLElement>('h2')
    ;(next?.querySelector<HTMLElement>('a, button') ?? heading)?.focus()
  }, [rows])
  return list
}

// Rows as a list of sentences, for the start page: whose, when, what, and in which state.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { formatOperand, formatValue } from './format.ts'
import { isQuantity, type Property, type Resource, type Row, valueIn, wordsOf } from './resources.ts'
import type { Part } from './rights.ts'
import { Cell } from './table.tsx'
import { emptyView, printView, type View } from './view.ts'

/** Maximum facts of a row besides whose it is, and of when. */
const FACTS_MAX = 3

/** Properties that say what a row is, in the order in which they are shown. */
export interface Facts {
  /** Its name; null: it has none, as an absence. */
  readonly name: Property | null
  /** Names of rows that it refers to, as that of an employee. */
  readonly whose: readonly Property[]
  /** The first two dates. */
  readonly when: readonly Property[]
  readonly what: readonly Property[]
  /** The state, such as Requested. */
  readonly state: Property | null
}

/** Properties that name a row, the best first. */
const NAMES = [/^(display|full)name$/i, /^name$/i, /name$/i]
/** Parts of a name, which it has already. */
const NAME_PART = /^title$|name$|^knownas$|number$/i
/** Properties that tell rows of one name apart, the best first. */
const TELLING = [/jobtitle/i, /department/i, /location/i]

/** Returns the facts of rows. `state`: name of the property that decisions change; `skipped`: properties that all rows share. */
export function factsOf({ properties }: Resource, state: string | null, skipped: readonly string[] = []): Facts {
  const shown = properties.filter(({ name, copiedThrough }) => !skipped.includes(copiedThrough ?? name))
  const texts = shown.filter(({ kind, copiedThrough, references }) => kind === 'text' && !copiedThrough && !references)
  const name = NAMES.flatMap((pattern) => texts.find((property) => pattern.test(property.name)) ?? [])[0] ?? null
  const when = name ? [] : shown.filter(({ kind }) => kind === 'instant' || kind === 'date').slice(0, 2)
  const rest = shown.filter(
    (property) =>
      (property.kind === 'text' || property.kind === 'oneOf' || isQuantity(property)) &&
      property.copiedThrough === null &&
      property !== name &&
      property.name !== state &&
      !(name && NAME_PART.test(property.name)),
  )
  return {
    name,
    whose: name ? [] : shown.filter(({ copiedThrough }) => copiedThrough !== null),
    when,
    what: rest.toSorted((one, other) => rank(one) - rank(other)).slice(0, FACTS_MAX),
    state: properties.find((property) => property.name === state) ?? null,
  }
}

/** Returns the order of a list: by name, or by the first date. */
export function sortOf({ name, when }: Facts, isNewestFirst: boolean): string | undefined {
  const [date] = when
  if (date) return isNewestFirst ? `-${date.name}` : date.name
  return name?.name
}

function rank({ name }: Property): number {
  const place = TELLING.findIndex((pattern) => pattern.test(name))
  return place < 0 ? TELLING.length : place
}

interface Props {
  readonly part: Part
  readonly facts: Facts
  readonly rows: readonly Row[]
  /** Parts of the view that a row opens in. */
  readonly view: Partial<View>
  /** What stands behind a row, such as buttons. */
  actions?(row: Row): ComponentChildren
}

/** Rows of a part. Each begins with a link that opens it in the list of the part. */
export function Items({ part: { resource, filters }, facts, rows, view, actions }: Props) {
  const list = useFocusInList(rows)
  const { name, whose, when, what, state } = facts
  return (
    <ul class="items" ref={list}>
      {rows.map((row) => {
        const hasValue = (property: Property) => ![null, ''].includes(valueIn(row, property) as string | null)
        const [first, ...others] = [...(name ? [name] : []), ...whose, ...(whose.length > 0 ? [] : what)].filter(hasValue)
        const href = printView({ ...emptyView(resource.plural), ...view, filters, row: String(row.id) })
        const cell = (property: Property) => (
          <Cell key={property.name} resource={resource} property={property} row={row} view={null} />
        )
        const rest = [...others, ...(whose.length > 0 ? what.filter(hasValue) : [])]
        return (
          <li key={row.id} class="item">
            <a class="title" href={href}>
              <bdi>{first ? formatValue(first, valueIn(row, first) as string) : `${wordsOf(resource.entity)} ${row.id}`}</bdi>
            </a>
            {when.some(hasValue) && (
              <span class="fact">
                {when
                  .filter(hasValue)
                  .map((property) => formatOperand(property, String(valueIn(row, property))))
                  .join(' – ')}
              </span>
            )}
            {rest.map((property) => (
              <span key={property.name} class="fact" title={property.label}>
                {cell(property)}
              </span>
            ))}
            {state && hasValue(state) && cell(state)}
            {actions?.(row)}
          </li>
        )
      })}
    </ul>
  )
}

/** Moves the focus to the next row when the row that has it leaves the list, as after a decision. */
function useFocusInList(rows: readonly Row[]) {
  const list = useRef<HTMLUListElement>(null)
  const place = useRef(-1)
  useEffect(() => {
    const onFocus = ({ target }: FocusEvent) => {
      const items = [...(list.current?.children ?? [])]
      place.current = items.findIndex((item) => item.contains(target as Node))
    }
    // Not of the list alone: the focus may have gone on elsewhere before the row leaves.
    addEventListener('focusin', onFocus)
    return () => removeEventListener('focusin', onFocus)
  }, [])
  useEffect(() => {
    if (place.current < 0 || document.activeElement !== document.body) return
    const next = list.current?.children[Math.min(place.current, rows.length - 1)]
    const heading = list.current?.closest('section')?.querySelector<HTMLElement>('h2')
    ;(next?.querySelector<HTMLElement>('a, button') ?? heading)?.focus()
  }, [rows])
  return list
}

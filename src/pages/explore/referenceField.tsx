// The field of a reference: finds rows by their name, and keeps the id of the chosen row. A combobox by the ARIA pattern.
import { useEffect, useRef, useState } from 'preact/hooks'
import { namingProperty } from './names.ts'
import { type Condition, collectionsOf, type Resource, wordsOf } from './resources.ts'
import { findHits, type Hit, useNameOf } from './rowNames.ts'
import type { ControlProps } from './typed.ts'

type Props = Pick<ControlProps, 'field' | 'text' | 'chosen' | 'take'> & {
  /** Entity to which the field refers. */
  readonly references: string
  readonly attributes: Readonly<Record<string, unknown>> & { readonly id: string }
}

/** Field that searches in the collections that the reader may read. If she may read none, she types an id. */
export function ReferenceField(props: Props) {
  const { references, attributes, text, take } = props
  const collections = collectionsOf(references).filter((one) => namingProperty(one) !== null)
  if (collections.length > 0) return <Combobox {...props} collections={collections} />
  return (
    <input
      {...attributes}
      inputMode="numeric"
      autocomplete="off"
      placeholder={`Id of the ${wordsOf(references).toLowerCase()}`}
      value={text}
      onInput={({ currentTarget: { value } }) => take(value)}
    />
  )
}

/** State of the list below the field. `active`: index of the row that Enter takes; -1: none. */
interface Found {
  readonly hits: readonly Hit[]
  readonly active: number
  /** Why there are no rows; empty if there are some. */
  readonly fault: string
}

/** Pause in typing after which the page searches, in ms. */
const PAUSE_MS = 200

/** Hook that searches rows for a reference. `found` is null while the list is closed. */
function useSearch(collections: readonly Resource[], targets: readonly Condition[]) {
  const [found, setFound] = useState<Found | null>(null)
  const latest = useRef<{ timer?: ReturnType<typeof setTimeout>; controller?: AbortController }>({})
  const stop = () => {
    clearTimeout(latest.current.timer)
    latest.current.controller?.abort()
  }
  useEffect(() => stop, [])
  const find = (part: string, pauseMs: number) => {
    stop()
    const controller = new AbortController()
    const show = (hits: readonly Hit[], fault: string) => {
      if (!controller.signal.aborted) setFound({ hits, active: hits.length > 0 && part !== '' ? 0 : -1, fault })
    }
    const ask = () =>
      findHits(collections, targets, part, controller.signal).then(
        (hits) => show(hits, hits.length === 0 ? 'No row has such a name.' : ''),
        (error) => show([], error instanceof Error ? error.message : String(error)),
      )
    latest.current = { controller, timer: setTimeout(ask, pauseMs) }
  }
  const close = () => {
    stop()
    setFound(null)
  }
  const move = (by: number) => {
    const count = found?.hits.length ?? 0
    if (found === null || count === 0) return
    const from = found.active < 0 && by < 0 ? 0 : found.active
    setFound({ ...found, active: (from + by + count) % count })
  }
  return { found, find, close, move }
}

function Combobox(props: Props & { readonly collections: readonly Resource[] }) {
  const { field, text, chosen, take, attributes, collections } = props
  const known = useNameOf(collections, text, chosen)
  const { found, find, close, move } = useSearch(collections, field.targets)
  // Text that the reader has typed while no row is chosen; null: a row is chosen. In the form, this text begins with `?`, and
  // cannot be saved.
  const typed = text.startsWith('?') ? text.slice(1) : null
  const choose = ({ id, name }: Hit) => {
    close()
    take(id, name)
  }
  const onInput = (value: string) => {
    take(value === '' ? '' : `?${value}`)
    if (value.trim() === '') close()
    else find(value.trim(), PAUSE_MS)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const hit = found?.hits[found.active]
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Tab') return hit && typed !== null ? choose(hit) : close()
    if (by !== undefined && found === null) find(typed?.trim() ?? '', 0)
    else if (by !== undefined) move(by)
    else if (event.key === 'Enter' && hit !== undefined) choose(hit)
    else if (event.key === 'Escape' && found !== null) close()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const list = `${attributes.id}-list`
  const isOpen = found !== null && found.hits.length > 0
  return (
    <span class="anchor combobox">
      <input
        {...attributes}
        role="combobox"
        autocomplete="off"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={list}
        aria-activedescendant={isOpen && found.active >= 0 ? `${list}-${found.active}` : undefined}
        value={typed ?? known}
        onInput={({ currentTarget: { value } }) => onInput(value)}
        onKeyDown={onKeyDown}
        onClick={() => found === null && find(typed?.trim() ?? '', 0)}
        // Closes only an open list. If no row was found, the field has a message below it instead. Removing this message would
        // move the buttons below it, and a click on one of the buttons would miss.
        onBlur={() => isOpen && close()}
      />
      {isOpen && <Hits id={list} label={field.label} found={found} choose={choose} />}
      <span class="count" role="status">
        {found?.fault}
      </span>
    </span>
  )
}

interface HitsProps {
  readonly id: string
  readonly label: string
  readonly found: Found
  choose(hit: Hit): void
}

/** The rows to choose from. The focus stays in the field, which also handles the keys. */
function Hits({ id, label, found, choose }: HitsProps) {
  const list = useRef<HTMLDivElement>(null)
  // Without this, the list would be hidden if its field is at the lower edge of a panel that scrolls.
  useEffect(() => list.current?.scrollIntoView({ block: 'nearest' }), [found.hits])
  return (
    <div ref={list} id={id} role="listbox" aria-label={label} tabIndex={-1} class="hits">
      {found.hits.map((hit, index) => (
        <div
          key={hit.id}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === found.active}
          onMouseDown={(event) => {
            event.preventDefault()
            choose(hit)
          }}
        >
          <bdi>{hit.name}</bdi> <bdi class="count">{hit.fact}</bdi>
        </div>
      ))}
    </div>
  )
}

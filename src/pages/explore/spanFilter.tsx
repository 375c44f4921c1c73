// The filter by a span: its form, with ranges of days to choose with one click, and links to rows without a start or an end.
import { useEffect, useRef, useState } from 'preact/hooks'
import { readTotal, useAnswer } from './api.ts'
import { Button, Field } from './controls.tsx'
import { formatCount } from './format.ts'
import { ownZone, zoneStore } from './readerZone.ts'
import type { Property, Span } from './resources.ts'
import { type Days, type FoundSpan, firstDayOfWeek, presetsOf } from './spans.ts'
import { changed, type Filter, printPath, printView, type Shown } from './view.ts'
import { localOf } from './zone.ts'

/** First and last day that can be typed. Even the day after the last one has a year of four digits. */
const YEARS = { min: '1000-01-01', max: '9998-12-31' }

interface FormProps {
  readonly span: Span
  /** Days of the filter that is changed; null for a new filter. */
  readonly days: Days | null
  apply(days: Days): void
  close(): void
}

/** Form that asks for two days, with buttons for frequent ranges. */
export function SpanForm({ span, days, apply, close }: FormProps) {
  const [from, setFrom] = useState(days?.from ?? '')
  const [to, setTo] = useState(days?.to ?? '')
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.querySelector<HTMLElement>(days ? 'input' : 'button')?.focus(), [])
  return (
    <form
      class="popover"
      ref={form}
      aria-label={`${span.words} between`}
      onSubmit={(event) => {
        event.preventDefault()
        // Two days in the wrong order mean the same range.
        apply(from <= to ? { from, to } : { from: to, to: from })
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        close()
      }}
    >
      {presetsOf(today(span), firstDayOfWeek(navigator.language)).map(([words, preset]) => (
        <Button key={words} label={words} onClick={() => apply(preset)} />
      ))}
      <span class="field">
        <Field type="date" label="First day" required {...YEARS} value={from} take={setFrom} />
        <span>and</span>
        <Field type="date" label="Last day" required {...YEARS} value={to} take={setTo} />
      </span>
      <Button type="submit" class="button primary" label="Apply" />
      <Button label="Cancel" onClick={close} />
    </form>
  )
}

/** Returns the present day of the reader: in the chosen zone for date-times, in the computer's zone for dates. */
function today({ start }: Span): string {
  const now = new Date().toISOString()
  return (localOf(now, start.kind === 'date' ? ownZone : zoneStore.value) ?? now).slice(0, 10)
}

type GapsProps = Shown & { readonly span: Span; readonly found: FoundSpan }

/** Links to rows that the filter cannot find: nobody knows whether rows without a start or an end overlap the days. */
export function SpanGaps({ span, found: { filterIndexes }, ...shown }: GapsProps) {
  const [start, end] = filterIndexes
  return (
    <>
      <Gap {...shown} property={span.end} filterIndex={end} title="They begin by then, and have no end." />
      <Gap {...shown} property={span.start} filterIndex={start} title="They end then or later, and have no start." />
    </>
  )
}

type GapProps = Shown & { readonly property: Property; readonly filterIndex: number; readonly title: string }

/**
 * A link to the rows that have no value of the property, and match the other filters. Shows nothing if there is no such row.
 * `filterIndex`: index of the filter to replace.
 */
function Gap({ resource, view, property, filterIndex, title }: GapProps) {
  const none: Filter = { name: property.name, sign: '=', values: [''] }
  const filters = view.filters.with(filterIndex, none)
  const { answer } = useAnswer(property.isNullable ? printPath(resource.plural, filters) : null, readTotal, '', 'HEAD')
  if (!answer) return null
  return (
    <a class="gap" title={title} href={printView(changed(view, { filters, row: '' }))}>
      {formatCount(answer)} without {property.label}
    </a>
  )
}

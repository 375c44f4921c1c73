// The filters of a view: chips, and the form that adds or changes a filter.
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Problem, readJson, useAnswer } from './api.ts'
import { chipsOf, type Edited, SPAN } from './chips.ts'
import { Button, Field, Hint, Scrim, Select } from './controls.tsx'
import { formatOperand, fromZone, toZone } from './format.ts'
import { zoneLabel, zoneStore } from './readerZone.ts'
import { allProperties, findProperty, headingOf, type Property, type Resource, type Row, valueIn } from './resources.ts'
import { SpanForm, SpanGaps } from './spanFilter.tsx'
import { filtersOfDays, spanIn } from './spans.ts'
import { change, type Filter, printPath, type Shown } from './view.ts'
import { type Choice, choiceOf, choicesOf } from './words.ts'

/** Returns whether the error of a request is about this filter. */
export const isRefused = ({ name, sign }: Filter, problem: Problem | null) =>
  problem?.status === 400 && [name, name + sign].some((one) => one.toLowerCase() === problem.target.toLowerCase())

/** Chips of a view's filters, and buttons that add filters. The key `/` opens the form for a new filter. */
export function Filters({ resource, view, problem }: Shown & { readonly problem: Problem | null }) {
  const [edited, edit] = useState<Edited | null>(null)
  const adds = useRef<HTMLButtonElement>(null)
  const { filters } = view
  const { span } = resource
  const found = spanIn(span, filters, zoneStore.value)
  // If the API refuses one of the two conditions of a span, each condition has its own chip. The API's message is shown at the
  // refused condition.
  const spanned = found?.filterIndexes.some((index) => isRefused(filters[index] as Filter, problem)) ? null : found
  const close = () => {
    edit(null)
    adds.current?.focus()
  }
  const replace = (indexes: readonly number[], ...by: Filter[]) => {
    const [first = filters.length] = indexes
    const kept = filters.map((filter, index) => (index === first ? by : indexes.includes(index) ? [] : [filter]))
    change(view, { filters: [...kept.flat(), ...(first === filters.length ? by : [])] })
    close()
  }
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || isTyping(event)) return
      event.preventDefault()
      edit(filters.length)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [filters.length])
  const lastRefused = filters.findLastIndex((filter) => isRefused(filter, problem))
  return (
    <>
      {chipsOf(resource, filters, spanned).map(({ filterIndexes, words, edited: form }) => {
        const [name, operator, value] = words
        const text = words.filter(Boolean).join(' ')
        const isBad = filterIndexes.some((index) => isRefused(filters[index] as Filter, problem))
        return (
          <span key={filterIndexes[0]} class="field">
            <span class={`chip${isBad ? ' bad' : ''}`}>
              {form === null ? (
                <span title={value}>
                  {name} {operator && <i>{operator}</i>} {value && <bdi>{value}</bdi>}
                </span>
              ) : (
                <button type="button" onClick={() => edit(form)}>
                  {name} <i>{operator}</i> <bdi title={value}>{value}</bdi>
                </button>
              )}
              <Button class="" label="×" aria-label={`Remove ${text}`} onClick={() => replace(filterIndexes)} />
            </span>
            {form === SPAN && span && spanned && <SpanGaps resource={resource} view={view} span={span} found={spanned} />}
            {filterIndexes.includes(lastRefused) && <Hint text={problem?.message} />}
          </span>
        )
      })}
      <span class="anchor">
        <Button class="button add" label="+ Filter" ref={adds} aria-keyshortcuts="/" onClick={() => edit(filters.length)} />
        {span && !spanned && <Button class="button add" label={`${span.words} between …`} onClick={() => edit(SPAN)} />}
        {edited !== null && <Scrim close={close} />}
        {edited === SPAN && span && (
          <SpanForm
            span={span}
            days={spanned?.days ?? null}
            close={close}
            apply={(days) => replace(spanned?.filterIndexes ?? [], ...filtersOfDays(span, days, zoneStore.value))}
          />
        )}
        {typeof edited === 'number' && (
          <FilterForm
            key={edited}
            resource={resource}
            close={close}
            filter={filters[edited] ?? null}
            apply={(filter) => replace([edited], filter)}
          />
        )}
      </span>
    </>
  )
}

/** True if an event comes from a field. A pressed key is then input for the field, and no shortcut. */
export const isTyping = ({ target }: Event) => target instanceof Element && target.matches('input, select, textarea')

interface FormProps {
  readonly resource: Resource
  readonly filter: Filter | null
  apply(filter: Filter): void
  close(): void
}

function FilterForm({ resource, filter, apply, close }: FormProps) {
  const first = resource.properties.find(({ kind }) => kind === 'text' || kind === 'oneOf') ?? resource.properties[0]
  const [property, choose] = useState((filter && findProperty(resource, filter.name)) ?? (first as Property))
  const [operator, setOperator] = useState(filter ? choiceOf(property, filter) : (choicesOf(property)[0] as Choice))
  const offered = [...new Set([...allProperties(resource), property])]
  const choices = choicesOf(property)
  const isAny = operator.sign === '[]'
  const [picked, pick] = useState<readonly string[]>(filter && isAny ? filter.values : [])
  const [text, setText] = useState(filter && !isAny ? (filter.values[0] ?? '') : '')
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.querySelector<HTMLElement>(filter ? '.value' : 'select')?.focus(), [])
  const take = (name: string) => {
    const next = findProperty(resource, name) as Property
    choose(next)
    setOperator(choicesOf(next).find(({ words }) => words === operator.words) ?? (choicesOf(next)[0] as Choice))
    pick([])
    setText(next.kind === 'boolean' ? 'true' : '')
  }
  const submit = (event: Event) => {
    event.preventDefault()
    const values = isAny ? [...picked, ...(text === '' ? [] : [text])] : [operator.operand ? text : '']
    // The button Add, or Enter in a field with a text, adds the text to the list. Otherwise the filter is applied.
    if (isAny && text !== '' && (event as SubmitEvent).submitter?.className === 'adds') {
      pick(values)
      setText('')
    } else apply({ name: property.name, sign: operator.sign, values: values.length === 0 ? [''] : values })
  }
  return (
    <form
      class="popover"
      ref={form}
      aria-label="Filter"
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && !operator.operand && !(event.target instanceof HTMLButtonElement)) submit(event)
        if (event.key !== 'Escape') return
        event.stopPropagation()
        close()
      }}
    >
      <Select
        label="Property"
        value={property.name}
        options={offered.map((one) => ({ name: one.name, words: one.label, ...headingOf(one) }))}
        take={take}
      />
      <Select
        label="Operator"
        value={operator.words}
        options={choices.map(({ words }) => words)}
        take={(chosen) => setOperator(choices.find(({ words }) => words === chosen) ?? operator)}
      />
      {picked.map((value) => {
        const remove = () => pick(picked.filter((one) => one !== value))
        const words = formatOperand(property, value)
        return <Button key={value} class="" label={`${words} ×`} aria-label={`Remove ${words}`} onClick={remove} />
      })}
      {operator.operand && <ValueField resource={resource} property={property} value={text} take={setText} />}
      {isAny && <Button type="submit" class="adds" label="Add" />}
      <Button type="submit" class="button primary" label="Apply" />
      <Button label="Cancel" onClick={close} />
    </form>
  )
}

interface FieldProps {
  readonly resource: Resource
  readonly property: Property
  readonly value: string
  take(value: string): void
}

const YES_OR_NO = [
  { name: 'true', words: 'yes' },
  { name: 'false', words: 'no' },
]

/** A field for a value, by its kind: yes or no, a date, a date-time, or a text with frequent values. */
function ValueField({ resource, property, value, take }: FieldProps) {
  const { kind } = property
  const inputMode = kind === 'text' || kind === 'oneOf' ? 'text' : 'decimal'
  const shared = { class: 'value', label: 'Value', value, take }
  if (kind === 'boolean') return <Select {...shared} options={YES_OR_NO} />
  if (kind === 'date') return <Field {...shared} type="date" />
  if (kind === 'instant') return <InstantField value={value} take={take} />
  return (
    <>
      <Field {...shared} list="frequent" autocomplete="off" inputMode={inputMode} />
      <Frequent resource={resource} property={property} />
    </>
  )
}

/** Fields for a day and a time in the chosen zone. A day without a time means midnight in this zone. */
function InstantField({ value, take }: Pick<FieldProps, 'value' | 'take'>) {
  const [day = '', time = ''] = toZone(value)?.split('T') ?? []
  const join = (newDay: string, newTime: string) => {
    const instant = newDay === '' ? '' : fromZone(`${newDay}T${newTime || '00:00'}`, value)
    // While somebody types a year such as 1985, the field first has a day of the year 1, which is no valid instant. Then nothing
    // is taken.
    if (instant !== null) take(instant)
  }
  return (
    <>
      <Field type="date" class="value" label="Day" value={day} take={(newDay) => join(newDay, time)} />
      <Field type="time" label={`Time, ${zoneLabel()}`} value={time.slice(0, 5)} take={(newTime) => join(day, newTime)} />
      <small>{zoneLabel()}</small>
    </>
  )
}

/** Suggests the most frequent values, which a summary returns, and the values that the OpenAPI document lists. */
function Frequent({ resource, property }: Pick<FieldProps, 'resource' | 'property'>) {
  const isAsked = resource.hasSummary && property.kind === 'text'
  const path = printPath(`${resource.plural}/Summary`, [], { groupBy: property.name, sort: '-count', PageSize: '20' })
  const { answer } = useAnswer<Row[]>(isAsked ? path : null, readJson)
  const found = (answer ?? []).map((group) => valueIn(group, property)).filter((value) => value !== null && value !== '')
  return (
    <datalist id="frequent">
      {[...new Set([...found.map(String), ...property.values])].map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  )
}

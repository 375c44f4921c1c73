// The start page of a person: what waits for her decision, her own rows, those of her team, and what else she may read.
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { type Asked, type Page, readJson, readPage, readTotal, useAnswer } from './api.ts'
import { Trouble } from './controls.tsx'
import { Decisions } from './decisions.tsx'
import { useEditing } from './editing.ts'
import { newWords } from './form.tsx'
import { formatCount } from './format.ts'
import { Items, itemProperties, sortOf } from './items.tsx'
import { nameIn } from './names.ts'
import { Pill } from './pills.tsx'
import { renewRights } from './renewRights.ts'
import { knownStore, lowerFirst, type Resource, type Row, valueIn, wordsOf } from './resources.ts'
import { type Creation, type Meaning, meaningOf, type Part, stateOf } from './rights.ts'
import type { Session } from './session.ts'
import { Store } from './store.ts'
import { Cell } from './table.tsx'
import { emptyView, printPath, printView, type View } from './view.ts'
import { unreadableWritables } from './writable.ts'
import { announce, writesStore } from './writes.ts'

/** Maximum rows of a list on this page; a link leads to all of them. */
const ROWS_MAX = 10
const TEAM_ROWS_MAX = 5
/** Maximum lists of each kind: rows to decide, rows of the person herself, and rows of her team. */
const PARTS_MAX = 2
/** Maximum requests of the page, not counting the requests for the OpenAPI document and the rights. */
const REQUESTS_MAX = 9
/** Maximum age of the rights, in ms: when the start page is opened, it reads older rights again. */
const FRESH_MS = 5_000
/** Maximum age of the page's data, in ms: when the reader comes back to the tab, the page reads older data again. */
const STALE_MS = 30_000
/** Maximum properties of the person's own record that are shown. */
const RECORD_MAX = 12

/**
 * Name of the person in her own row, with the id of her session. The header shows this name once the page knows it, because her
 * sign-in may write her name differently, such as with the last name first.
 */
export const ownNameStore = new Store({ sessionId: '', name: '' })

/** The page that a person sees first. */
export function Start({ session }: { readonly session: Session }) {
  const { resources, rights } = knownStore.value
  const meaning = useMemo(() => meaningOf(resources, rights), [resources, rights])
  const record = meaning.mine.find(({ id, words }) => id !== null && words === 'My record') ?? null
  const asked = useAnswer<Row>(record && `${record.resource.plural}/${record.id}`, readJson, String(writesStore.value))
  useFreshness()
  const lists = meaning.mine.filter((part) => part !== record)
  const totals = REQUESTS_MAX - requestsOf({ ...meaning, mine: lists })
  // A list of the person's own rows has a button for a new row. Other sections then have no second button for this collection.
  const creations = meaning.creations.filter(({ collection }) => !lists.some(({ resource }) => resource.plural === collection))
  return (
    <>
      <Greeting session={session} record={record} asked={asked} />
      {meaning.toDecide.slice(0, PARTS_MAX).map((part) => (
        <ToDecide
          key={part.resource.plural}
          part={part}
          isOfTeam={meaning.team.some(({ resource }) => resource === part.resource)}
        />
      ))}
      {lists.slice(0, PARTS_MAX).map((part) => (
        <Mine key={part.words + part.resource.plural} part={part} creations={meaning.creations} />
      ))}
      {meaning.team.slice(0, PARTS_MAX).map((part) => (
        <Team key={part.words} part={part} isCreatable={has(creations, part.resource.plural)} />
      ))}
      {record && <MyRecord part={record} asked={asked} />}
      <Others
        meaning={{ ...meaning, creations }}
        totals={totals}
        parts={[...lists.slice(PARTS_MAX), ...meaning.team.slice(PARTS_MAX)]}
      />
    </>
  )
}

/**
 * Hook that keeps the page up to date: reads the rights again when the page is opened, and everything when the reader comes back
 * to its tab.
 */
function useFreshness(): void {
  const readMs = useRef(Date.now())
  useEffect(() => {
    void renewRights(FRESH_MS)
    const onReturn = () => {
      if (document.visibilityState !== 'visible' || Date.now() - readMs.current < STALE_MS) return
      readMs.current = Date.now()
      announce('')
      void renewRights()
    }
    document.addEventListener('visibilitychange', onReturn)
    return () => document.removeEventListener('visibilitychange', onReturn)
  }, [])
}

/**
 * Returns the number of requests for the person's record and for all lists. Each list of her own rows may also need a request for
 * its totals by state.
 */
function requestsOf({ toDecide, mine, team }: Meaning): number {
  return 1 + Math.min(PARTS_MAX, toDecide.length) + 2 * Math.min(PARTS_MAX, mine.length) + Math.min(PARTS_MAX, team.length)
}

interface RecordProps {
  readonly part: Part
  readonly asked: Asked<Row>
}

interface GreetingProps {
  readonly session: Session
  readonly record: Part | null
  readonly asked: Asked<Row>
}

/** Greets the person by the name in her own row; without this name, by the name of her sign-in. */
function Greeting({ session: { id, label }, record, asked }: GreetingProps) {
  const isLoading = record !== null && asked.answer === null && asked.problem === null
  const own = record && asked.answer ? nameIn(record.resource, asked.answer) : ''
  const shown = isLoading ? '' : own || label
  useEffect(() => {
    if (own !== '') ownNameStore.set({ sessionId: id, name: own })
  }, [own])
  return (
    <h1>
      Hello{shown !== '' && ', '}
      <bdi>{shown}</bdi>
    </h1>
  )
}

interface SectionProps {
  readonly title: string
  readonly asked: Asked<Page> | null
  /** Link to all rows, and the words for it; undefined: there is only one row. */
  readonly all?: { readonly href: string; readonly words: string } | undefined
  /** Sentence for a part without rows. */
  readonly empty?: string
  /** Buttons beside the heading. */
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}

/** A part of the page, with its number of rows. An error in one part hides no other part. */
function Section({ title, asked, all, empty, actions, children }: SectionProps) {
  const total = asked?.answer?.total ?? null
  const id = `part-${title.toLowerCase().replace(/[^a-z]+/g, '-')}`
  return (
    <section class="part" aria-labelledby={id} aria-busy={asked !== null && asked.lateness > 0}>
      <div class="bar">
        <h2 id={id} tabIndex={-1}>
          {title} {all && total !== null && <span class="count">{formatCount(total)}</span>}
        </h2>
        {asked?.lateness === 2 && <span class="count">Loading …</span>}
        <span class="grow" />
        {actions}
        {all && total !== null && total > 0 && <a href={all.href}>{all.words}</a>}
      </div>
      {asked?.problem && <Trouble key={asked.problem} problem={asked.problem} retry={asked.retry} />}
      {total === 0 && empty && <p class="empty">{empty}</p>}
      {children}
    </section>
  )
}

/** Rows that wait for a decision of the person, the earliest date first. */
function ToDecide({ part, isOfTeam }: { readonly part: Part; readonly isOfTeam: boolean }) {
  const { resource, filters } = part
  const { rights } = knownStore.value
  const properties = itemProperties(resource, stateOf(resource, rights))
  const view = { sort: [sortOf(properties, false) ?? 'Id'] }
  const asked = useList(part, view, ROWS_MAX)
  const all = { href: hrefOf(part, view), words: `All ${lowerFirst(wordsOf(resource.plural))} to decide` }
  const isOneState = filters.some(({ name, values }) => name === properties.state?.name && values.length === 1)
  return (
    <Section
      title={`${wordsOf(resource.plural)} to decide`}
      asked={asked}
      all={all}
      empty={`Nothing to decide. You will find requests ${isOfTeam ? 'of your reports ' : ''}here.`}
    >
      {asked.answer && (
        <Items
          part={part}
          properties={isOneState ? { ...properties, state: null } : properties}
          rows={asked.answer.rows}
          view={view}
          actions={(row) => <Decisions resource={resource} row={row} isAdmitted isInList />}
        />
      )}
    </Section>
  )
}

/** The person's own row. */
function MyRecord({ part, asked }: RecordProps) {
  const { resource } = part
  const row = asked.answer
  const isEditable = (useEditing(resource, row) ?? []).length > 0
  const links = (
    <>
      {isEditable && (
        <a class="button" href={hrefOf(part, { row: part.id ?? '', form: 'edit' })}>
          Change
        </a>
      )}
      <a href={hrefOf(part, { row: part.id ?? '' })}>Open</a>
    </>
  )
  const isShown = (one: Resource['properties'][number]) => row !== null && one.name !== 'Id' && valueIn(row, one) !== null
  const named = resource.properties.filter(({ name }) => !resource.properties.some(({ copiedThrough }) => copiedThrough === name))
  return (
    <Section title={part.words} asked={null} actions={row && links}>
      {asked.problem && <Trouble key={asked.problem} problem={asked.problem} retry={asked.retry} />}
      {row && (
        <dl class="record">
          {named
            .filter(isShown)
            .slice(0, RECORD_MAX)
            .map((property) => (
              <div key={property.name}>
                <dt>{property.label}</dt>
                <dd>
                  <Cell resource={resource} property={property} row={row} view={null} />
                </dd>
              </div>
            ))}
        </dl>
      )}
    </Section>
  )
}

/** Rows that refer to the person, the newest first, with their totals by state. */
function Mine({ part, creations }: { readonly part: Part; readonly creations: readonly Creation[] }) {
  const { resource, words, filters } = part
  const state = stateOf(resource, knownStore.value.rights)
  const own = filters.map(({ name }) => name)
  const properties = itemProperties(resource, state, own)
  const sort = sortOf(properties, true)
  const view = { sort: sort ? [sort] : [] }
  const asked = useList(part, view, ROWS_MAX)
  const isCreatable = has(creations, resource.plural)
  return (
    <Section
      title={words}
      asked={asked}
      all={part.id === null ? { href: hrefOf(part, view), words: `All ${lowerFirst(words)}` } : undefined}
      empty={isCreatable ? `None yet. “${newWords(resource)}” makes the first.` : 'None yet.'}
      actions={isCreatable && <NewLink {...resource} />}
    >
      {asked.answer && state !== null && <States part={part} state={state} page={asked.answer} />}
      {asked.answer && (
        <Items
          part={part}
          properties={properties}
          rows={asked.answer.rows}
          view={view}
          actions={(row) => <Decisions resource={resource} row={row} isInList />}
        />
      )}
    </Section>
  )
}

interface StatesProps {
  readonly part: Part
  readonly state: string
  readonly page: Page
}

/**
 * Numbers of rows by state, each with a link to these rows. If the page has all rows, or the resource has no summary, the page
 * counts the rows that it has.
 */
function States({ part: { resource, filters }, state, page }: StatesProps) {
  const property = resource.properties.find(({ name }) => name === state)
  const isAsked = page.total > page.rows.length && resource.hasSummary
  const parameters = { groupBy: state, sort: '-count', PageSize: '20' }
  const { answer } = useAnswer<readonly Row[]>(
    isAsked ? printPath(`${resource.plural}/Summary`, filters, parameters) : null,
    readJson,
  )
  if (!property || page.total === 0) return null
  const counted = [...Map.groupBy(page.rows, (row) => valueIn(row, property))].map(([value, rows]) => ({
    value,
    count: rows.length,
  }))
  const asked = (answer ?? []).map((group) => ({ value: valueIn(group, property), count: Number(group.count) }))
  return (
    <p class="states">
      {(isAsked ? asked : counted).map(({ value, count }) => {
        const ofState = [...filters, { name: state, sign: '=', values: [String(value ?? '')] }]
        return (
          <a key={value} href={printView({ ...emptyView(resource.plural), filters: ofState })}>
            {value ? <Pill property={property} value={String(value)} /> : 'no value'} {formatCount(count)}
          </a>
        )
      })}
    </p>
  )
}

/** Rows of the person's team, department or company. */
function Team({ part, isCreatable }: { readonly part: Part; readonly isCreatable: boolean }) {
  const { resource, words } = part
  const properties = itemProperties(resource, stateOf(resource, knownStore.value.rights))
  const sort = sortOf(properties, true)
  const view = { sort: sort ? [sort] : [] }
  const asked = useList(part, view, TEAM_ROWS_MAX)
  return (
    <Section
      title={words}
      asked={asked}
      all={{ href: hrefOf(part, view), words: `All ${lowerFirst(words)}` }}
      empty="Nobody and nothing here yet."
      actions={isCreatable && <NewLink {...resource} />}
    >
      {asked.answer && <Items part={part} properties={properties} rows={asked.answer.rows} view={view} />}
    </Section>
  )
}

interface OthersProps {
  readonly meaning: Meaning
  /** Maximum number of resources for which the number of rows is requested. */
  readonly totals: number
  /** Parts beyond `PARTS_MAX`. The page shows only a link to each. */
  readonly parts: readonly Part[]
}

/** Links to what the sections above do not show: further rows that the person may read or create, in the order of the tabs. */
function Others({ meaning: { collections, views, creations, mine, toDecide, team }, totals, parts }: OthersProps) {
  const shown = [...collections, ...views]
  const unreadable = unreadableWritables()
  if (shown.length + unreadable.length + parts.length === 0) return null
  return (
    <Section title={toDecide.length + mine.length + team.length === 0 ? 'What you may see' : 'More'} asked={null}>
      <ul class="tiles">
        {parts.map((part) => (
          <li key={part.words}>
            <a href={hrefOf(part, {})}>{part.words}</a>
          </li>
        ))}
        {shown.map((resource, index) => (
          <li key={resource.plural}>
            <a href={printView(emptyView(resource.plural))}>{wordsOf(resource.plural)}</a>{' '}
            <Total resource={resource} isAsked={index < totals} />
            {has(creations, resource.plural) && <NewLink {...resource} />}
          </li>
        ))}
        {unreadable.map((writable) => (
          <li key={writable.plural}>
            {wordsOf(writable.plural)} <NewLink {...writable} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

const has = (creations: readonly Creation[], plural: string) => creations.some(({ collection }) => collection === plural)

function Total({ resource, isAsked }: { readonly resource: Resource; readonly isAsked: boolean }) {
  const { answer } = useAnswer(isAsked ? resource.plural : null, readTotal, '', 'HEAD')
  return answer === null ? null : <span class="count">{formatCount(answer)}</span>
}

/** Link to the form for a new row. */
function NewLink({ plural, entity }: Pick<Resource, 'plural' | 'entity'>) {
  return (
    <a class="button primary" href={printView({ ...emptyView(plural), form: 'new' })}>
      {newWords({ entity })}
    </a>
  )
}

/** Hook that asks for the first rows of a part. */
function useList({ resource, filters }: Part, { sort }: Pick<View, 'sort'>, size: number): Asked<Page> {
  return useAnswer(
    printPath(resource.plural, filters, { sort: sort.join(',') || undefined, PageSize: String(size) }),
    readPage,
    String(writesStore.value),
  )
}

function hrefOf({ resource, filters }: Part, view: Partial<View>): string {
  return printView({ ...emptyView(resource.plural), filters, ...view })
}

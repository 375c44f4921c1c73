import { suggest } from '../src/model/nearest.ts'
import type { Rows } from './data/table.ts'
import type { Operation } from './operation.ts'

export interface Scenario {
  /** What `--only` takes. */
  readonly name: string
  readonly title: string
  readonly operations: readonly Operation[]
  /** Runs beside them and is not in the row's figures, but for its CPU. */
  readonly background?: { readonly operations: readonly Operation[]; readonly rate: number }
  /** Which key the requests carry: one with all rights, none, or one whose limit is used up. Default: valid. */
  readonly key?: 'none' | 'exhausted'
}

/** An entry of the table: a scenario for any number of rows, from `absencesMin` on. */
type Entry = Omit<Scenario, 'operations' | 'background'> & {
  readonly absencesMin?: number
  /** Says little more than another one does: not for a quick run, unless it is asked for by name. */
  readonly isDetail?: boolean
  operations(rows: Rows): readonly Operation[]
  background?(rows: Rows): NonNullable<Scenario['background']>
}

/** No such scenario, or none at so few rows; the message is for who asked. */
export class UnknownScenario extends Error {}

const PAGE_SIZE = 20

const get = (path: string, more: Partial<Operation> = {}): Operation => ({ method: 'GET', path, status: 200, ...more })
const absences = (query: string) => () => [get(`/Absences?${query}`)]
const pageOf = (page: number) => ({ absencesMin: page * PAGE_SIZE })
const lastPage = (rows: Rows) => Math.ceil(rows.absences / PAGE_SIZE)

const create = (weight = 1): Operation => {
  return { method: 'POST', path: '/Companies', body: '{"Name":"Bench","Enabled":true}', status: 201, weight }
}

/** Both values, so that about every second request changes the row and its indexes. */
const patch = ({ companies }: Rows, weight = 1): Operation[] =>
  ['true', 'false'].map((enabled) => {
    const body = `{"Enabled":${enabled}}`
    return { method: 'PATCH', path: `/Companies/{1..${companies}}`, body, status: 200, weight: weight / 2 }
  })

/** A scenario is one entry. Every random value stands in the path, as `{1..N}`. */
const table: readonly Entry[] = [
  {
    name: 'one-by-id',
    title: 'one absence by a random id',
    operations: (rows) => [get(`/Absences/{1..${rows.absences}}`)],
  },
  { name: 'first-page', title: 'first page of all absences', operations: () => [get('/Absences')] },
  {
    name: 'filter-sort',
    title: 'absences of one status, the latest first',
    operations: absences('Status=Approved&sort=-Start'),
  },
  {
    name: 'different-lists',
    title: 'the same from a random id on: no request is like another',
    isDetail: true,
    operations: (rows) => absences(`Status=Approved&Id=%3E{1..${Math.ceil(rows.absences / 100)}}&sort=-Start`)(),
  },
  {
    name: 'range-sort',
    title: 'absences of one year, the latest first, 50 rows',
    operations: absences('Start=%3E%3D2023-01-01T00:00:00Z&Start=%3C2024-01-01T00:00:00Z&sort=-Start&PageSize=50'),
  },
  {
    name: 'range-sort-week',
    title: 'absences of one week, the latest first, 50 rows',
    isDetail: true,
    operations: absences('Start=%3E%3D2023-06-05T00:00:00Z&Start=%3C2023-06-12T00:00:00Z&sort=-Start&PageSize=50'),
  },
  {
    name: 'employee-absences',
    title: 'absences of a random employee',
    operations: (rows) => [get(`/Absences?EmployeeId={1..${rows.employees}}`)],
  },
  { name: 'page-2000', title: 'page 2,000 by number', ...pageOf(2_000), operations: absences('page=2000') },
  { name: 'page-20000', title: 'page 20,000 by number', ...pageOf(20_000), operations: absences('page=20000') },
  {
    name: 'page-2000-sorted',
    title: 'page 2,000 by number, sorted by start',
    ...pageOf(2_000),
    operations: absences('sort=Start&page=2000'),
  },
  {
    name: 'page-20000-sorted',
    title: 'page 20,000 by number, sorted by start',
    ...pageOf(20_000),
    operations: absences('sort=Start&page=20000'),
  },
  {
    name: 'last-page',
    title: 'last page by number, sorted by start',
    operations: (rows) => [get(`/Absences?sort=Start&page=${lastPage(rows)}`)],
  },
  { name: 'create', title: 'create a company', operations: () => [create()] },
  { name: 'patch', title: 'change a random company', operations: (rows) => patch(rows) },
  {
    name: 'crud-mix',
    title: 'companies: 75 % get, 15 % change, 5 % list, 5 % create',
    operations: (rows) => [
      get(`/Companies/{1..${rows.companies}}`, { weight: 75 }),
      ...patch(rows, 15),
      get('/Companies?sort=Name', { weight: 5 }),
      create(5),
    ],
  },
  {
    name: 'lists-under-writes',
    title: 'absences of one status, the latest first, while 100 companies are changed a second',
    operations: absences('Status=Approved&sort=-Start'),
    background: (rows) => ({ operations: patch(rows), rate: 100 }),
  },
  {
    name: 'unauthorized',
    title: 'refused for want of a key (401)',
    key: 'none',
    operations: (rows) => [get(`/Absences/{1..${rows.absences}}`, { status: 401 })],
  },
  {
    name: 'refused',
    title: 'refused by the limit of the key (429)',
    key: 'exhausted',
    operations: (rows) => [get(`/Absences/{1..${rows.absences}}`, { status: 429 })],
  },
]

/** The scenarios that there are at so many rows, or those of them that `only` names. @throws UnknownScenario */
export function scenariosFor(rows: Rows, only: readonly string[] = [], isQuick = false): Scenario[] {
  for (const name of only) requireKnown(name, rows)
  const chosen = table.filter(({ name, isDetail }) =>
    only.length === 0 ? !(isQuick && isDetail) : only.includes(name),
  )
  return chosen.filter((entry) => isPossible(entry, rows)).map((entry) => scenarioOf(entry, rows))
}

/** Whether it changes rows, which then have to be set back. */
export function isWriting({ operations, background }: Scenario): boolean {
  return [...operations, ...(background?.operations ?? [])].some(({ method }) => method !== 'GET')
}

/** Whether the server refuses it before it asks the database. */
export function isRefusal({ operations }: Scenario): boolean {
  return operations.every(({ status }) => status >= 400)
}

function scenarioOf({ operations, background, absencesMin: _, isDetail: __, ...entry }: Entry, rows: Rows): Scenario {
  return {
    ...entry,
    operations: operations(rows),
    ...(background ? { background: background(rows) } : {}),
  }
}

function isPossible({ absencesMin = 0 }: Entry, { absences }: Rows): boolean {
  return absences >= absencesMin
}

function requireKnown(name: string, rows: Rows) {
  const names = table.map((entry) => entry.name)
  const entry = table.find((candidate) => candidate.name === name)
  if (!entry)
    throw new UnknownScenario(`there is no scenario ${name}.${suggest(name, names)} There are ${names.join(', ')}.`)
  if (!isPossible(entry, rows)) throw new UnknownScenario(`${name} needs at least ${entry.absencesMin} absences.`)
}

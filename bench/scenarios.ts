import { suggest } from '../src/model/nearest.ts'
import type { Rows } from './data/rows.ts'

/** One kind of request, for the load program and for the peers. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT'
  /** Path and query as Roster takes them. `{1..1000}` here or in the body is drawn for each request: see `load/draws.mjs`. */
  readonly path: string
  /** JSON; none for a GET. */
  readonly body?: string
  /** Any other status voids the row. */
  readonly status: number
}

export interface Scenario {
  /** What `--only` takes. */
  readonly name: string
  readonly title: string
  readonly operations: readonly Operation[]
  /** Runs beside them and is not in the row's figures, but for its CPU time. */
  readonly background?: { readonly operations: readonly Operation[]; readonly rate: number }
  /** Servers give up their lists before each round, so that no figure depends on the number of rounds. */
  readonly isCold?: boolean
  /** Each request asks for a list that was not asked before. Peers are also measured with indexes for these lists. */
  readonly isNew?: boolean
  /** No other server can do it. */
  readonly isOurs?: boolean
  /** The load has at most so many. */
  readonly connectionsMax?: number
}

/** No such scenario, or none at so few rows; the message is for who asked. */
export class UnknownScenario extends Error {}

const PAGE_SIZE = 20
const DEEP_PAGE = 20_000
const WRITES_PER_SECOND = 100
const ROWS_OF_BULK = 100
/** So many bodies with several rows are taken of one key at a time. */
const BULKS_AT_ONCE = 4
/** `src/seed` draws one of four statuses for 15 of 16 absences: so large a part has each of them, whatever chance does. */
const PART_OF_STATUS = 0.2

/** How long the ranges of new lists are; each is up to a day longer. */
const NEW_DAYS = 60
/** `src/seed` lets as many absences begin on each of these days, and 15 of 16 begin on one. */
const DAYS_OF_ALL = 3_653
/** From one random second to another: a range hardly comes twice among 10^13. */
const range = `Start=%3E%3D{2016-07-01..2025-11-01}&Start=%3C{${NEW_DAYS}d..${NEW_DAYS + 1}d}`
const latest = 'Status=Approved&sort=-Start'
const newLatest = `Status=Approved&${range}&sort=-Start`
const pagesOfNew = (absences: number) => pagesOf((0.9 * PART_OF_STATUS * absences * NEW_DAYS) / DAYS_OF_ALL)

const get = (path: string): Operation[] => [{ method: 'GET', path, status: 200 }]
const pagesOf = (count: number) => Math.max(1, Math.floor(count / PAGE_SIZE))
const patches = (path: string, bodies: readonly unknown[]): Operation[] =>
  bodies.map((body) => ({ method: 'PATCH', path, body: JSON.stringify(body), status: 200 }))

/** A scenario is one entry. Every random value stands in the path or is a whole value of the body. */
function allFor({ absences, companies }: Rows): readonly Scenario[] {
  const company = `/Companies/{1..${companies}}`
  // Into the lists of the approved and out of them.
  const changes = patches(`/Absences/{1..${absences}}`, [{ Status: 'Approved' }, { Status: 'Requested' }])
  const background = { operations: changes, rate: WRITES_PER_SECOND }
  return [
    { name: 'one-by-id', title: 'one absence by a random id', operations: get(`/Absences/{1..${absences}}`) },
    { name: 'first-page', title: 'first page of all absences', operations: get('/Absences') },
    { name: 'filter-sort', title: 'absences of one status, the latest first', operations: get(`/Absences?${latest}`) },
    {
      name: 'random-pages',
      title: 'a random page, by its number, of absences of one status, the latest first',
      isCold: true,
      operations: get(`/Absences?${latest}&page={1..${pagesOf(PART_OF_STATUS * absences)}}`),
    },
    {
      name: 'new-lists',
      title: `never asked before: absences of one status that begin within ${NEW_DAYS} days, the latest first`,
      isNew: true,
      operations: get(`/Absences?${newLatest}`),
    },
    {
      name: 'new-lists-random-pages',
      title: `never asked before: a random page, by its number, of absences of one status that begin within ${NEW_DAYS} days, the latest first`,
      isNew: true,
      operations: get(`/Absences?${newLatest}&page={1..${pagesOfNew(absences)}}`),
    },
    {
      name: 'new-conditions',
      title: `never asked before: holidays of 16 hours or more that begin within ${NEW_DAYS} days, sorted by start`,
      isNew: true,
      operations: get(`/Absences?Period.Hours=%3E%3D16&Type=Holiday&${range}&sort=Start`),
    },
    {
      name: 'new-any',
      title: `never asked before: absences of two statuses (Status[]) that begin within ${NEW_DAYS} days, the latest first`,
      isNew: true,
      operations: get(`/Absences?Status%5B%5D=Approved&Status%5B%5D=Requested&${range}&sort=-Start`),
    },
    {
      name: 'new-contains',
      title: 'never asked before: employees who started since a second and whose number contains four digits',
      isNew: true,
      operations: get(
        '/Employees?EmployeeNumber%5Bcontains%5D={1000..9999}&Started=%3E%3D{2016-07-01..2025-11-01}&sort=LastName',
      ),
    },
    {
      name: 'new-lists-under-writes',
      title: `never asked before: absences of one status that begin within ${NEW_DAYS} days, the latest first, while the status of 100 absences is changed a second`,
      isNew: true,
      operations: get(`/Absences?${newLatest}`),
      background,
    },
    {
      name: 'page-20000-sorted',
      title: 'page 20,000 by number, sorted by start',
      operations: get(`/Absences?sort=Start&page=${DEEP_PAGE}`),
    },
    {
      name: 'lists-under-writes',
      title: 'absences of one status, the latest first, while the status of 100 absences is changed a second',
      operations: get(`/Absences?${latest}`),
      background,
    },
    {
      name: 'create',
      title: 'create a company',
      operations: [{ method: 'POST', path: '/Companies', body: '{"Name":"Bench","Enabled":true}', status: 201 }],
    },
    {
      name: 'create-100',
      title: 'create 100 companies by one request, over four connections',
      isOurs: true,
      connectionsMax: BULKS_AT_ONCE,
      operations: [
        {
          method: 'POST',
          path: '/Companies',
          body: JSON.stringify(Array(ROWS_OF_BULK).fill({ Name: 'Bench' })),
          status: 201,
        },
      ],
    },
    {
      name: 'patch',
      title: 'change a random company',
      operations: patches(company, [{ Enabled: true }, { Enabled: false }]),
    },
    {
      name: 'rename',
      title: 'change the name of a random company, of which about five employees have a copy',
      operations: patches(company, [{ Name: 'Bench' }, { Name: 'Bench and Sons' }]),
    },
  ]
}

/** The scenarios that there are at so many rows, or those of them that `only` names. @throws UnknownScenario */
export function scenariosFor(rows: Rows, only: readonly string[] = []): readonly Scenario[] {
  const all = allFor(rows)
  const names = all.map(({ name }) => name)
  const unknown = only.find((name) => !names.includes(name))
  if (unknown)
    throw new UnknownScenario(`there is no scenario ${unknown}.${suggest(unknown, names)} There are ${names.join(', ')}.`)
  const possible = all.filter(({ name }) => name !== 'page-20000-sorted' || rows.absences >= DEEP_PAGE * PAGE_SIZE)
  const chosen = only.length === 0 ? possible : possible.filter(({ name }) => only.includes(name))
  if (chosen.length === 0) throw new UnknownScenario(`${only} needs at least ${DEEP_PAGE * PAGE_SIZE} absences.`)
  return chosen
}

/** Whether it changes rows, which then have to be set back. */
export function isWriting({ operations, background }: Scenario): boolean {
  return [...operations, ...(background?.operations ?? [])].some(({ method }) => method !== 'GET')
}

/** Operations that read, whose answers can be compared. */
export function readsOf(scenarios: readonly Scenario[]): Operation[] {
  return scenarios.flatMap(({ operations }) => operations.filter(({ method }) => method === 'GET'))
}

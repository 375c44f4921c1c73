import { suggest } from '../src/model/nearest.ts'
import { anyKeyOf, type Clients, clientsFor, listOfReader, requestOf, withFields } from './clients.ts'
import type { Rows } from './data.ts'
import { type Kind, kindsFor, NEW_DAYS, NEW_RANGE, NEW_STATUS, PART_OF_STATUS } from './kinds.ts'
import { fillDraws } from './load/requests.mjs'
import { createsWithNewNames, listsByNameFor } from './names.ts'
import type { Operation } from './operation.ts'
import { clientOfPersons, filtersOfPerson, PERSONS_MAX } from './persons.ts'

export interface Scenario {
  /** Name for `--only`. */
  readonly name: string
  readonly title: string
  readonly operations: readonly Operation[]
  /** Load that runs at the same time. Of this load, the figures contain only the CPU time. */
  readonly background?: { readonly operations: readonly Operation[]; readonly rate: number }
  /** Lists of other kinds. A new server gets them before each round, and is compared with a new server that does not get them. */
  readonly after?: readonly { readonly kind: string; readonly operation: Operation }[]
  /** True if no list is requested twice. Peers are then also measured with indexes for these lists. */
  readonly isNew?: boolean
  /**
   * Number of persons who send requests with tokens, in turns with the same number of keys. Undefined: only keys send requests.
   */
  readonly persons?: number
}

/** Name for `--only` that selects the scenarios of docs/benchmarks.md: measuring all scenarios takes hours. */
export const PAGE = 'page'
const OF_PAGE = [
  'one-by-id',
  'first-page',
  'filter-sort',
  'new-lists',
  'new-lists-random-pages',
  'new-conditions',
  'new-lists-under-writes',
  'summaries-month',
  'summaries-department',
  'related',
  'lists-under-writes',
  'kinds',
  'names-under-creates',
  'create',
  'patch',
  'rename',
]

/** Thrown if a scenario does not exist, or needs more rows; the message is for the caller. */
export class UnknownScenario extends Error {}

const PAGE_SIZE = 20
const DEEP_PAGE = 20_000
const WRITES_PER_SECOND = 100
/** Number of days on which absences begin: `src/seed` gives 15 of 16 absences one of these at random. */
const DAYS_OF_ALL = 3_653
/** A range for summaries, with 77 to 82 % of the absences. */
const longRange = 'Start=%3E%3D{2016-01-01..2017-01-01}&Start=%3C{3000d..3200d}'
const sameRange = 'Start=%3E%3D2016-07-01T00:00:00Z&Start=%3C2025-01-01T00:00:00Z'
const byMonth = 'groupBy=Type,month(Start)&sum=Period.Days'
const byEmployee = 'groupBy=EmployeeId&sum=Period.Days&sort=-sum(Period.Days)'
const byDepartment = 'groupBy=EmployeeId.Department&sum=Period.Days'
const anyDepartment = '{Engineering|Operations|Sales|Finance|People|Marketing|Research|Legal|Logistics|Facilities}'
const latest = 'Status=Approved&sort=-Start'
const newLatest = `Status=Approved&${NEW_RANGE}&sort=-Start`

const oneStatus = 'absences of one status'
const whileWriting = 'the latest first, while the status of 100 absences is changed a second'
const monthTitle = 'four fifths of all absences by type and month, with the sum of their days'
const employeeTitle = 'four fifths of all absences by employee, sorted by the sum of their days'
const relatedTitle = 'absences of the employees of one department who started after a random second, the latest first'
const departmentTitle = 'four fifths of all absences by the department of their employee, with the sum of their days'
const mixedTitle = `never asked before: ${NEW_STATUS}, the latest first, and a change of an absence for each nine of them`
const kindsTitle = 'lists of several kinds beside each other'
const kindsWritingTitle = `never asked before: ${kindsTitle}, while 100 absences are changed a second, a third of them in Start`
const namesTitle = 'never asked before: lists of employees by their names, while 100 with new names are created a second'
const renameTitle = 'change the name of a random company, of which about five employees have a copy'

const get = (name: string, title: string, path: string, more: Partial<Scenario> = {}): Scenario => {
  return { name, title, operations: [{ method: 'GET', path, status: 200 }], ...more }
}
const getNew = (name: string, title: string, path: string, more: Partial<Scenario> = {}) =>
  get(name, `never asked before: ${title}`, path, { isNew: true, ...more })
const patches = (path: string, bodies: readonly unknown[]): Operation[] =>
  bodies.map((body) => ({ method: 'PATCH', path, body: JSON.stringify(body), status: 200 }))

const listOf = ({ query }: Kind): Operation => ({ method: 'GET', path: `/Absences?${query}`, status: 200 })
const middleOf = ({ low, high }: { low: number; high: number }) => Math.floor((low + high) / 2)

/** Returns all scenarios for tables with these numbers of rows. `after`: kinds of lists to request before a kind is measured. */
function allFor(rows: Rows, after: readonly string[]): readonly Scenario[] {
  const { absences, companies } = rows
  const company = `/Companies/{1..${companies}}`
  const newPages = Math.max(1, Math.floor((0.9 * PART_OF_STATUS * absences * NEW_DAYS) / DAYS_OF_ALL / PAGE_SIZE))
  const pages = `/Absences?${newLatest}&page={1..${newPages}}`
  const conditions = `Period.Hours=%3E%3D16&Type=Holiday&${NEW_RANGE}&sort=Start`
  const body = '{"Name":"Bench","Enabled":true}'
  const names = patches(company, [{ Name: 'Bench' }, { Name: 'Bench and Sons' }])
  const enabled = patches(company, [{ Enabled: true }, { Enabled: false }])
  // These changes move absences into the list of approved absences, and out of it.
  const changes = patches(`/Absences/{1..${absences}}`, [{ Status: 'Approved' }, { Status: 'Requested' }])
  const background = { operations: changes, rate: WRITES_PER_SECOND }
  const moves = patches(`/Absences/{1..${absences}}`, [{ Start: '{2016-07-01..2025-11-01}', End: '{1d..15d}' }])
  const kinds = kindsFor(rows)
  const newKinds = kinds.map((kind) => ({ ...listOf(kind), kind: kind.name }))
  const sameKinds = newKinds.map((operation) => ({ ...operation, path: fillDraws(operation.path, middleOf) }))
  const newList: Operation = { method: 'GET', path: `/Absences?${newLatest}`, status: 200 }
  return [
    get('one-by-id', 'one absence by a random id', `/Absences/{1..${absences}}`),
    get('first-page', 'first page of all absences', '/Absences'),
    get('filter-sort', `${oneStatus}, the latest first`, `/Absences?${latest}`),
    getNew('new-lists', `${NEW_STATUS}, the latest first`, `/Absences?${newLatest}`),
    getNew('new-lists-random-pages', `a random page, by its number, of ${NEW_STATUS}, the latest first`, pages),
    getNew(
      'new-conditions',
      'holidays of 16 hours or more that begin within 60 days, sorted by start',
      `/Absences?${conditions}`,
    ),
    getNew('new-lists-under-writes', `${NEW_STATUS}, ${whileWriting}`, `/Absences?${newLatest}`, { background }),
    getNew('summaries-month', monthTitle, `/Absences/Summary?${longRange}&${byMonth}`),
    getNew('summaries-employee', employeeTitle, `/Absences/Summary?${longRange}&${byEmployee}`),
    getNew('summaries-department', departmentTitle, `/Absences/Summary?${longRange}&${byDepartment}`),
    getNew(
      'related',
      relatedTitle,
      `/Absences?EmployeeId.Department=${anyDepartment}&EmployeeId.Started=%3E{2016-01-01..2025-11-01}&sort=-Start`,
    ),
    get('summaries-again', `asked again: ${monthTitle}`, `/Absences/Summary?${sameRange}&${byMonth}`),
    get('page-20000-sorted', 'page 20,000 by number, sorted by start', `/Absences?sort=Start&page=${DEEP_PAGE}`),
    get('lists-under-writes', `${oneStatus}, ${whileWriting}`, `/Absences?${latest}`, { background }),
    { name: 'kinds', title: `never asked before: ${kindsTitle}`, operations: newKinds, isNew: true },
    { name: 'kinds-again', title: `asked again: ${kindsTitle}`, operations: sameKinds },
    {
      name: 'kinds-under-writes',
      title: kindsWritingTitle,
      operations: newKinds,
      isNew: true,
      background: { operations: [...changes, ...moves], rate: WRITES_PER_SECOND },
    },
    {
      name: 'names-under-creates',
      title: namesTitle,
      operations: listsByNameFor(rows),
      isNew: true,
      background: { operations: createsWithNewNames(rows), rate: WRITES_PER_SECOND },
    },
    ...kinds.map((kind) => ({
      name: `kind-${kind.name}`,
      title: `never asked before: ${kind.title}`,
      operations: [listOf(kind)],
      isNew: true,
      after: othersOf(kind, kinds, after).map((other) => ({ kind: other.name, operation: listOf(other) })),
    })),
    { name: 'mixed', title: mixedTitle, operations: [...Array(18).fill(newList), ...changes], isNew: true },
    { name: 'create', title: 'create a company', operations: [{ method: 'POST', path: '/Companies', body, status: 201 }] },
    { name: 'patch', title: 'change a random company', operations: enabled },
    { name: 'rename', title: renameTitle, operations: names },
    ...restrictedFor(rows),
  ]
}

/** Returns the scenarios of keys with few rights, each with the same requests as keys with all rights send them. */
function restrictedFor(rows: Rows): readonly Scenario[] {
  const clients = clientsFor(rows)
  const { approved, person } = clients
  const ofApproved = 'by a key of approved absences'
  const afterSecond = 'Start=%3E{2016-01-01..2019-01-01}&sort=-Start'
  const list = (name: string, title: string, operation: Operation): Scenario => {
    return { name, title: `never asked before, ${title}`, operations: [operation], isNew: true }
  }
  return [
    list(
      'right-range',
      `${ofApproved}: those that begin within ${NEW_DAYS} days, the latest first`,
      listOfReader(approved, `${NEW_RANGE}&sort=-Start`),
    ),
    list(
      'right-open',
      `${ofApproved}: those after a random second of three years, the latest first`,
      listOfReader(approved, afterSecond),
    ),
    {
      name: 'right-again',
      title: `asked again, ${ofApproved}: the latest first`,
      operations: [listOfReader(approved, 'sort=-Start')],
    },
    list(
      'right-employee',
      `by ${person.keys} keys of the absences of one employee each: those after a random second, the latest first`,
      listOfReader(person, afterSecond),
    ),
    personsFor(rows),
    ...ofRows(rows, clients),
  ]
}

/** Returns the scenario of persons. Its operation also has a key with the same kind of rights. */
function personsFor({ employees }: Rows): Scenario {
  const persons = Math.min(PERSONS_MAX, employees)
  const path = '/Absences?Start=%3E{2016-01-01..2019-01-01}&sort=-Start'
  const number = `{1..${persons}!}`
  // A key with all rights would send this path; the answers are checked with it.
  const whole = { path: `${path}&${filtersOfPerson(number)}`, key: anyKeyOf(clientOfPersons(persons)) }
  const title = `never asked before, by ${persons} persons of their own absences each: those after a random second, the latest first`
  const operation: Operation = { method: 'GET', path, status: 200, key: number, whole }
  return { name: 'persons', title, operations: [operation], isNew: true, persons }
}

/** Returns scenarios in which keys with few rights read or write one row. */
function ofRows({ absences, companies, employees }: Rows, { almost, clerk }: Clients): readonly Scenario[] {
  const absence = `/Absences/{1..${absences}}`
  const company = `/Companies/{1..${companies}}`
  const dates = '"Start":"{2016-07-01..2025-11-01}","End":"{1d..15d}"'
  const created = `"EmployeeId":{1..${employees}},"Type":"Holiday",${dates}`
  const byId: Operation = { method: 'GET', path: absence, status: 200 }
  const create: Operation = { method: 'POST', path: '/Companies', body: '{"Name":"Bench","Enabled":true}', status: 201 }
  const request: Operation = { method: 'POST', path: '/Absences', body: `{${created}}`, status: 201 }
  const enable = patches(company, [{ Enabled: true }, { Enabled: false }])
  const approve = patches(absence, [{ Status: 'Approved' }, { Status: 'Requested' }])
  const scenario = (name: string, title: string, operations: Operation[], whole?: Partial<Operation>): Scenario => {
    return { name, title, operations: operations.map((operation) => requestOf(clerk, operation, whole)) }
  }
  return [
    {
      name: 'right-by-id',
      title: 'by a key of almost all absences: one by a random id',
      operations: [requestOf(almost, byId, { path: withFields(absence) })],
    },
    scenario('right-create', 'by a key that creates enabled companies: create one', [create]),
    scenario('right-create-absence', 'by a key that requests absences: request one of a random employee', [request], {
      body: `{${created},"Status":"Requested"}`,
    }),
    scenario('right-patch', 'by a key that enables and disables companies: change a random one', enable),
    scenario('right-patch-absence', 'by a key that approves absences: change a random one', approve),
  ]
}

/** Returns the scenarios of keys with all rights. @throws UnknownScenario if there are none */
export function unrestricted(scenarios: readonly Scenario[], reason: string): readonly Scenario[] {
  const found = scenarios.filter((scenario) => !isRestricted(scenario))
  if (found.length > 0) return found
  throw new UnknownScenario(`${scenarios.map(({ name }) => name)}: keys of few rights are not measured with ${reason}.`)
}

/** True if keys with few rights send the requests. */
export function isRestricted({ operations }: Pick<Scenario, 'operations'>): boolean {
  return operations.some(({ key }) => key !== undefined)
}

/** Returns the kinds of lists that are requested before a kind is measured. @throws UnknownScenario */
function othersOf({ name }: Kind, kinds: readonly Kind[], after: readonly string[]): readonly Kind[] {
  const names = kinds.map((kind) => kind.name)
  const unknown = after.find((wanted) => wanted !== 'all' && !names.includes(wanted))
  if (unknown) throw new UnknownScenario(`there is no kind ${unknown}.${suggest(unknown, names)} There are ${names.join(', ')}.`)
  const wanted = after.length > 0 ? after : [name === 'employee' ? 'range' : 'employee']
  return kinds.filter((kind) => kind.name !== name && (wanted.includes('all') || wanted.includes(kind.name)))
}

/**
 * Returns the scenarios that are possible with these rows, or only those that `only` names; `PAGE` selects several. `after`:
 * kinds of lists to request before a kind is measured; `all`: each other kind. @throws UnknownScenario
 */
export function scenariosFor(rows: Rows, only: readonly string[] = [], after: readonly string[] = []): readonly Scenario[] {
  const all = allFor(rows, after)
  const names = all.map(({ name }) => name)
  const wanted = only.flatMap((name) => (name === PAGE ? OF_PAGE : name))
  const unknown = wanted.find((name) => !names.includes(name))
  if (unknown)
    throw new UnknownScenario(`there is no scenario ${unknown}.${suggest(unknown, names)} There are ${names.join(', ')}.`)
  const possible = all.filter(({ name }) => name !== 'page-20000-sorted' || rows.absences >= DEEP_PAGE * PAGE_SIZE)
  const chosen = only.length === 0 ? possible : possible.filter(({ name }) => wanted.includes(name))
  if (chosen.length === 0) throw new UnknownScenario(`${only} needs at least ${DEEP_PAGE * PAGE_SIZE} absences.`)
  return chosen
}

/** Returns all operations of a scenario, those of the background last. */
export function operationsOf({ operations, background }: Pick<Scenario, 'operations' | 'background'>): Operation[] {
  return [...operations, ...(background?.operations ?? [])]
}

/** True if the scenario changes rows. */
export function isWriting(scenario: Scenario): boolean {
  return operationsOf(scenario).some(({ method }) => method !== 'GET')
}

/** Returns the operations that read, whose answers can be compared. */
export function readsOf(scenarios: readonly Scenario[]): Operation[] {
  return [...new Set(scenarios.flatMap(({ operations }) => operations.filter(({ method }) => method === 'GET')))]
}

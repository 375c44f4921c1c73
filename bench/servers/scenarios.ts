import { suggest } from '../../src/model/nearest.ts'
import type { Rows } from '../data/table.ts'
import { newLists } from '../neverAsked.ts'
import type { Operation } from '../operation.ts'
import { UnknownScenario } from '../scenarios.ts'
import { create, patch, patchAbsence } from '../writes.ts'

/** What all servers of a side are asked at the same time. */
export interface ServersScenario {
  readonly name: string
  readonly operations: readonly Operation[]
  /** In place of those of the run. */
  readonly connections?: number
  /** Changes of absences by a writer that is no server, a second. */
  readonly foreignWrites?: number
  /** Each worker has the absences in columns before it is measured. */
  readonly inColumns?: boolean
}

const FOREIGN_WRITES_PER_SECOND = 100
const get = (path: string, weight = 1): Operation => ({ method: 'GET', path, status: 200, weight })

/** Of 100 requests 45 are for one of these lists, 45 for a row, and 10 are writes. */
const LISTS = [
  '/Absences?Status=Approved&sort=-Start',
  '/Absences?Status=Requested&sort=-Start',
  '/Absences?sort=-Start',
  '/Absences',
  '/Absences?Status=Declined',
  '/Absences?Type=Holiday&sort=-Start',
]

const mixed = (rows: Rows): Operation[] => [
  ...LISTS.map((path) => get(path, 45 / LISTS.length)),
  get(`/Absences/{1..${rows.absences}}`, 45),
  ...patchAbsence(rows).map((operation) => ({ ...operation, weight: 5 })),
]

/** One server against two. */
const ofLayouts = (rows: Rows): ServersScenario[] => [
  { name: 'two-servers', operations: mixed(rows) },
  { name: 'create', operations: [create()] },
  { name: 'patch', operations: patch(rows) },
  { name: 'patch-absence', operations: patchAbsence(rows) },
  { name: 'one-by-id', operations: [get(`/Absences/{1..${rows.absences}}`)] },
  {
    name: 'new-lists-foreign-writes',
    operations: [get(`/Absences?${newLists}`)],
    foreignWrites: FOREIGN_WRITES_PER_SECOND,
    inColumns: true,
  },
]

/** One way of hearing of changes against the other. */
const ofWays = (rows: Rows): ServersScenario[] => [
  { name: 'create-one-connection', operations: [create()], connections: 1 },
  { name: 'create', operations: [create()] },
  { name: 'patch-absence-one-connection', operations: patchAbsence(rows), connections: 1 },
  { name: 'patch-absence', operations: patchAbsence(rows) },
]

/** One server whose writes cost more against one whose do not. */
const ofCosts = (rows: Rows): ServersScenario[] => [
  { name: 'create', operations: [create()] },
  { name: 'patch', operations: patch(rows) },
]

const TABLES = { layouts: ofLayouts, ways: ofWays, costs: ofCosts }

/** Those of the comparison that `only` names, or all. @throws UnknownScenario */
export function scenariosOf(kind: keyof typeof TABLES, rows: Rows, only: readonly string[]): ServersScenario[] {
  const all = TABLES[kind](rows)
  const names = all.map(({ name }) => name)
  for (const name of only)
    if (!names.includes(name))
      throw new UnknownScenario(`there is no scenario ${name}.${suggest(name, names)} There are ${names.join(', ')}.`)
  return all.filter(({ name }) => only.length === 0 || only.includes(name))
}

/** Lists that each request of it asks for again, so that a server may have them in memory. */
export function repeatedLists({ operations }: ServersScenario): string[] {
  return operations.flatMap(({ method, path }) => (method === 'GET' && !path.includes('{') ? [path] : []))
}

export function isWriting({ operations, foreignWrites = 0 }: ServersScenario): boolean {
  return foreignWrites > 0 || operations.some(({ method }) => method !== 'GET')
}

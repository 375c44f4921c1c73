import { suggest } from '../src/model/nearest.ts'
import type { Rows } from './data/table.ts'
import type { Operation } from './operation.ts'
import type { Entry, Scenario } from './scenario.ts'
import { table } from './scenarioTable.ts'

export type { Scenario } from './scenario.ts'

/** No such scenario, or none at so few rows; the message is for who asked. */
export class UnknownScenario extends Error {}

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

/** Those that read and succeed, whose answers can be compared. */
export function readsOf(scenarios: readonly Scenario[]): Operation[] {
  return scenarios.flatMap(({ operations }) =>
    operations.filter(({ method, status }) => method === 'GET' && status === 200),
  )
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

// What it costs to read a query string: `node src/launch.mjs bench/micro/query.ts`. Beside it, as the measure of the
// decoder, the platform's own `URLSearchParams`.
import absence from '../../src/entities/absence.ts'
import employee from '../../src/entities/employee.ts'
import type { Entity } from '../../src/model/entity.ts'
import { parseList } from '../../src/parse/list.ts'
import { parseQueryString } from '../../src/parse/queryString.ts'
import { type Case, measure, printCosts, ROUND_MS, ROUNDS } from './measure.ts'

interface Query {
  readonly name: string
  readonly entity: Entity
  /** Of the turn `n`: the same shape each time with other values. */
  readonly text: (n: number) => string
}

/** Digits, each of them percent-encoded. */
const LONG_NUMBER = '%31'.repeat(80)

/** Close to the 8 KiB of a request's target, with as many filters as there may be. */
function worst(n: number): string {
  const days = Array.from({ length: 28 }, () => `Period%2EDays=%3E%3D0%2E${LONG_NUMBER}`)
  const instants = ['Start', 'End'].flatMap((name) => [
    `${name}=%3E%3D2024-01-${day(n)}T23%3A59%3A59.999%2B23%3A59`,
    `${name}=%3C2025-01-${day(n)}T00%3A00%3A00%2D23%3A59`,
  ])
  const sorts = absence.properties.map((property) => `%2D${property.name}`)
  return [...instants, ...days, `sort=${sorts.join('%2C')}`, `page=${n}`].join('&')
}

export const queries: readonly Query[] = [
  { name: 'nothing', entity: absence, text: () => '' },
  { name: 'a page', entity: absence, text: (n) => `PageSize=50&page=${n}` },
  { name: 'one filter', entity: absence, text: (n) => `EmployeeId=${n}` },
  {
    name: 'filter, sort, page',
    entity: absence,
    text: (n) => `Status=Approved&sort=-Start&PageSize=5&page=${n}`,
  },
  {
    name: 'range, sort',
    entity: absence,
    text: (n) =>
      `Start=%3E%3D2024-01-${day(n)}T00%3A00%3A00Z&Start=%3C2024-02-${day(n)}T00%3A00%3A00Z&sort=-Start&PageSize=50`,
  },
  {
    name: 'names and text encoded',
    entity: employee,
    text: (n) => `LastName=%C3%96berg+${n}&JobTitle=!%3DHead%20of%20R%26D&sort=LastName,-Started`,
  },
  { name: 'worst: 32 filters, 11 sorts', entity: absence, text: worst },
]

/** Other texts than before, so that no cache of the engine's answers. */
const TEXTS = 64

export function queryCases(): Case[] {
  return queries.flatMap(({ name, entity, text }): Case[] => {
    const texts = Array.from({ length: TEXTS }, (_, index) => text(index + 1))
    const textOf = (turn: number) => texts[turn % TEXTS] as string
    return [
      { name, operation: 'URLSearchParams', work: (turn) => [...new URLSearchParams(textOf(turn))] },
      { name, operation: 'parseQueryString', work: (turn) => parseQueryString(textOf(turn)) },
      { name, operation: 'parseList', work: (turn) => parseList(entity, textOf(turn)) },
    ]
  })
}

/** `01` to `28`. */
function day(n: number): string {
  return String(1 + (n % 28)).padStart(2, '0')
}

if (import.meta.main) printCosts(await measure(queryCases(), ROUND_MS, ROUNDS))

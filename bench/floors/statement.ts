import { compileCreate, compileGet, compileUpdate } from '../../src/compile/entity.ts'
import { compileList, compileRows } from '../../src/compile/list.ts'
import type { Entity } from '../../src/model/entity.ts'
import { JsonNumber } from '../../src/model/kinds.ts'
import type { Statement } from '../../src/model/sql.ts'
import { parseComplete, parsePartial } from '../../src/parse/assignments.ts'
import { readBody } from '../../src/parse/body.ts'
import { parseList } from '../../src/parse/list.ts'
import { loadEntities } from '../../src/registry.ts'
import { type DrawRange, fillDraws, partsOf, rangesOf } from '../load/draws.mjs'
import type { Operation } from '../operation.ts'
import type { RandomValue } from './randomValue.ts'

/** The SQL that the server runs for an operation, and where its parameters come from. */
export interface FloorStatement {
  readonly method: string
  /** Matches path and query of a request; its groups are the random values in their order. */
  readonly pattern: string
  readonly weight: number
  /** With `$1` upwards for `values`. */
  readonly text: string
  readonly values: readonly FloorValue[]
}

export type FloorValue =
  /** The same in every request; `property`: its name in the body that brings it. */
  { readonly fixed: string | null; readonly property: string | null } | RandomValue

/**
 * By the product's own parser and compiler. `isCounted`: lists have their total, as without the list cache.
 * @throws Error where a random value does not become a parameter
 */
export async function floorStatement(operation: Operation, isCounted = true): Promise<FloorStatement> {
  const { method, path } = operation
  const [inPath, inBody] = [rangesOf(path), rangesOf(operation.body ?? '')]
  // Beyond its range no value is a special one, as the first page is.
  const compileAt = async (raised: number) => {
    const fill = (text: string, first: number) =>
      fillDraws(text, ({ high }, place) => high + (first + place === raised ? 2 : 1))
    const target = fill(path, 0)
    const body = operation.body === undefined ? null : await bodyOf(fill(operation.body, inPath.length))
    return { body, ...(await compile(method, target, body, isCounted)) }
  }
  const { body, text, values } = await compileAt(-1)
  const parameters: FloorValue[] = values.map((value) => ({ fixed: value, property: propertyOf(body, value) }))
  for (const [index, range] of [...inPath, ...inBody].entries()) {
    const raised = await compileAt(index)
    const at = raised.text === text ? values.findIndex((value, index) => value !== raised.values[index]) : -1
    if (at < 0) throw new Error(`${path}: a random value is not a parameter of its SQL`)
    const place = index < inPath.length ? index : propertyThatDiffers(body, raised.body)
    parameters[at] = randomValue(range, place, values[at] ?? null, raised.values[at] ?? null)
  }
  return { method, pattern: patternOf(path), weight: operation.weight ?? 1, text, values: parameters }
}

/** `value`: the parameter of the number beyond the range; `raised`: of the next one. */
function randomValue(
  { kind, low, high }: DrawRange,
  place: number | string,
  value: string | null,
  raised: string | null,
): RandomValue {
  // The first that another instant changes is itself: what is later than it comes after it.
  if (kind !== 'integer')
    return { low, high, place, factor: 1, summand: 0, instant: kind === 'instant' ? 'drawn' : 'later' }
  const factor = Number(raised) - Number(value)
  return { low, high, place, factor, summand: Number(value) - factor * (high + 1) }
}

export function statementsOf(operations: readonly Operation[]): Promise<FloorStatement[]> {
  return Promise.all(operations.map((operation) => floorStatement(operation)))
}

/** A regular expression for the requests of an operation; its groups are the random values. */
export function patternOf(path: string): string {
  const groups = rangesOf(path).map(({ kind }) => (kind === 'integer' ? '(\\d+)' : '([\\dTZ:-]+)'))
  const parts = partsOf(path).map((part, index) => RegExp.escape(part) + (groups[index] ?? ''))
  return `^${parts.join('')}$`
}

type Body = Record<string, unknown>

function bodyOf(text: string): Promise<Body> {
  const headers = { 'Content-Type': 'application/json' }
  return readBody(new Request('http://floor/', { method: 'POST', body: text, headers }))
}

async function compile(method: string, target: string, body: Body | null, isCounted: boolean): Promise<Statement> {
  const [path = '', query = ''] = target.split('?')
  const [, plural, id] = path.split('/')
  const entity = (await loadEntities()).find((candidate) => candidate.plural === plural)
  if (!entity) throw new Error(`${target}: there is no entity ${plural}`)
  const make = id === undefined ? compilers[method]?.collection : compilers[method]?.item
  if (!make) throw new Error(`${method} ${target} has no single statement`)
  return make(entity, { id: id ?? '', query, body: body ?? {}, isCounted })
}

type Compiler = (entity: Entity, request: { id: string; query: string; body: Body; isCounted: boolean }) => Statement

/** What `resource.ts` does for each operation, up to the SQL. */
const compilers: Record<string, { collection?: Compiler; item?: Compiler }> = {
  GET: {
    collection(entity, { query, isCounted }) {
      const list = parseList(entity, query)
      if (!isCounted && list.page > 1) throw new Error(`${query}: only first pages are found without their total`)
      return isCounted ? compileList(entity, list) : compileRows(entity, list)
    },
    item: (entity, { id }) => compileGet(entity, id),
  },
  POST: { collection: (entity, { body }) => compileCreate(entity, parseComplete(entity, body)) },
  PATCH: { item: (entity, { id, body }) => compileUpdate(entity, id, parsePartial(entity, body)) },
}

function propertyOf(body: Body | null, value: string | null): string | null {
  return Object.entries(body ?? {}).find(([, given]) => textOf(given) === value)?.[0] ?? null
}

function propertyThatDiffers(one: Body | null, other: Body | null): string {
  const [property] = Object.keys(one ?? {}).filter((name) => textOf(one?.[name]) !== textOf(other?.[name]))
  return property as string
}

function textOf(given: unknown): string {
  return given instanceof JsonNumber ? given.source : String(given)
}

/** Statements for the floor without HTTP. */
export interface SqlJob {
  readonly databaseUrl: string
  readonly statements: readonly FloorStatement[]
  readonly connections: number
  readonly seconds: number
  /** Statements per second over all connections; null: as fast as they are answered. */
  readonly rate: number | null
  readonly seed: number
}

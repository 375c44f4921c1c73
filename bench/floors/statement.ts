import { compileCreate, compileGet, compileUpdate } from '../../src/compile/entity.ts'
import { compileList } from '../../src/compile/list.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Statement } from '../../src/model/sql.ts'
import { readBody } from '../../src/parse/body.ts'
import { parseComplete, parsePartial } from '../../src/parse/changes.ts'
import { parseList } from '../../src/parse/list.ts'
import { loadEntities } from '../../src/registry.ts'
import type { Operation } from '../operation.ts'

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
  | { readonly fixed: string | null; readonly property: string | null }
  /** A random integer of the range, the n-th of the path, from 0. */
  | { readonly low: number; readonly high: number; readonly place: number }

const PLACEHOLDER = /\{(\d+)\.\.(\d+)\}/g
/** Ids that no table has, so that they can be told from every other value. */
const SENTINEL = 9_007_199_254_700_000

/** By the product's own parser and compiler. @throws Error where a random value does not become a parameter as it is */
export async function floorStatement(operation: Operation): Promise<FloorStatement> {
  const ranges: { low: number; high: number; place: number }[] = []
  const path = operation.path.replace(PLACEHOLDER, (_, low, high) => {
    ranges.push({ low: Number(low), high: Number(high), place: ranges.length })
    return String(SENTINEL + ranges.length - 1)
  })
  const body = operation.body === undefined ? null : await bodyOf(operation.body)
  const { text, values } = await compile(operation.method, path, body)
  const lost = ranges.find(({ place }) => !values.includes(String(SENTINEL + place)))
  if (lost) throw new Error(`${operation.path}: a random value is not a parameter of its SQL`)
  return {
    method: operation.method,
    pattern: patternOf(operation.path),
    weight: operation.weight ?? 1,
    text,
    values: values.map((value) => {
      const range = ranges.find(({ place }) => value === String(SENTINEL + place))
      return range ?? { fixed: value, property: propertyOf(body, value) }
    }),
  }
}

/** Without groups, whose matches `split` would keep. */
const PLACEHOLDER_WHOLE = /\{\d+\.\.\d+\}/

/** A regular expression for the requests of an operation; its groups are the random values. */
export function patternOf(path: string): string {
  return `^${path.split(PLACEHOLDER_WHOLE).map(RegExp.escape).join('(\\d+)')}$`
}

type Body = Record<string, unknown>

function bodyOf(text: string): Promise<Body> {
  if (PLACEHOLDER_WHOLE.test(text)) throw new Error(`${text}: random values stand in the path`)
  const headers = { 'Content-Type': 'application/json' }
  return readBody(new Request('http://floor/', { method: 'POST', body: text, headers }))
}

async function compile(method: string, target: string, body: Body | null): Promise<Statement> {
  const [path = '', query = ''] = target.split('?')
  const [, plural, id] = path.split('/')
  const entity = (await loadEntities()).find((candidate) => candidate.plural === plural)
  if (!entity) throw new Error(`${target}: there is no entity ${plural}`)
  const make = id === undefined ? compilers[method]?.collection : compilers[method]?.item
  if (!make) throw new Error(`${method} ${target} has no single statement`)
  return make(entity, { id: id ?? '', query, body: body ?? {} })
}

type Compiler = (entity: Entity, request: { id: string; query: string; body: Body }) => Statement

/** What `resource.ts` does for each operation, up to the SQL. */
const compilers: Record<string, { collection?: Compiler; item?: Compiler }> = {
  GET: {
    collection: (entity, { query }) => compileList(entity, parseList(entity, query)),
    item: (entity, { id }) => compileGet(entity, id),
  },
  POST: { collection: (entity, { body }) => compileCreate(entity, parseComplete(entity, body)) },
  PATCH: { item: (entity, { id, body }) => compileUpdate(entity, id, parsePartial(entity, body)) },
}

function propertyOf(body: Body | null, value: string | null): string | null {
  return Object.entries(body ?? {}).find(([, given]) => String(given) === value)?.[0] ?? null
}

// Sends an import step by step. Each step is stored before it is sent, so that the import can continue after any interruption.
import { send } from './api.ts'
import {
  type Change,
  type ChangeStep,
  type CreateStep,
  type ImportEntry,
  keepImport,
  readSteps,
  type Step,
} from './importJournal.ts'
import { filtersOfIds, idsOfRows } from './importLink.ts'
import { untilAnswered, type Watch } from './importRequests.ts'
import { comparable, textOfJson } from './importTarget.ts'
import { findNamed, type Property, type Resource, type Row, valueIn } from './resources.ts'
import { printBody } from './typed.ts'
import { attemptOf, problemOf, readVersioned, type Versioned, write } from './writes.ts'

/** Maximum age of a creation that is sent again, in ms. The server recognizes its `Idempotency-Key` for at least 24 hours. */
const REPEAT_MS_MAX = 23 * 3_600_000
/** Maximum attempts to write a row that somebody else writes at the same time. */
export const TRIES_MAX = 5

/** Thrown for a creation that was sent so long ago that the server may have forgotten its `Idempotency-Key`. */
export class TooLate extends Error {}

/** Thrown for a step that the server refuses. The step has created no rows, or has changed nothing of its row. */
export class StepRefused extends Error {
  constructor(
    readonly step: Step,
    readonly problem: ReturnType<typeof problemOf>,
  ) {
    super(problem.message)
  }
}

/**
 * Sends the open steps of an import, and returns the import with its result. @throws StepRefused, TooLate, Problem, AbortError
 */
export async function runImport(entry: ImportEntry, resource: Resource, watch: Watch): Promise<ImportEntry> {
  let now = entry
  const steps = await readSteps(entry.id)
  const sizeOf = (step: Step) => (step.kind === 'create' ? step.places.length : 1)
  const open = steps.filter(({ made }) => made === null)
  let done = steps.filter(({ made }) => made !== null).reduce((sum, step) => sum + sizeOf(step), 0)
  watch.show({ done, total: steps.reduce((sum, step) => sum + sizeOf(step), 0) })
  for (const step of open) {
    const made = step.kind === 'create' ? await create(now, resource.plural, step, watch) : await change(resource, step, watch)
    const isChanged = made.kind === 'change' && (made.made?.length ?? 0) > 0
    now = {
      ...now,
      created: now.created + (made.kind === 'create' ? made.places.length : 0),
      changed: now.changed + Number(isChanged),
    }
    await keepImport(now, [made])
    done += sizeOf(step)
    watch.show({ done })
  }
  const sent = await readSteps(entry.id)
  const ids = sent.flatMap((step) => (step.kind === 'create' && step.made !== null ? idsOfRows(step.made) : []))
  now = { ...now, filters: filtersOfIds(ids), state: 'done' }
  await keepImport(now)
  return now
}

export async function create(entry: ImportEntry, plural: string, step: CreateStep, watch: Watch): Promise<CreateStep> {
  if (step.sentMs !== null && step.sentMs < Date.now() - REPEAT_MS_MAX) throw new TooLate()
  const sent = step.sentMs === null ? { ...step, sentMs: Date.now() } : step
  await keepImport(entry, [sent])
  const attempt = { body: step.body, key: step.key, madeMs: 0, tag: '' }
  const made = await untilAnswered(async () => (await write('POST', plural, attempt)).text(), watch).catch((error) =>
    refuse(step, error),
  )
  return { ...sent, made }
}

/** @throws StepRefused if the server refuses the step; else `error` */
function refuse(step: Step, error: unknown): never {
  const problem = problemOf(error)
  throw [400, 403, 404, 409, 413, 422].includes(problem.status) ? new StepRefused(step, problem) : error
}

export const pathOf = (resource: Resource, id: string) => `${resource.plural}/${encodeURIComponent(id)}`

/** True if a row has the value `json` in the property of a change. `json`: the value before or after the change. */
function isAt(resource: Resource, { name }: Change, json: string, row: Row): boolean {
  const property = findNamed(resource.properties, name) as Property
  return comparable(property.kind, exactValue(row, property)) === textOfJson({ kind: { name: property.kind } }, json)
}

const exactValue = (row: Row, property: Property) => valueIn(row, property)

async function change(resource: Resource, step: ChangeStep, watch: Watch): Promise<ChangeStep> {
  const result = await rewrite(resource, step.rowId, step.changes, watch).catch((error) => refuse(step, error))
  return { ...step, made: result?.made ?? [] }
}

interface Rewritten {
  /** Changes that were written. */
  readonly made: readonly Change[]
  /** Changes that were not written, because somebody else has changed the value. */
  readonly lost: readonly Change[]
  /** The row as it was read before the changes were written. */
  readonly row: Row
}

/**
 * Writes the changes whose property still has the value before the change. If the property already has the value after the
 * change, the change counts as written: an earlier attempt may have written it, and its answer was lost. Returns null if the row
 * is gone. @throws Problem
 */
export async function rewrite(
  resource: Resource,
  id: string,
  changes: readonly Change[],
  watch: Watch,
): Promise<Rewritten | null> {
  for (let tries = 1; ; tries++) {
    const read = await readRow(resource, id, watch)
    if (read === null) return null
    const { row, tag } = read
    const open = changes.filter((one) => !isAt(resource, one, one.after, row))
    const own = open.filter((one) => isAt(resource, one, one.before, row))
    const lost = open.filter((one) => !own.includes(one))
    const made = changes.filter((one) => !lost.includes(one))
    if (own.length === 0) return { made, lost, row }
    const attempt = attemptOf(printBody(own.map(({ name, after }) => ({ name, json: after }))), tag)
    try {
      await untilAnswered(() => write('PATCH', pathOf(resource, id), attempt), watch)
      return { made, lost, row }
    } catch (error) {
      if (problemOf(error).status !== 412 || tries === TRIES_MAX) throw error
    }
  }
}

export async function readRow(resource: Resource, id: string, watch: Watch): Promise<Versioned | null> {
  try {
    return await untilAnswered(async () => readVersioned(await send(pathOf(resource, id))), watch)
  } catch (error) {
    if (problemOf(error).status === 404) return null
    throw error
  }
}

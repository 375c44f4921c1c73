// Sends an import step by step, and takes it back. Each step is kept before it is sent, so that it can go on after anything.
import { parseExact, send } from './api.ts'
import {
  type Change,
  type ChangeStep,
  type CreateStep,
  type ImportEntry,
  keepImport,
  readSteps,
  type Step,
} from './importJournal.ts'
import { readByIds, untilAnswered, type Watch } from './importRequests.ts'
import { comparable, textOfJson } from './importTarget.ts'
import { findNamed, type Property, type Resource, type Row, valueIn } from './resources.ts'
import { printBody } from './typed.ts'
import { attemptOf, problemOf, readVersioned, type Versioned, write } from './writes.ts'

/** Time for which the server knows what a request has created, by its key; a little less than a day. */
const REPEAT_MS_MAX = 23 * 3_600_000
const TRIES_MAX = 5

/** Thrown for a step that was sent so long ago that the server does not know any more whether it was done. */
export class TooLate extends Error {}

/** Thrown for a step that the server refuses: none of its rows was created, or nothing of the row was changed. */
export class StepRefused extends Error {
  constructor(
    readonly step: Step,
    readonly problem: ReturnType<typeof problemOf>,
  ) {
    super(problem.message)
  }
}

/** Sends what is open of an import. @throws StepRefused, TooLate, Problem, AbortError */
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
  now = { ...now, state: 'done' }
  await keepImport(now)
  return now
}

async function create(entry: ImportEntry, plural: string, step: CreateStep, watch: Watch): Promise<CreateStep> {
  if (step.sentMs !== null && step.sentMs < Date.now() - REPEAT_MS_MAX) throw new TooLate()
  const sent = step.sentMs === null ? { ...step, sentMs: Date.now() } : step
  await keepImport(entry, [sent])
  const attempt = { body: step.body, key: step.key, madeMs: 0, tag: '' }
  const made = await untilAnswered(async () => (await write('POST', plural, attempt)).text(), watch).catch((error) =>
    refuse(step, error),
  )
  return { ...sent, made }
}

/** @throws StepRefused for an error of the values; the error for any other */
function refuse(step: Step, error: unknown): never {
  const problem = problemOf(error)
  throw [400, 403, 404, 409, 413, 422].includes(problem.status) ? new StepRefused(step, problem) : error
}

const pathOf = (resource: Resource, id: string) => `${resource.plural}/${encodeURIComponent(id)}`

/** Compares a value of a change with that of a row. */
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
  /** Changes that were not, since somebody else has changed the value, with the row as it is. */
  readonly lost: readonly Change[]
  readonly row: Row
}

/**
 * Writes what is still as before. Values that are as after already count as written, since an earlier attempt may have been
 * answered to nobody. Null: the row is gone. @throws Problem
 */
async function rewrite(resource: Resource, id: string, changes: readonly Change[], watch: Watch): Promise<Rewritten | null> {
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

async function readRow(resource: Resource, id: string, watch: Watch): Promise<Versioned | null> {
  try {
    return await untilAnswered(async () => readVersioned(await send(pathOf(resource, id))), watch)
  } catch (error) {
    if (problemOf(error).status === 404) return null
    throw error
  }
}

/** Result of an undo. */
export interface Undone {
  readonly deleted: number
  readonly restored: number
  /** Rows and values that were left, each with the reason. */
  readonly left: readonly string[]
}

/** Takes an import back, the last step first. It can be run again. @throws Problem, AbortError */
export async function undoImport(entry: ImportEntry, resource: Resource, watch: Watch): Promise<Undone> {
  await keepImport({ ...entry, state: 'undoing' })
  const left: string[] = []
  const steps: Step[] = []
  for (const step of await readSteps(entry.id)) steps.push(await settled(entry, resource, step, left, watch))
  // The first change without a result may have been made all the same.
  const doubtful = steps.find((step) => step.kind === 'change' && step.made === null)
  const changes = steps.flatMap((step) => {
    if (step.kind !== 'change') return []
    const made = step === doubtful ? step.changes : (step.made ?? [])
    return made.length > 0 ? [{ ...step, made }] : []
  })
  const created = steps.flatMap((step) => (step.kind === 'create' ? rowsOf(step) : []))
  let done = 0
  watch.show({ done, total: changes.length + created.length })
  let restored = 0
  for (const step of changes.toReversed()) {
    restored += await restore(resource, step, watch, left)
    watch.show({ done: ++done })
  }
  const { deleted, referred } = await deleteRows(resource, created.toReversed(), watch, left, (rows) =>
    watch.show({ done: (done += rows) }),
  )
  // Once what refers to them is gone, they can be deleted, too.
  await keepImport({ ...entry, state: referred > 0 ? 'undoing' : 'undone' })
  return { deleted, restored, left }
}

/** A row that was created. `piece`: of one request, whose rows have the same version until somebody changes them. */
interface CreatedRow {
  readonly row: Row
  readonly piece: number
}

/** Returns the rows that a step created. */
function rowsOf({ made, index }: CreateStep): readonly CreatedRow[] {
  return made === null ? [] : parseExact(made).map((row: Row) => ({ row, piece: index }))
}

/** Sends a step again that was sent and has no answer: the server repeats what it has created. */
async function settled(entry: ImportEntry, resource: Resource, step: Step, left: string[], watch: Watch): Promise<Step> {
  if (step.kind === 'change' || step.made !== null || step.sentMs === null) return step
  try {
    const made = await create(entry, resource.plural, step, watch)
    await keepImport({ ...entry, state: 'undoing' }, [made])
    return made
  } catch (error) {
    // What was refused has created nothing.
    if (error instanceof StepRefused) return step
    if (!(error instanceof TooLate)) throw error
    left.push(`${step.places[0]} to ${step.places.at(-1)}: these rows may have been created. Look for them in the list.`)
    return step
  }
}

async function restore(resource: Resource, { rowId, made, at }: ChangeStep, watch: Watch, left: string[]): Promise<number> {
  const back = (made ?? []).map((one) => ({ ...one, before: one.after, after: one.before }))
  try {
    const result = await rewrite(resource, rowId, back, watch)
    if (result === null) left.push(`${at}: the row was deleted since.`)
    for (const { label } of result?.lost ?? []) left.push(`${at}: somebody has changed ${label} since. It stays.`)
    return Number((result?.made.length ?? 0) > 0)
  } catch (error) {
    left.push(`${at}: ${refusedWords(error)}`)
    return 0
  }
}

/** Returns the words for a row that the server does not let the reader undo. @throws the error of any other kind */
function refusedWords(error: unknown): string {
  const { status, message } = problemOf(error)
  if ([400, 403, 404, 409, 412].includes(status)) return message
  throw error
}

/** Deletes rows that are as they were created. Rows may refer to each other, so what is left is tried again while that helps. */
async function deleteRows(
  resource: Resource,
  rows: readonly CreatedRow[],
  watch: Watch,
  left: string[],
  onDone: (rows: number) => void,
): Promise<{ readonly deleted: number; readonly referred: number }> {
  let deleted = 0
  let open = rows
  for (;;) {
    const now = await readByIds(
      resource.plural,
      open.map(({ row }) => String(row.id)),
      watch,
    )
    const referred: { readonly created: CreatedRow; readonly message: string }[] = []
    const tags = new Map<number, string>()
    for (const created of open) {
      const { row, piece } = created
      const result = await deleteRow(resource, row, now.get(String(row.id)), tags.get(piece) ?? '', watch)
      if (result.kind === 'referred') referred.push({ created, message: result.message })
      else onDone(1)
      if (result.kind === 'deleted') deleted++
      if (result.kind === 'left') left.push(result.message)
      if (result.kind === 'deleted') tags.set(piece, result.tag)
    }
    if (referred.length === 0 || referred.length === open.length) {
      for (const { message } of referred) left.push(message)
      return { deleted, referred: referred.length }
    }
    open = referred.map(({ created }) => created)
  }
}

type Deletion =
  | { readonly kind: 'deleted'; readonly tag: string }
  | { readonly kind: 'gone' }
  | { readonly kind: 'left' | 'referred'; readonly message: string }

/** Deletes a row. `tag`: version of another row of its piece; empty: it is not known. */
async function deleteRow(resource: Resource, row: Row, now: Row | undefined, tag: string, watch: Watch): Promise<Deletion> {
  const id = String(row.id)
  if (now === undefined && Object.keys(row).length > 1) return { kind: 'gone' }
  if (now === undefined) return { kind: 'left', message: `${resource.entity} ${id}: you may not see it, so it stays.` }
  for (let tries = 1, version = tag, current: Row = now; ; tries++) {
    const other = resource.properties.find((one) => isOwn(one, row) && valueText(one, current) !== valueText(one, row))
    if (other) return { kind: 'left', message: `${resource.entity} ${id}: somebody has changed ${other.label} since. It stays.` }
    if (version === '') {
      const read = await readRow(resource, id, watch)
      if (read === null) return { kind: 'gone' }
      if (read.row !== current) current = read.row
      version = read.tag
      if (resource.properties.some((one) => isOwn(one, row) && valueText(one, current) !== valueText(one, row))) continue
    }
    try {
      await untilAnswered(() => write('DELETE', pathOf(resource, id), attemptOf('', version)), watch)
      return { kind: 'deleted', tag: version }
    } catch (error) {
      const { status, message } = problemOf(error)
      if (status === 404) return { kind: 'gone' }
      if (status === 409) return { kind: 'referred', message }
      if (status !== 412 || tries === TRIES_MAX)
        return { kind: 'left', message: `${resource.entity} ${id}: ${refusedWords(error)}` }
      version = ''
    }
  }
}

/** True for a value that the row had when it was created, and that does not follow from another row. */
function isOwn(property: Property, row: Row): boolean {
  return property.copiedThrough === null && (property.path[0] as string) in row
}

const valueText = (property: Property, row: Row) => comparable(property.kind, valueIn(row, property))

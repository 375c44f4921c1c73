// Undoes an import: writes back the values that it changed, and deletes the rows that it created. Values and rows that somebody
// else has changed since the import stay as they are.
import { type CreatedRows, type Deletion, deleteCreated } from '../../spreadsheets/deleteCreated.ts'
import { parseExact } from './api.ts'
import { type ChangeStep, type CreateStep, type ImportEntry, keepImport, readSteps, type Step } from './importJournal.ts'
import { readByIds, untilAnswered, type Watch } from './importRequests.ts'
import { create, pathOf, readRow, rewrite, StepRefused, TooLate, TRIES_MAX } from './importRun.ts'
import { comparable } from './importTarget.ts'
import { type Property, type Resource, type Row, valueIn } from './resources.ts'
import { printPath } from './view.ts'
import { attemptOf, problemOf, write } from './writes.ts'

/** Result of an undo. */
export interface Undone {
  readonly deleted: number
  readonly restored: number
  /** Sentences about rows and values that were left as they are, each with the reason. */
  readonly left: readonly string[]
}

/** Undoes an import, the last step first. It can be called again if it fails, or if rows stay. @throws Problem, AbortError */
export async function undoImport(entry: ImportEntry, resource: Resource, watch: Watch): Promise<Undone> {
  await keepImport({ ...entry, state: 'undoing' })
  const left: string[] = []
  const steps: Step[] = []
  for (const step of await readSteps(entry.id)) steps.push(await repeatPending(entry, resource, step, left, watch))
  // The first change without a result may have been written nevertheless: the server's answer can be lost.
  const unconfirmed = steps.find((step) => step.kind === 'change' && step.made === null)
  const changes = steps.flatMap((step) => {
    if (step.kind !== 'change') return []
    const made = step === unconfirmed ? step.changes : (step.made ?? [])
    return made.length > 0 ? [{ ...step, made }] : []
  })
  const created = steps.flatMap((step) => (step.kind === 'create' ? [rowsOf(step)] : []))
  let done = 0
  watch.show({ done, total: created.reduce((sum, rows) => sum + rows.length, changes.length) })
  let restored = 0
  for (const step of changes.toReversed()) {
    restored += await restore(resource, step, watch, left)
    watch.show({ done: ++done })
  }
  const rows = new RowsOfImport(resource, created.flat(), left, watch)
  const ids = created.map((rows) => rows.map(idOf))
  const referred = await deleteCreated(ids, rows, (count) => watch.show({ done: (done += count) }))
  for (const message of referred.values()) left.push(message)
  // Rows to which other rows refer can be deleted once nothing refers to them. Until then, the undo is not finished.
  await keepImport({ ...entry, state: referred.size > 0 ? 'undoing' : 'undone' })
  return { deleted: rows.deleted, restored, left }
}

const idOf = (row: Row) => String(row.id)

/** Returns the rows that a step has created; none if the step has no answer. */
const rowsOf = ({ made }: CreateStep): readonly Row[] => (made === null ? [] : parseExact(made))

/**
 * If a creation was sent and has no answer, sends it again: the answer tells which rows it has created. Returns any other step
 * unchanged.
 */
async function repeatPending(entry: ImportEntry, resource: Resource, step: Step, left: string[], watch: Watch): Promise<Step> {
  if (step.kind === 'change' || step.made !== null || step.sentMs === null) return step
  try {
    const made = await create(entry, resource.plural, step, watch)
    await keepImport({ ...entry, state: 'undoing' }, [made])
    return made
  } catch (error) {
    // A refused request has created nothing.
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

/** Returns why the server refuses to undo a row. @throws the error if the server did not refuse */
function refusedWords(error: unknown): string {
  const { status, message } = problemOf(error)
  if ([400, 403, 404, 409, 412].includes(status)) return message
  throw error
}

/** The rows that an import has created. `deleteCreated` uses this class to read and delete the rows on the server. */
class RowsOfImport implements CreatedRows {
  /** Number of rows that were deleted so far. */
  deleted = 0
  private readonly created: ReadonlyMap<string, Row>

  constructor(
    private readonly resource: Resource,
    created: readonly Row[],
    /** Sentences about rows that stay, each with the reason. The methods of this class append to them. */
    private readonly left: string[],
    private readonly watch: Watch,
  ) {
    this.created = new Map(created.map((row) => [idOf(row), row]))
  }

  async deleteTogether(ids: readonly string[], ifMatch: string): Promise<Deletion> {
    const path = printPath(this.resource.plural, [{ name: 'Id', sign: '[]', values: ids }])
    const attempt = attemptOf('', ifMatch)
    try {
      const answer = await untilAnswered(async () => (await write('DELETE', path, attempt)).text(), this.watch)
      const deleted = new Set(parseExact(answer).ids.map(String))
      this.deleted += deleted.size
      for (const id of ids) if (!deleted.has(id)) this.noteMissing(id)
      return { kind: 'deleted' }
    } catch (error) {
      const { status, code, tag } = problemOf(error)
      if (status === 412 && tag !== '') return { kind: 'otherVersion', version: tag }
      // A proxy may remove the version from a refusal. Then the rows are deleted one by one, and each is read first.
      if (status === 412) return { kind: 'unsupported' }
      if (status === 403 || status === 409 || code === 'TooCostly') return { kind: 'refused' }
      throw error
    }
  }

  async asCreated(ids: readonly string[]): Promise<readonly string[]> {
    const now = await readByIds(this.resource.plural, ids, this.watch)
    return ids.filter((id) => this.isAsCreated(id, now.get(id) ?? null))
  }

  async deleteOne(id: string): Promise<string | null> {
    for (let tries = 1; ; tries++) {
      const { row, tag } = (await readRow(this.resource, id, this.watch)) ?? { row: null, tag: '' }
      if (!this.isAsCreated(id, row)) return null
      if (tag === '') {
        // A deletion without the version could delete a row that somebody has changed meanwhile.
        this.left.push(
          `${this.resource.entity} ${id}: the answer has no version of it, which a proxy may have removed. It stays.`,
        )
        return null
      }
      const attempt = attemptOf('', tag)
      try {
        await untilAnswered(() => write('DELETE', pathOf(this.resource, id), attempt), this.watch)
        this.deleted++
        return null
      } catch (error) {
        const { status, message } = problemOf(error)
        if (status === 404) return null
        if (status === 409) return message
        if (status === 412 && tries < TRIES_MAX) continue
        this.left.push(`${this.resource.entity} ${id}: ${refusedWords(error)}`)
        return null
      }
    }
  }

  /** Adds a sentence about a row that the reader may not see. A deleted row needs no sentence. */
  private noteMissing(id: string): void {
    // If the reader may not read a row, the answer to its creation has only the id.
    const isHidden = Object.keys(this.created.get(id) ?? {}).length <= 1
    if (isHidden) this.left.push(`${this.resource.entity} ${id}: you may not see it, so it stays.`)
  }

  /** Returns whether a row still has the values with which it was created. If not, adds a sentence that says why. */
  private isAsCreated(id: string, now: Row | null): boolean {
    if (now === null) {
      this.noteMissing(id)
      return false
    }
    const created = this.created.get(id) as Row
    const other = this.resource.properties.find((one) => isOwn(one, created) && valueText(one, now) !== valueText(one, created))
    if (other !== undefined) this.left.push(`${this.resource.entity} ${id}: somebody has changed ${other.label} since. It stays.`)
    return other === undefined
  }
}

/** True for a property that is in the row, and is not copied from a referenced row. */
function isOwn(property: Property, row: Row): boolean {
  return property.copiedThrough === null && (property.path[0] as string) in row
}

const valueText = (property: Property, row: Row) => comparable(property.kind, valueIn(row, property))

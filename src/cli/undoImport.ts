// `roster import --undo`: deletes the rows that an import created, and writes back the values that it changed.
import type { Entity, Property } from '../model/entity.ts'
import { type CreatedRows, type Deletion, deleteCreated } from '../spreadsheets/deleteCreated.ts'
import { type ImportJournal, type ImportRecord, isRepeatable, readJournal } from './importJournal.ts'
import { type Difference, strongTag } from './matchRows.ts'
import { counted, progress } from './output.ts'
import { askUntilAnswered, errorOf, messageOf } from './request.ts'
import { CommandError } from './run.ts'
import {
  ask,
  bodyOf,
  type Collection,
  queryOfAny,
  RefusedRequest,
  readRowsWith,
  rowTexts,
  storedTexts,
  type ValueTexts,
} from './storedRows.ts'

/** Maximum attempts for a row that other clients write at the same time. */
const TRIES_MAX = 5
/**
 * Statuses with which a server refuses to delete several rows because of one of them, or because the deletion takes too long.
 * Each half of the rows is then deleted separately.
 */
const REFUSALS_OF_ROWS = [403, 409, 503]
/**
 * Statuses with which a server refuses every deletion of several rows, such as an older server that can only delete single rows.
 */
const REFUSALS = [400, 404, 405, 412]
/**
 * Reason why a row stays. Without a version, an undo could overwrite or delete what other clients have written since the undo
 * read the row.
 */
const WITHOUT_VERSION = 'the server, or a proxy before it, has sent no ETag, so the row stays.'
const JSON_ACCEPTED = { Accept: 'application/json' }

/** Result of an undo. */
export interface Undone {
  deleted: number
  /** Rows whose values were written back. */
  restored: number
  /** Rows that an interrupted undo or another client has already deleted, or set back to the values from before the import. */
  before: number
  /** Rows and values that were left, each with the reason. */
  readonly left: string[]
}

/** Undoes an import. It can be run again: rows that are undone already are counted, and stay as they are. @throws CommandError */
export async function undoImport(collection: Collection, entity: Entity, journal: ImportJournal): Promise<Undone> {
  const undone: Undone = { deleted: 0, restored: 0, before: 0, left: [] }
  await repeatPending(collection, readJournal(journal.folder, journal.id), journal, undone)
  const record = readJournal(journal.folder, journal.id)
  using shown = progress((rows) => counted(rows, 'row'))
  for (const { id, values } of record.changes.toReversed()) {
    await restoreRow(collection, entity, id, differencesOf(entity, values), undone)
    shown.add(1)
  }
  await deleteCreatedRows(collection, entity, record, undone, (rows) => shown.add(rows))
  if (record.hiddenIds > 0)
    undone.left.push(`${counted(record.hiddenIds, 'row')}: the key could not read the ids when it created them.`)
  if (record.isFull) undone.left.push('The import was too large to record whole: what it did after that is not undone.')
  journal.endUndo(undone.left.length)
  return undone
}

/** Repeats the requests whose responses were lost. The server answers as the first time, with the ids of the created rows. */
async function repeatPending(
  collection: Collection,
  { pending }: ImportRecord,
  journal: ImportJournal,
  undone: Undone,
): Promise<void> {
  for (const [key, piece] of pending) {
    if (!isRepeatable(piece)) {
      undone.left.push(`${piece.places}: these rows may have been created; after a day the server does not tell which.`)
      continue
    }
    const headers = {
      Authorization: `ApiKey ${collection.key}`,
      'Content-Type': 'application/x-ndjson',
      'Idempotency-Key': key,
    }
    const answer = await askUntilAnswered({ method: 'POST', address: collection.address, headers, body: piece.body }, false)
    if (answer.status === 201) journal.addCreated(key, answer.text)
    else if (errorOf(answer.text) === null) throw new CommandError(messageOf(answer.text, answer.status))
    else if (errorOf(answer.text)?.Code === 'IdempotencyMismatch')
      undone.left.push(`${piece.places}: ${messageOf(answer.text, answer.status)}`)
    // These answers leave open whether the rows were created. Any other error of Roster means that no row was created.
    else if (answer.status >= 500 || answer.status === 401 || answer.status === 403)
      throw new CommandError(messageOf(answer.text, answer.status))
    else journal.addRefused(key, false)
  }
}

function differencesOf(entity: Entity, values: ImportRecord['changes'][number]['values']): Difference[] {
  return values.flatMap(([name, before, after]) => {
    const property = entity.properties.find((one) => one.name === name)
    // Swapped: an undo writes the value from before the import.
    return property ? [{ property, before: after, after: before }] : []
  })
}

/** Writes the old values of a row back, but only over values that are still as the import wrote them. */
async function restoreRow(
  collection: Collection,
  entity: Entity,
  id: string,
  differences: readonly Difference[],
  undone: Undone,
): Promise<void> {
  const address = `${collection.address}/${id}`
  for (let tries = 1; ; tries++) {
    const { status, text, headers } = await ask(collection, 'GET', address, JSON_ACCEPTED, { taken: [404] })
    if (status === 404) return void undone.left.push(`Row ${id} was deleted since.`)
    const row = storedTexts(entity.properties, text)
    const open = differences.filter(({ property, after }) => row.get(property) !== after)
    const lost = open.filter(({ property, before }) => row.get(property) !== before)
    const own = open.filter((difference) => !lost.includes(difference))
    if (own.length > 0) {
      if (!headers.has('etag')) return void undone.left.push(`Row ${id}: ${WITHOUT_VERSION}`)
      const body = bodyOf(entity, new Map(own.map(({ property, after }) => [property, after])))
      const asked = {
        ...JSON_ACCEPTED,
        'If-Match': strongTag(headers),
        'Idempotency-Key': crypto.randomUUID(),
        'Content-Type': 'application/json',
      }
      const answer = await ask(collection, 'PATCH', address, asked, { body, taken: [400, 403, 404, 409, 412] })
      if (answer.status === 412 && tries < TRIES_MAX) continue
      if (answer.status >= 400) return void undone.left.push(`Row ${id}: ${refusalOfRow(answer.text, answer.status)}`)
      undone.restored++
    } else if (lost.length === 0) undone.before++
    for (const { property, before, after } of lost)
      undone.left.push(
        `Row ${id}: ${property.name} was changed since: it is ${shown(row.get(property))}, the import had written ${shown(before)} over ${shown(after)}.`,
      )
    return
  }
}

/** Returns why a row stays. @throws RefusedRequest if the key has no right to this kind of write, so that every row would stay */
function refusalOfRow(text: string, status: number): string {
  const message = messageOf(text, status)
  if (status === 403 && errorOf(text)?.Target === 'Api') throw new RefusedRequest(message, status)
  return message
}

function shown(text: string | null | undefined): string {
  return text == null ? 'nothing' : JSON.stringify(text)
}

/** Deletes the rows that are still as the import created them. */
async function deleteCreatedRows(
  collection: Collection,
  entity: Entity,
  { created, createdTogether }: ImportRecord,
  undone: Undone,
  onDone: (rows: number) => void,
): Promise<void> {
  const deletion = { collection, entity, created, undone }
  const rows: CreatedRows = {
    deleteTogether: (ids, ifMatch) => deleteTogether(deletion, ids, ifMatch),
    asCreated: (ids) => idsAsCreated(deletion, ids),
    deleteOne: (id) => deleteRow(deletion, id),
  }
  const referred = await deleteCreated(createdTogether, rows, onDone)
  for (const [id, message] of referred) undone.left.push(`Row ${id}: ${message}`)
}

/** Rows to delete, and the result that counts them. */
interface RowDeletion {
  readonly collection: Collection
  readonly entity: Entity
  readonly created: ImportRecord['created']
  readonly undone: Undone
}

/**
 * Returns the ids of rows that are still as they were created. Counts the rows that no longer exist, and reports the rows that
 * were changed.
 */
async function idsAsCreated({ collection, entity, created, undone }: RowDeletion, ids: readonly string[]): Promise<string[]> {
  const stored = new Map<string, ValueTexts>()
  for await (const { rows } of readRowsWith(collection, entity, entity.id, ids))
    for (const row of rows) stored.set(row.get(entity.id) as string, row)
  return ids.filter((id) => {
    const row = stored.get(id)
    const changed = row && changedIn(entity, row, created.get(id))
    if (row === undefined) undone.before++
    else if (changed) undone.left.push(changedText(id, changed))
    return row !== undefined && !changed
  })
}

async function deleteTogether(
  { collection, entity, undone }: RowDeletion,
  ids: readonly string[],
  ifMatch: string,
): Promise<Deletion> {
  // With the Idempotency-Key, the request can be repeated if its response was lost.
  const own = { ...JSON_ACCEPTED, 'If-Match': ifMatch, 'Idempotency-Key': crypto.randomUUID() }
  const address = `${collection.address}?${queryOfAny(entity.id, ids)}`
  const { status, text, headers } = await ask(collection, 'DELETE', address, own, { taken: [...REFUSALS, ...REFUSALS_OF_ROWS] })
  if (status === 412 && headers.has('etag')) return { kind: 'otherVersion', version: strongTag(headers) }
  if (REFUSALS_OF_ROWS.includes(status)) return { kind: 'refused' }
  if (status >= 400) return { kind: 'unsupported' }
  const { rows } = JSON.parse(text) as { readonly rows: number }
  undone.deleted += rows
  undone.before += ids.length - rows
  return { kind: 'deleted' }
}

/**
 * Returns the first property that was changed since the row was created, with its present value; null if no property was changed.
 * Values that the server makes do not count.
 */
function changedIn(entity: Entity, row: ValueTexts, created: unknown): { property: Property; now: string | null } | null {
  const was = rowTexts(entity.properties, created)
  const property = entity.properties.find((one) => one.writable && row.get(one) !== was.get(one))
  return property ? { property, now: row.get(property) ?? null } : null
}

function changedText(id: string, { property, now }: { property: Property; now: string | null }): string {
  return `Row ${id}: ${property.name} was changed since: it is ${shown(now)}.`
}

/**
 * Deletes a row if it is still as it was created. Returns the server's message if other rows refer to the row; null if the row is
 * deleted, or was left and reported.
 */
async function deleteRow({ collection, entity, created, undone }: RowDeletion, id: string): Promise<string | null> {
  const address = `${collection.address}/${id}`
  for (let tries = 1; ; tries++) {
    const read = await ask(collection, 'GET', address, JSON_ACCEPTED, { taken: [404] })
    if (read.status === 404) {
      undone.before++
      return null
    }
    const changed = changedIn(entity, storedTexts(entity.properties, read.text), created.get(id))
    if (changed) {
      undone.left.push(changedText(id, changed))
      return null
    }
    if (!read.headers.has('etag')) {
      undone.left.push(`Row ${id}: ${WITHOUT_VERSION}`)
      return null
    }
    const own = { ...JSON_ACCEPTED, 'If-Match': strongTag(read.headers) }
    const { status, text } = await ask(collection, 'DELETE', address, own, { taken: [403, 404, 409, 412] })
    if (status === 409) return messageOf(text, status)
    if (status === 404) undone.before++
    else if (status < 400) undone.deleted++
    else if (status === 403 || tries === TRIES_MAX) undone.left.push(`Row ${id}: ${refusalOfRow(text, status)}`)
    else continue
    return null
  }
}

// `roster import --undo`: deletes the rows that an import created, and writes back the values that it changed.
import type { Entity, Property } from '../model/entity.ts'
import { type ImportJournal, type ImportRecord, isRepeatable, readJournal } from './importJournal.ts'
import { type Difference, strongTag } from './matchRows.ts'
import { counted, progress } from './output.ts'
import { type Answer, askUntilAnswered, errorOf, messageOf } from './request.ts'
import { CommandError } from './run.ts'
import { ask, bodyOf, type Collection, queryOfAny, readRowsWith, rowTexts, storedTexts, type ValueTexts } from './storedRows.ts'

/** Maximum attempts for a row that others write at the same time. */
const TRIES_MAX = 5
/** Number of rows that are read, and then deleted by one request. */
const READ_ROWS = 100
/** Maximum versions in `If-Match`. */
const VERSIONS_MAX = 20
/** A version that no row has: the refusal of a request with it names the version of a row. */
const NO_VERSION = '"none"'
/** Statuses of a deletion of several rows that is refused because of one of them, or takes too long; each half is tried again. */
const REFUSALS_OF_ROWS = [403, 409, 503]
/** Statuses by which a deletion of several rows is refused for other reasons: older servers do not know it. */
const REFUSALS = [400, 404, 405, 412]
const JSON_ACCEPTED = { Accept: 'application/json' }

/** Result of an undo. */
export interface Undone {
  deleted: number
  /** Rows whose values were written back. */
  restored: number
  /** Rows that are as before already: deleted by others, or by an undo that was interrupted. */
  before: number
  /** Rows and values that were left, each with the reason. */
  readonly left: string[]
}

/** Undoes an import. It can be run again: rows that are undone already are counted, and stay as they are. @throws CommandError */
export async function undoImport(collection: Collection, entity: Entity, journal: ImportJournal): Promise<Undone> {
  const undone: Undone = { deleted: 0, restored: 0, before: 0, left: [] }
  await settlePending(collection, readJournal(journal.folder, journal.id), journal, undone)
  const record = readJournal(journal.folder, journal.id)
  using shown = progress((rows) => counted(rows, 'row'))
  for (const { id, values } of record.changes.toReversed()) {
    await restoreRow(collection, entity, id, differencesOf(entity, values), undone)
    shown.add(1)
  }
  await deleteCreated(collection, entity, record, undone, (rows) => shown.add(rows))
  if (record.hiddenIds > 0)
    undone.left.push(`${counted(record.hiddenIds, 'row')}: the key could not read the ids when it created them.`)
  if (record.isFull) undone.left.push('The import was too large to record whole: what it did after that is not undone.')
  journal.endUndo(undone.left.length)
  return undone
}

/** Sends pieces whose response was lost once more: the server repeats its response, which has the ids of the rows. */
async function settlePending(
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
    // Refused: none of its rows was created.
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

/** Writes back the values of a row that are still as the import wrote them. */
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
      const body = bodyOf(entity, new Map(own.map(({ property, after }) => [property, after])))
      const asked = {
        ...JSON_ACCEPTED,
        'If-Match': strongTag(headers),
        'Idempotency-Key': crypto.randomUUID(),
        'Content-Type': 'application/json',
      }
      const answer = await ask(collection, 'PATCH', address, asked, { body, taken: [400, 404, 409, 412] })
      if (answer.status === 412 && tries < TRIES_MAX) continue
      if (answer.status >= 400) return void undone.left.push(`Row ${id}: ${messageOf(answer.text, answer.status)}`)
      undone.restored++
    } else if (lost.length === 0) undone.before++
    for (const { property, before, after } of lost)
      undone.left.push(
        `Row ${id}: ${property.name} was changed since: it is ${shown(row.get(property))}, the import had written ${shown(before)} over ${shown(after)}.`,
      )
    return
  }
}

function shown(text: string | null | undefined): string {
  return text == null ? 'nothing' : JSON.stringify(text)
}

/** Rows to delete, and what has become of them. */
interface Deletion {
  readonly collection: Collection
  readonly entity: Entity
  readonly created: ImportRecord['created']
  readonly undone: Undone
  /** Messages by the ids of rows that others refer to. */
  readonly referred: Map<string, string>
  /** Versions that rows had, the latest last: rows of one request share one, until someone writes them. */
  readonly versions: string[]
}

/** Deletes the rows that are as the import created them, the last first, since they may refer to earlier ones. */
async function deleteCreated(
  collection: Collection,
  entity: Entity,
  { created }: ImportRecord,
  undone: Undone,
  onDone: (rows: number) => void,
): Promise<void> {
  const versions: string[] = []
  let ids = [...created.keys()].reverse()
  for (;;) {
    const referred = new Map<string, string>()
    const deletion = { collection, entity, created, undone, referred, versions }
    for (let at = 0; at < ids.length; at += READ_ROWS) {
      const part = ids.slice(at, at + READ_ROWS)
      const rows = versions.length === 0 ? part : await idsAsCreated(deletion, part)
      await deleteRows(deletion, rows, versions.slice(-VERSIONS_MAX))
      onDone(part.length - part.filter((id) => referred.has(id)).length)
    }
    // Rows of the import may refer to each other: what is left is tried again while that helps.
    if (referred.size === 0 || referred.size === ids.length) {
      for (const [id, message] of referred) undone.left.push(`Row ${id}: ${message}`)
      return
    }
    ids = [...referred.keys()]
  }
}

/** Returns those of the rows that are as they were created; counts the others. */
async function idsAsCreated({ collection, entity, created, undone }: Deletion, ids: readonly string[]): Promise<string[]> {
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

/**
 * Deletes rows by one request, which is refused unless each has one of `versions`. Their values were compared when all of these
 * were known: so a row that has one of them is as it was compared. If a row refuses the request, each half is tried.
 */
async function deleteRows(
  deletion: Deletion,
  ids: readonly string[],
  versions: readonly string[],
  tries: number = 1,
): Promise<void> {
  if (ids.length <= 1) return deleteEach(deletion, ids)
  const { status, headers } = await deleteTogether(deletion, ids, versions)
  if (status < 400) return
  if (status === 412 && headers.has('etag') && tries < TRIES_MAX) {
    const version = strongTag(headers)
    deletion.versions.push(version)
    const rows = await idsAsCreated(deletion, ids)
    return deleteRows(deletion, rows, [...versions, version].slice(-VERSIONS_MAX), tries + 1)
  }
  if (!REFUSALS_OF_ROWS.includes(status)) return deleteEach(deletion, ids)
  const half = Math.ceil(ids.length / 2)
  await deleteRows(deletion, ids.slice(0, half), versions, tries)
  await deleteRows(deletion, ids.slice(half), versions, tries)
}

async function deleteTogether(
  { collection, entity, undone }: Deletion,
  ids: readonly string[],
  versions: readonly string[],
): Promise<Answer> {
  const own = {
    ...JSON_ACCEPTED,
    'If-Match': versions.length === 0 ? NO_VERSION : versions.join(', '),
    // A request whose response was lost is sent again.
    'Idempotency-Key': crypto.randomUUID(),
  }
  const address = `${collection.address}?${queryOfAny(entity.id, ids)}`
  const answer = await ask(collection, 'DELETE', address, own, { taken: [...REFUSALS, ...REFUSALS_OF_ROWS] })
  if (answer.status >= 400) return answer
  const { rows } = JSON.parse(answer.text) as { readonly rows: number }
  undone.deleted += rows
  undone.before += ids.length - rows
  return answer
}

/** Returns a value that a row does not have as it was created; null: none. Values that the server makes do not count. */
function changedIn(entity: Entity, row: ValueTexts, created: unknown): { property: Property; now: string | null } | null {
  const was = rowTexts(entity.properties, created)
  const property = entity.properties.find((one) => one.writable && row.get(one) !== was.get(one))
  return property ? { property, now: row.get(property) ?? null } : null
}

function changedText(id: string, { property, now }: { property: Property; now: string | null }): string {
  return `Row ${id}: ${property.name} was changed since: it is ${shown(now)}.`
}

async function deleteEach(deletion: Deletion, ids: readonly string[]): Promise<void> {
  for (const id of ids) await deleteRow(deletion, id)
}

async function deleteRow({ collection, entity, created, undone, referred }: Deletion, id: string): Promise<void> {
  const address = `${collection.address}/${id}`
  for (let tries = 1; ; tries++) {
    const read = await ask(collection, 'GET', address, JSON_ACCEPTED, { taken: [404] })
    if (read.status === 404) return void undone.before++
    const changed = changedIn(entity, storedTexts(entity.properties, read.text), created.get(id))
    if (changed) return void undone.left.push(changedText(id, changed))
    const own = { ...JSON_ACCEPTED, 'If-Match': strongTag(read.headers) }
    const { status, text } = await ask(collection, 'DELETE', address, own, { taken: [404, 409, 412] })
    if (status === 404) return void undone.before++
    if (status === 409) return void referred.set(id, messageOf(text, status))
    if (status < 400) return void undone.deleted++
    if (tries === TRIES_MAX) return void undone.left.push(`Row ${id}: ${messageOf(text, status)}`)
  }
}

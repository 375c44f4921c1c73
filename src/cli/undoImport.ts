// `roster import --undo`: deletes the rows that an import created, and writes back the values that it changed.
import type { Entity, Property } from '../model/entity.ts'
import { type ImportJournal, type ImportRecord, isRepeatable, readJournal } from './importJournal.ts'
import { type Difference, strongTag } from './matchRows.ts'
import { counted, progress } from './output.ts'
import { askUntilAnswered, errorOf, messageOf } from './request.ts'
import { CommandError } from './run.ts'
import { ask, bodyOf, type Collection, readRowsWith, rowTexts, storedTexts, type ValueTexts } from './storedRows.ts'

/** Maximum attempts for a row that others write at the same time. */
const TRIES_MAX = 5
/** Number of rows that are read and then deleted: few, so that others have little time to change one in between. */
const READ_ROWS = 100
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

/** Undoes an import. It can be run again: what was undone is found to be so. @throws CommandError */
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

/** Sends pieces again whose response was lost: the server repeats what it answered, so that their ids are known. */
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
    // Written back: what was before comes after.
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

/** Deletes the rows that are as the import created them, the last first, since they may refer to earlier ones. */
async function deleteCreated(
  collection: Collection,
  entity: Entity,
  { created }: ImportRecord,
  undone: Undone,
  onDone: (rows: number) => void,
): Promise<void> {
  let ids = [...created.keys()].reverse()
  for (;;) {
    const referred = new Map<string, string>()
    for (let at = 0; at < ids.length; at += READ_ROWS) {
      const part = ids.slice(at, at + READ_ROWS)
      await deletePart(collection, entity, part, created, undone, referred)
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

async function deletePart(
  collection: Collection,
  entity: Entity,
  ids: readonly string[],
  created: ImportRecord['created'],
  undone: Undone,
  referred: Map<string, string>,
): Promise<void> {
  const stored = new Map<string, ValueTexts>()
  for await (const { rows } of readRowsWith(collection, entity, entity.id, ids))
    for (const row of rows) stored.set(row.get(entity.id) as string, row)
  /** Version of the last row that was read: those of one piece have the same, unless someone has written them since. */
  const version = { tag: null as string | null }
  for (const id of ids) {
    const row = stored.get(id)
    const changed = row && changedIn(entity, row, created.get(id))
    if (row === undefined) undone.before++
    else if (changed) undone.left.push(changedText(id, changed))
    else await deleteRow(collection, entity, id, { created: created.get(id), version, undone, referred })
  }
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

interface Deletion {
  readonly created: unknown
  readonly version: { tag: string | null }
  readonly undone: Undone
  readonly referred: Map<string, string>
}

async function deleteRow(
  collection: Collection,
  entity: Entity,
  id: string,
  { created, version, undone, referred }: Deletion,
): Promise<void> {
  const address = `${collection.address}/${id}`
  for (let tries = 1; ; tries++) {
    if (version.tag === null) {
      const { status, text, headers } = await ask(collection, 'GET', address, JSON_ACCEPTED, { taken: [404] })
      if (status === 404) return void undone.before++
      const changed = changedIn(entity, storedTexts(entity.properties, text), created)
      if (changed) return void undone.left.push(changedText(id, changed))
      version.tag = strongTag(headers)
    }
    const own = { ...JSON_ACCEPTED, 'If-Match': version.tag }
    const { status, text } = await ask(collection, 'DELETE', address, own, { taken: [404, 409, 412] })
    if (status === 404) return void undone.before++
    if (status === 409) return void referred.set(id, messageOf(text, status))
    if (status < 400) return void undone.deleted++
    version.tag = null
    if (tries === TRIES_MAX) return void undone.left.push(`Row ${id}: ${messageOf(text, status)}`)
  }
}

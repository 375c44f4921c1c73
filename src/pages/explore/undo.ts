// Undo of a decision. The message about the decision offers the undo, if a right allows the opposite change.
import { type Problem, readTotal, send } from './api.ts'
import { nameIn } from './names.ts'
import { say } from './notices.tsx'
import { knownStore, type Property, type Resource, type Row, valueIn } from './resources.ts'
import { mayUndo } from './rights.ts'
import { printBody } from './typed.ts'
import { printPath } from './view.ts'
import { announce, attemptOf, isUncertain, problemOf, type Versioned, writeRow } from './writes.ts'

/** A decision that was made. */
export interface Decided {
  readonly resource: Resource
  /** Property that was set. */
  readonly property: Property
  readonly value: string
  /** The row before the decision. */
  readonly row: Row
  /** The row as it is now. */
  readonly now: Versioned
}

/** Says what was decided, and offers an undo if the reader may set the former value again. Lists and rows are read again. */
export async function announceDecided(decided: Decided): Promise<void> {
  const { resource, property, value, now } = decided
  // A reader who decides several rows in turn must see to which row the message belongs.
  const text = `${whoseOf(resource, now.row)}${property.label} is “${value}” now.`
  if (!(await isReversible(decided))) return announce(text)
  announce('')
  say(text, { undo: () => void undo(decided) })
}

/**
 * Returns words such as `Ada Byron: ` that say whose row it is: its name; without one, its first copied name. Returns an empty
 * text if it has neither.
 */
function whoseOf(resource: Resource, row: Row): string {
  const copied = resource.properties.find(({ copiedThrough, through }) => copiedThrough !== null && through === null)
  const name = nameIn(resource, row) || String((copied && valueIn(row, copied)) ?? '')
  return name === '' ? '' : `${name}: `
}

const valueBefore = ({ row, property }: Decided) => valueIn(row, property) as string | null

/**
 * Returns whether the reader may set the former value again. The server is asked, because the page cannot check conditions on
 * related rows.
 */
async function isReversible(decided: Decided): Promise<boolean> {
  const { resource, property, value, row, now } = decided
  const change = { collection: resource.plural, name: property.name, from: valueBefore(decided) ?? '', to: value }
  if (now.tag === '' || !mayUndo(knownStore.value.rights, change)) return false
  const filters = [{ name: 'Id', sign: '=', values: [String(row.id)] }]
  const path = printPath(resource.plural, filters, { may: `update(${property.name})` })
  try {
    return (await readTotal(await send(path, { method: 'HEAD' }))) === 1
  } catch {
    // Without an answer there is no undo, but the message about the decision is shown.
    return false
  }
}

/** Sets the former value again, unless somebody else has changed the row meanwhile. */
async function undo(decided: Decided): Promise<void> {
  const { resource, property, row, now } = decided
  const before = valueBefore(decided)
  const attempt = attemptOf(printBody([{ name: property.name, json: JSON.stringify(before) }]), now.tag)
  try {
    await writeRow('PATCH', `${resource.plural}/${encodeURIComponent(String(row.id))}`, attempt)
    announce(`${whoseOf(resource, now.row)}${property.label} is “${before ?? 'no value'}” again.`)
  } catch (error) {
    announce(wordsOfFault(problemOf(error)))
  }
}

/** Says why a decision was not undone. */
function wordsOfFault(problem: Problem): string {
  if (problem.status === 412) return 'Somebody else has changed this meanwhile: it stays as it is.'
  if (isUncertain(problem)) return 'It is not certain whether this was undone. Open it to see how it is now.'
  if (problem.retryAfter !== null) return 'This was not undone, because the server is busy. Open it to change it.'
  return 'This was not undone: you may not do that, or not any more.'
}

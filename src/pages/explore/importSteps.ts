// Makes the steps of an import from the rows to create and to change, and stores all of them before the first is sent.
import { widestVariant } from './importChoices.ts'
import { type ImportEntry, keepImport, type Step } from './importJournal.ts'
import type { ChangedRow } from './importMatch.ts'
import type { ImportRow } from './importRows.ts'
import { printBody } from './typed.ts'
import type { Writable } from './writable.ts'
import { attemptOf } from './writes.ts'

/** Maximum rows of one request. The rate limits count up to 100 rows as one request. */
const REQUEST_ROWS_MAX = 100
/** Maximum characters of a body with several rows. The server accepts such a body even if each character has three bytes. */
const REQUEST_LENGTH_MAX = 150_000

interface Planned {
  readonly sessionId: string
  readonly plural: string
  readonly file: string
  readonly writable: Writable
  readonly created: readonly ImportRow[]
  readonly changed: readonly ChangedRow[]
}

/** Stores a new import with its steps, of which none is sent yet. Returns the import. */
export async function keepSteps({ sessionId, plural, file, writable, created, changed }: Planned): Promise<ImportEntry> {
  const importId = attemptOf('').key
  const entry: ImportEntry = {
    id: importId,
    sessionId,
    plural,
    file,
    begunMs: Date.now(),
    created: 0,
    changed: 0,
    filters: null,
    state: 'open',
  }
  const creates = requestBodies(created, writable).map(({ body, places }) => ({
    kind: 'create' as const,
    key: attemptOf('').key,
    body,
    places,
    sentMs: null,
    made: null,
  }))
  const changes = changed.map(({ at, id, changes: own }) => ({
    kind: 'change' as const,
    at,
    rowId: id,
    changes: own,
    made: null,
  }))
  const steps: Step[] = [...creates, ...changes].map((step, index) => ({ ...step, importId, index }))
  await keepImport(entry, steps)
  return entry
}

/** Divides rows into the bodies of requests. `places`: for each row of the body, its position in the file. */
export function requestBodies(rows: readonly ImportRow[], writable: Writable): { body: string; places: string[] }[] {
  const fields = widestVariant(writable)
  const whole = fields?.isWhole ? fields.fields : []
  const requests: { bodies: string[]; places: string[]; length: number }[] = []
  for (const { at, values } of rows) {
    const own = values.filter(({ property }) => property.mayCreate && property.writable)
    const missing = whole.filter(({ name }) => !own.some(({ property }) => property.name === name))
    const all = [
      ...own.map(({ property, json }) => ({ name: property.name, json })),
      ...missing.map(({ name, kind }) => ({ name, json: kind === 'boolean' ? 'false' : 'null' })),
    ]
    const body = printBody(all)
    const last = requests.at(-1)
    if (last && last.places.length < REQUEST_ROWS_MAX && last.length + body.length < REQUEST_LENGTH_MAX) {
      last.bodies.push(body)
      last.places.push(at)
      last.length += body.length
    } else requests.push({ bodies: [body], places: [at], length: body.length })
  }
  return requests.map(({ bodies, places }) => ({ body: `[${bodies.join()}]`, places }))
}

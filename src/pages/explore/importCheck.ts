// Finds out what an import would do: which rows the references in the file mean, which rows are stored already, and what the
// server refuses.

import type { CsvRecord } from '../../spreadsheets/csvRecords.ts'
import type { Problem } from './api.ts'
import type { FileColumn } from './importColumns.ts'
import type { StoredRow, TwinRow } from './importMatch.ts'
import type { Reader } from './importParts.ts'
import { countRows, readReferences } from './importReferences.ts'
import { readStored, untilAnswered, type Watch, WHOLE_ROWS_MAX } from './importRequests.ts'
import type { ImportFault, ImportRow, RowReading } from './importRows.ts'
import { requestBodies } from './importSteps.ts'
import type { ImportProperty } from './importTarget.ts'
import { findNamed, type Resource, valueIn } from './resources.ts'
import type { Writable } from './writable.ts'
import { attemptOf, faultsOf, problemOf, write } from './writes.ts'

/** A file, and the collection with which it is compared. */
export interface Question {
  readonly reader: Reader
  readonly resource: Resource
  readonly writable: Writable
  /** Records below the header. */
  readonly records: readonly CsvRecord[]
  readonly columns: readonly FileColumn[]
  /**
   * Name of the property by which stored rows are found for the rows of the file. Empty: all rows are new. Null: the page
   * proposes a property.
   */
  readonly match: string | null
  readingOf(references: RowReading['references']): RowReading
}

/** Number of faults after which the server is not asked about further rows. */
const FAULTS_MAX = 100

/** Returns what the import would do. @throws Problem, AbortError */
export async function checkImport(question: Question, watch: Watch) {
  const { reader, resource, records } = question
  const first = question.readingOf(new Map())
  const references = await readReferences(reader, records, first, watch)
  const values = new Map([...references].map(([name, rows]) => [name, rows.values]))
  const { rows, faults } = reader.readRows(records, question.readingOf(values))
  const properties = [...first.choices.values()].map(({ property }) => property)
  const candidates = reader
    .matchCandidates(rows, properties)
    .filter(({ property }) => findNamed(resource.properties, property.name))
  const usable = candidates.map(({ property }) => property)
  const [candidate] = question.match === null ? usable : usable.filter(({ name }) => name === question.match)
  const stored = candidate === undefined ? [] : await storedRows(question, rows, candidate, watch)
  const wanted = question.match === null ? reader.proposeMatch(rows, candidates, stored) : findNamed(usable, question.match)
  const matched = reader.matchRows(rows, wanted ?? null, stored)
  const all = [...faults, ...matched.faults, ...unsettable(matched.created)]
  if (all.length === 0) all.push(...(await askServer(question, matched.created, watch)))
  const isRecognized = wanted !== undefined && wanted !== null
  return {
    ...matched,
    twins: isRecognized || all.length > 0 ? [] : await findTwins(question, matched.created, watch),
    faults: reader.wordsOfFaults(all, wordsOfColumns(question, first)),
    repeated: reader.repeatedValues(rows, properties),
    match: wanted?.name ?? '',
    matches: usable.map(({ name, label }) => ({ name, label })),
    references,
  }
}

/**
 * Maps names of properties to words such as `column “Eintritt”`. Contains only the columns whose header differs from the label of
 * the property.
 */
function wordsOfColumns({ reader, columns }: Question, { choices }: RowReading): ReadonlyMap<string, string> {
  const words = new Map<string, string>()
  for (const { index, header } of columns) {
    const property = choices.get(index)?.property
    if (property === undefined || reader.plainHeader(header) === reader.plainHeader(property.label)) continue
    words.set(property.name, header === '' ? `column ${index + 1}` : `column “${header}”`)
  }
  return words
}

/**
 * Returns the stored rows, with the properties that the file has. Of a large collection, these are only the rows whose value of
 * `candidate` is in the file.
 */
async function storedRows(
  { resource }: Question,
  rows: readonly ImportRow[],
  candidate: ImportProperty,
  watch: Watch,
): Promise<readonly StoredRow[]> {
  const total = await countRows(resource, watch)
  if (total === 0) return []
  const properties = (rows[0]?.values ?? []).flatMap(({ property }) => findNamed(resource.properties, property.name) ?? [])
  const texts = new Set(rows.flatMap(({ values }) => values.find(({ property }) => property === candidate)?.text ?? []))
  const only = total <= WHOLE_ROWS_MAX ? null : { name: candidate.name, values: [...texts] }
  const names = properties.map(({ name }) => name)
  const stored = await readStored(resource.plural, names, only, watch)
  return stored.map((row) => ({
    id: String(row.id),
    values: new Map(properties.map((property) => [property.name, valueIn(row, property)])),
  }))
}

/**
 * Returns the new rows that equal a stored row in all values. Mostly these are rows without an identifying number, such as
 * absences.
 */
async function findTwins(question: Question, rows: readonly ImportRow[], watch: Watch): Promise<readonly TwinRow[]> {
  const properties = (rows[0]?.values ?? []).map(({ property }) => property)
  // From a large collection, reads only the rows whose value of this property is in the file.
  const candidate =
    properties.find(({ reference }) => reference !== null) ?? properties.find(({ kind }) => kind.name !== 'boolean')
  if (candidate === undefined) return []
  return question.reader.twinsOf(rows, await storedRows(question, rows, candidate, watch))
}

/** Returns a fault for each value that the reader may not set in a new row. */
function unsettable(rows: readonly ImportRow[]): ImportFault[] {
  return rows.flatMap(({ at, values }) =>
    values
      .filter(({ property, text }) => property.writable && !property.mayCreate && text !== null)
      .map(({ property }) => ({
        at,
        name: property.name,
        message: `You may not set ${property.label} in a new row: leave the column out.`,
      })),
  )
}

/** Sends new rows to the server as dry runs, and returns the faults that the server finds. */
async function askServer({ resource, writable }: Question, rows: readonly ImportRow[], watch: Watch): Promise<ImportFault[]> {
  const faults: ImportFault[] = []
  watch.show({ done: 0, total: rows.length })
  let done = 0
  for (const { body, places } of requestBodies(rows, writable)) {
    const attempt = { ...attemptOf(body), key: '' }
    try {
      await untilAnswered(() => write('POST', `${resource.plural}?dryRun=1`, attempt), watch)
    } catch (error) {
      const problem = problemOf(error)
      if (problem.status !== 400 && problem.status !== 403 && problem.status !== 409) throw problem
      faults.push(...rowFaults(problem, places))
    }
    watch.show({ done: (done += places.length) })
    if (faults.length >= FAULTS_MAX) break
  }
  return faults
}

/** Returns the faults of a refused request. `places`: positions of the request's rows in the file. */
export function rowFaults(problem: Problem, places: readonly string[]): ImportFault[] {
  const all = placesInWords(places)
  return faultsOf(problem).map(({ target, message }) => {
    const [, index, name = ''] = /^\[(\d+)\]\.?(.*)$/.exec(target) ?? []
    const words = message.replace(/^\[\d+\]: /, '').replace(/^\[\d+\]/, 'The row')
    const text = words.replace(/\[(\d+)\](?= has this value\.$)/, (own, at) => places[Number(at)] ?? own)
    return { at: places[Number(index)] ?? all, name, message: text }
  })
}

/** Returns words for rows that follow each other: `line 2`, or `line 2 to line 101`. */
export function placesInWords(places: readonly string[]): string {
  const [first = ''] = places
  return places.length > 1 ? `${first} to ${places.at(-1)}` : first
}

// The second script of /explore, which is loaded when a file is dropped or chosen. It reads the file; the state of the page is in
// the first script.
import { FileFault } from '../../spreadsheets/csvRecords.ts'
import { type FaultGroup, faultValues, groupFaults, rowsInWords } from '../../spreadsheets/faults.ts'
import { openFile, UnknownEncoding } from '../../spreadsheets/openedFile.ts'
import { WorkbookFault } from '../../spreadsheets/workbook.ts'
import type { ImportFault } from './importRows.ts'

export { plainHeader } from '../../spreadsheets/columns.ts'
export { findNotation } from '../../spreadsheets/foundNotation.ts'
export { notationOf, PROPOSED } from '../../spreadsheets/notation.ts'
export { isPlaceholder } from '../../spreadsheets/placeholders.ts'
export { ReferenceValues } from '../../spreadsheets/referenceValues.ts'
export { footerOf, headerOf, mismatchedColumns, proposeColumns } from './importColumns.ts'
export { matchCandidates, matchRows, proposeMatch, repeatedValues, twinsOf } from './importMatch.ts'
export { readRows } from './importRows.ts'
export { openFile }

/** Returns what is wrong with a file that cannot be opened, and what to do. */
export function wordsOf(error: unknown): string {
  if (error instanceof WorkbookFault) return `${error.row === null ? '' : `Row ${error.row}: `}${error.message}.`
  if (error instanceof FileFault) return `Line ${error.line}: ${error.message}.`
  const isEncoding = error instanceof UnknownEncoding || error instanceof TypeError
  return isEncoding ? 'its encoding is not known: choose it, or save the file as .xlsx or as “CSV UTF-8”.' : String(error)
}

/**
 * Returns the faults of rows as sentences. Equal faults share a sentence: `12 rows, the first 2, 3 and 4, column “Eintritt”:
 * Started is no day. They are "x", "y".` `columns`: words for columns by the names of their properties. A column without words is
 * not named.
 */
export function wordsOfFaults(faults: readonly ImportFault[], columns: ReadonlyMap<string, string>): readonly string[] {
  const sorted = faults.toSorted((one, other) => lineOf(one) - lineOf(other))
  const byColumn = Map.groupBy(sorted, ({ name }) => columns.get(name ?? ''))
  return [...byColumn].flatMap(([column, own]) => groupFaults(own).map((group) => wordsOfGroup(group, column)))
}

function wordsOfGroup({ message, rows, values }: FaultGroup, column: string | undefined): string {
  const own = [...values].filter((value) => value !== '' && !message.includes(value))
  const listed = own.length === 0 ? '' : ` ${own.length === 1 ? 'It is' : 'They are'} ${faultValues(own)}.`
  const lines = rowsInWords(rows).replace(/^[a-z]/, (letter) => letter.toUpperCase())
  return `${lines}${column === undefined ? '' : `, ${column}`}: ${message}${listed}`
}

const lineOf = ({ at }: ImportFault) => Number(/\d+/.exec(at)?.[0])

// Finds header and footer of a dropped file, and proposes the property to which each column goes.
import { KIND_TRAITS } from '../../model/kindTraits.ts'
import { findColumn, type NamedColumn, plainHeader } from '../../spreadsheets/columns.ts'
import type { CsvRecord } from '../../spreadsheets/csvRecords.ts'
import { FOOTER_ROWS_MAX, FooterFinder } from '../../spreadsheets/footer.ts'
import { HEADER_ROWS_MAX, headerIndex, joinedHeader } from '../../spreadsheets/headerRow.ts'
import { meaningsOf } from '../../spreadsheets/headerWords.ts'
import { areYesOrNo } from '../../spreadsheets/notation.ts'
import type { ImportProperty } from './importTarget.ts'

/**
 * A choice for a column. The cell has the value of `property`; or `property` is a reference, and the cell has the value of the
 * property `by` of the referenced row.
 */
export interface Choice {
  /** Name of the choice: `EmployeeNumber`, `CompanyId`, or `CompanyId=Name`. */
  readonly value: string
  readonly label: string
  /** Headers that stand for this choice. */
  readonly names: readonly string[]
  readonly property: ImportProperty
  /**
   * Property of the referenced row that is compared with the cell to find the row; null: the cell has the value of `property`
   * itself.
   */
  readonly by: string | null
  /** Words for `by`; empty if `by` is null. */
  readonly byWords: string
}

/** A column of the file. */
export interface FileColumn {
  readonly index: number
  readonly header: string
  /** First values of the column, without repeated values. */
  readonly examples: readonly string[]
}

/** `Choice.value` by the index of the column. A column that is left out has no entry. */
export type Chosen = ReadonlyMap<number, string>

/** Names of the columns of a sheet. */
export interface Header {
  /** Index of the header's record. If the header has two records, index of the first record. */
  readonly index: number
  /** Index of the first record below the header. */
  readonly body: number
  readonly names: CsvRecord['cells']
}

/** Returns the header of a sheet. `index`: index of the header's record; null to find it. */
export function headerOf(records: readonly CsvRecord[], choices: readonly Choice[], index: number | null): Header {
  const named = namedColumns(choices)
  const first = records.slice(0, HEADER_ROWS_MAX).map(({ cells }) => cells)
  const headerAt = index ?? headerIndex(first, (name) => findMeant(name, named) !== undefined)
  const names = records[headerAt]?.cells ?? []
  const joined = joinedHeader(names, records[headerAt + 1]?.cells ?? [])
  return { index: headerAt, body: headerAt + (joined === null ? 1 : 2), names: joined ?? names }
}

/** Returns how many of the last records below the header seem to be totals or notes. */
export function footerOf(records: readonly CsvRecord[]): number {
  const finder = new FooterFinder()
  // Counts all records before the last one as rows of the table, for the average number of cells in a row. Some of these records
  // may be totals, but without them a short table could have too few rows for an average.
  for (const record of records.slice(0, -1)) finder.add(record)
  return finder.count(records.slice(-FOOTER_ROWS_MAX))
}

const namedColumns = (choices: readonly Choice[]): readonly NamedColumn<Choice>[] =>
  choices.map((choice) => ({ names: choice.names, of: choice }))

/** Returns the choice that a header names, in the API's words or in words of another language; undefined if there is none. */
function findMeant(header: string, named: readonly NamedColumn<Choice>[]): Choice | undefined {
  const own = findColumn(header, named)
  if (own !== undefined) return own
  for (const name of meaningsOf(header)) {
    const found = findColumn(name, named) ?? onlyBy(name, named)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Returns the choice that finds referenced rows by the property `name`, such as employees by their number. Returns undefined if
 * there is no such choice, or several.
 */
function onlyBy(name: string, named: readonly NamedColumn<Choice>[]): Choice | undefined {
  const found = named.filter(({ of }) => of.by === name)
  return found.length === 1 ? found[0]?.of : undefined
}

/**
 * Proposes a choice for each column. `remembered`: the reader's earlier choices by header; an empty choice leaves the column out.
 * `mismatched`: columns to leave out, by index.
 */
export function proposeColumns(
  columns: readonly FileColumn[],
  choices: readonly Choice[],
  remembered: ReadonlyMap<string, string>,
  mismatched: ReadonlyMap<number, ImportProperty>,
): Chosen {
  const named = namedColumns(choices)
  const chosen = new Map<number, string>()
  const takenBy = new Map<string, number>()
  for (const { index, header, examples } of columns) {
    const before = remembered.get(plainHeader(header))
    if (before === '') continue
    const chosenBefore = choices.find(({ value }) => value === before)
    const known = chosenBefore ?? findMeant(header, named)
    const choice = known && fitting(known, choices, examples)
    if (choice === undefined || mismatched.has(index)) continue
    const { name } = choice.property
    const other = takenBy.get(name)
    // If two columns go to one reference, the column with ids is taken, because two rows can have the same name.
    if (other !== undefined && (choice.by !== null || chosen.get(other) === name)) continue
    if (other !== undefined) chosen.delete(other)
    takenBy.set(name, index)
    chosen.set(index, choice.value)
  }
  return chosen
}

/**
 * True if the property is a free text, but the values are yes and no. Then the column may not belong to the property: a column
 * `Status`, for example, can say whether a row is active.
 */
function isMismatched({ property, by }: Choice, examples: readonly string[]): boolean {
  return by === null && KIND_TRAITS[property.kind.name].isFreeText && areYesOrNo(examples)
}

/**
 * Returns the columns whose values are yes and no, although their headers name free texts. Key: index of the column. Value: the
 * property that its header names. Columns with an earlier choice of the reader are left out. `remembered`: as for
 * `proposeColumns`.
 */
export function mismatchedColumns(
  columns: readonly FileColumn[],
  choices: readonly Choice[],
  remembered: ReadonlyMap<string, string>,
): ReadonlyMap<number, ImportProperty> {
  const named = namedColumns(choices)
  const isKnown = (before: string | undefined) => before === '' || choices.some(({ value }) => value === before)
  return new Map(
    columns.flatMap(({ index, header, examples }) => {
      if (isKnown(remembered.get(plainHeader(header)))) return []
      const choice = findMeant(header, named)
      return choice && isMismatched(choice, examples) ? [[index, choice.property] as const] : []
    }),
  )
}

/**
 * Returns `choice`. But if it expects ids, and an example is no id, returns a choice of the same property that finds rows by a
 * name.
 */
function fitting(choice: Choice, choices: readonly Choice[], examples: readonly string[]): Choice | undefined {
  const isReference = choice.property.references !== null
  if (!isReference || choice.by !== null || examples.every((text) => /^\d+$/.test(text.trim()))) return choice
  return choices.find(({ property, by }) => property.name === choice.property.name && by !== null) ?? choice
}

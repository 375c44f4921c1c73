// Where the columns of a dropped file may go, and where each of them is proposed to go.
import { KIND_TRAITS } from '../../model/kindTraits.ts'
import { findColumn, type NamedColumn, plainHeader } from '../../spreadsheets/columns.ts'
import type { CsvRecord } from '../../spreadsheets/csvRecords.ts'
import { FOOTER_ROWS_MAX, FooterFinder } from '../../spreadsheets/footer.ts'
import { HEADER_ROWS_MAX, headerIndex, joinedHeader } from '../../spreadsheets/headerRow.ts'
import { meaningsOf } from '../../spreadsheets/headerWords.ts'
import { areYesOrNo } from '../../spreadsheets/notation.ts'
import type { ImportProperty } from './importTarget.ts'

/** A place for a column to go: a property, or the row that a reference names, found by a value of that row. */
export interface Choice {
  /** `EmployeeNumber`, `CompanyId`, or `CompanyId=Name`. */
  readonly value: string
  readonly label: string
  /** Names by which a header means it. */
  readonly names: readonly string[]
  readonly property: ImportProperty
  /** Property of the other row that has the value; null: the cell has the value itself. */
  readonly by: string | null
  /** Words for `by`; empty if it is null. */
  readonly byWords: string
}

/** A column of the file. */
export interface FileColumn {
  readonly index: number
  readonly header: string
  /** Its first values. */
  readonly examples: readonly string[]
}

/** Values of `Choice` by the index of the column; columns that are left out have none. */
export type Chosen = ReadonlyMap<number, string>

/** Names of the columns of a sheet. */
export interface Header {
  /** Index of its record; a header over two rows begins there. */
  readonly index: number
  /** Index of the first record below the header. */
  readonly body: number
  readonly names: CsvRecord['cells']
}

/** Returns the header of a sheet. `index`: of its record; null to find it. */
export function headerOf(records: readonly CsvRecord[], choices: readonly Choice[], index: number | null): Header {
  const named = namedColumns(choices)
  const first = records.slice(0, HEADER_ROWS_MAX).map(({ cells }) => cells)
  const place = index ?? headerIndex(first, (name) => findMeant(name, named) !== undefined)
  const names = records[place]?.cells ?? []
  const joined = joinedHeader(names, records[place + 1]?.cells ?? [])
  return { index: place, body: place + (joined === null ? 1 : 2), names: joined ?? names }
}

/** Returns how many of the last records below the header seem to be totals or notes. */
export function footerOf(records: readonly CsvRecord[]): number {
  const finder = new FooterFinder()
  // The rows before a total may be all that the table has.
  for (const record of records.slice(0, -1)) finder.add(record)
  return finder.count(records.slice(-FOOTER_ROWS_MAX))
}

const namedColumns = (choices: readonly Choice[]): readonly NamedColumn<Choice>[] =>
  choices.map((choice) => ({ names: choice.names, of: choice }))

/** Returns what a header names, or what it means in another language; undefined: neither. */
function findMeant(header: string, named: readonly NamedColumn<Choice>[]): Choice | undefined {
  const own = findColumn(header, named)
  if (own !== undefined) return own
  for (const name of meaningsOf(header)) {
    const found = findColumn(name, named) ?? onlyBy(name, named)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the row of another collection that this property finds, such as an absence's employee; undefined if several do. */
function onlyBy(name: string, named: readonly NamedColumn<Choice>[]): Choice | undefined {
  const found = named.filter(({ of }) => of.by === name)
  return found.length === 1 ? found[0]?.of : undefined
}

/**
 * Proposes where each column goes. `remembered`: what the reader has chosen for a header before; empty: left out. `doubtful`:
 * columns that go nowhere.
 */
export function proposeColumns(
  columns: readonly FileColumn[],
  choices: readonly Choice[],
  remembered: ReadonlyMap<string, string>,
  doubtful: ReadonlyMap<number, ImportProperty>,
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
    if (choice === undefined || doubtful.has(index)) continue
    const { name } = choice.property
    const other = takenBy.get(name)
    // An id says more than a name that was copied along it.
    if (other !== undefined && (choice.by !== null || chosen.get(other) === name)) continue
    if (other !== undefined) chosen.delete(other)
    takenBy.set(name, index)
    chosen.set(index, choice.value)
  }
  return chosen
}

/** True for a free text whose column says yes and no, as a column *Status* that means *is active*. */
function isDoubtful({ property, by }: Choice, examples: readonly string[]): boolean {
  return by === null && KIND_TRAITS[property.kind.name].isFreeText && areYesOrNo(examples)
}

/**
 * Returns the columns that say yes and no although their headers name free texts, with the properties of these. Columns for which
 * the reader has chosen before are not among them. `remembered`: as for `proposeColumns`.
 */
export function doubtfulColumns(
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
      return choice && isDoubtful(choice, examples) ? [[index, choice.property] as const] : []
    }),
  )
}

/** Returns the choice, or the one by a name if a column that is called as the id has names. */
function fitting(choice: Choice, choices: readonly Choice[], examples: readonly string[]): Choice | undefined {
  const isReference = choice.property.references !== null
  if (!isReference || choice.by !== null || examples.every((text) => /^\d+$/.test(text.trim()))) return choice
  return choices.find(({ property, by }) => property.name === choice.property.name && by !== null) ?? choice
}

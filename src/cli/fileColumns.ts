// Decides what the columns of a file are: properties to write, values to look up, columns to leave out.
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { haveOf } from '../model/names.ts'
import { suggest } from '../model/nearest.ts'
import { wholeView } from '../model/view.ts'
import { findMember, listed } from '../parse/names.ts'
import { faultOfPath, findRelated, referenceOfCopy } from '../parse/paths.ts'
import {
  ALL_OTHERS,
  findColumn,
  type HeaderMapping,
  mappedColumn,
  type NamedColumn,
  plainHeader,
  shellWord,
  unusedKey,
} from '../spreadsheets/columns.ts'
import { type CsvRecord, FileFault } from '../spreadsheets/csvRecords.ts'
import { copiedSource, knownColumns, type Proposal, proposeMeanings } from './headerMeanings.ts'
import type { Lookup } from './lookups.ts'

/** Reason why columns with a path, such as `EmployeeId.Department`, are not imported. */
export const OF_OTHER_ROWS = 'they are properties of other rows'

/** A column that is imported. `lookup`: null if its cells are values of the property itself. */
export interface FileColumn {
  readonly property: Property
  readonly lookup: Lookup | null
  readonly index: number
}

/** Options of the command that say what the columns are. */
export interface ColumnChoice {
  readonly mapping: HeaderMapping
  readonly lookups: readonly Lookup[]
  /** Property of `--match`, which is read even if clients cannot write it; null: no `--match`. */
  readonly matched: Property | null
  /** Reports columns that are left out. */
  onNote(text: string): void
}

/** Fault of a header. The caller can add to the message which options the rows of the file need. */
export class HeaderFault extends FileFault {}

interface NamedIndex {
  readonly property: Property
  readonly header: string
  readonly index: number
}

/** Faults of a header. They are reported together, so that the user can correct all of them at once. */
interface HeaderFaults {
  /** Indexes of columns whose names are not known. */
  readonly unknown: number[]
  readonly sentences: string[]
}

/**
 * Returns the columns to import. `header`: without empty cells at its end. `unnamed`: indexes of columns that have values but no
 * name. @throws FileFault
 */
export function columnsOf(
  entity: Entity,
  header: CsvRecord,
  choice: ColumnChoice,
  unnamed: readonly number[] = [],
): FileColumn[] {
  const faults: HeaderFaults = { unknown: [], sentences: [] }
  const named = namedColumns(entity, header, choice, faults)
  const isRead = ({ property }: NamedIndex) => property.writable || property === choice.matched
  const columns: FileColumn[] = []
  const left: NamedIndex[] = []
  for (const column of named) {
    const lookup = choice.lookups.find(({ column: of }) => of === column.property) ?? null
    if (lookup !== null) columns.push({ property: lookup.reference, lookup, index: column.index })
    else if (isRead(column)) columns.push({ property: column.property, lookup: null, index: column.index })
    else left.push(column)
  }
  requireNamed(header, choice.lookups, named)
  addUnnamed(choice, header, unnamed, faults)
  for (const column of left) addCopied(entity, column, columns, choice, faults)
  if (faults.unknown.length + faults.sentences.length > 0) throw headerFault(entity, header, named, faults)
  requireLookups(entity, header, choice.lookups, columns)
  if (columns.length === 0) throw new FileFault(header.line, 'none of these columns is one that clients write')
  reportLeft(left, choice)
  return columns
}

function namedColumns(entity: Entity, header: CsvRecord, choice: ColumnChoice, faults: HeaderFaults): NamedIndex[] {
  const { mapping } = choice
  const known = knownColumns(entity)
  const named: NamedIndex[] = []
  const others: string[] = []
  for (const [index, cell] of header.cells.entries()) {
    const name = (cell ?? '').trim()
    const mapped = mappedColumn(mapping, header.cells, index)
    // A column that an option leaves out is skipped. So is a column without a name: if it has values, `addUnnamed` adds a fault.
    if (mapped === null || (name === '' && mapped === undefined)) continue
    const property = propertyNamed(entity, header.line, mapped ?? name, known)
    const other = named.find((one) => one.property === property)
    if (property === null && mapped !== undefined)
      throw new FileFault(header.line, `--column ${name || index + 1}: ${faultOf(entity, mapped)}`)
    if (property === null && mapping.has(ALL_OTHERS)) others.push(name)
    else if (property === null) faults.unknown.push(index)
    else if (other) faults.sentences.push(twiceText(name || property.name, other.index, index))
    else named.push({ property, header: name || property.name, index })
  }
  const unused = unusedKey(mapping, header.cells)
  if (unused !== undefined) throw new FileFault(header.line, `--column names no column: "${unused}"`)
  if (others.length > 0) choice.onNote(`left out by --column '*=': ${others.join(', ')}`)
  return named
}

function twiceText(name: string, first: number, second: number): string {
  return `${name} is there twice, in columns ${first + 1} and ${second + 1}: --column ${second + 1}= leaves out the second.`
}

function addUnnamed({ mapping }: ColumnChoice, { cells }: CsvRecord, unnamed: readonly number[], faults: HeaderFaults): void {
  if (mapping.has(ALL_OTHERS)) return
  const free = unnamed.filter((index) => mappedColumn(mapping, cells, index) === undefined)
  if (free.length > 0) faults.sentences.push(`${unnamedText(free)}.`)
}

/** Returns the fault of columns that have values but no names, with the options that leave these columns out. */
export function unnamedText(indexes: readonly number[]): string {
  const numbers = indexes.map((index) => index + 1)
  const options = numbers.map((number) => `--column ${number}=`).join(' ')
  return numbers.length === 1
    ? `Column ${numbers[0]} has values, and no name in the header: ${options} leaves it out`
    : `Columns ${numbers.join(', ')} have values, and no names in the header: ${options} leaves them out`
}

/** Returns whether a cell is a header that the mapping imports, or the name of a property. */
export function isColumnName(entity: Entity, { mapping }: ColumnChoice, name: string): boolean {
  if (name.trim() === '') return false
  if (mappedColumn(mapping, [name], 0)) return true
  return findMember(entity, name) !== undefined || findColumn(name, knownColumns(entity)) !== undefined
}

function propertyNamed(entity: Entity, line: number, name: string, known: readonly NamedColumn<Property>[]): Property | null {
  const view = wholeView(entity)
  const member = findMember(entity, name)
  if (member && isGroup(member)) {
    const parts = member.properties.map(({ path }) => path.join('.'))
    throw new FileFault(line, `${name} is an object; its parts have columns of their own: ${parts.join(', ')}`)
  }
  return member ?? findRelated(view, name) ?? findColumn(name, known) ?? relatedByWords(entity, name) ?? null
}

/** Returns the related property for a header in the words of `/explore`: `Employee: Department` → `EmployeeId.Department`. */
function relatedByWords(entity: Entity, name: string): Property | undefined {
  const [role = '', rest] = name.split(':')
  if (rest === undefined) return undefined
  const reference = entity.properties.find(
    (property) => property.reference !== null && plainHeader(property.name).replace(/id$/, '') === plainHeader(role),
  )
  const target = reference?.reference?.target
  const property = target && findColumn(rest, knownColumns(target))
  if (!reference || !property) return undefined
  return findRelated(wholeView(entity), `${reference.name}.${property.name}`)
}

/** Returns a sentence about an unknown name, with the name that was probably meant. */
function faultOf(entity: Entity, name: string): string {
  return `${entity.plural} ${haveOf(entity)} no property "${name}".${hintFor(entity, name)}`
}

function hintFor(entity: Entity, name: string): string {
  const known = entity.properties.map(({ path }) => path.join('.'))
  return faultOfPath(wholeView(entity), name) ?? suggest(name, known)
}

/** Returns one fault that lists everything that is wrong with a header. */
function headerFault(
  entity: Entity,
  { line, cells }: CsvRecord,
  named: readonly NamedIndex[],
  { unknown, sentences }: HeaderFaults,
): HeaderFault {
  const proposals = proposeMeanings(
    entity,
    cells,
    unknown,
    named.map(({ property }) => property),
  )
  const rest = unknown.filter((index) => !proposals.some((proposal) => proposal.index === index))
  const nameOf = (index: number) => (cells[index] ?? '').trim()
  const near = rest.filter((index) => hintFor(entity, nameOf(index)) !== '')
  const others = unknown.filter((index) => !near.includes(index)).map((index) => `"${nameOf(index)}"`)
  const lines = near.map((index) => faultOf(entity, nameOf(index)))
  if (others.length > 0)
    lines.push(`${entity.plural} ${haveOf(entity)} no ${others.length === 1 ? 'property' : 'properties'} ${others.join(', ')}.`)
  lines.push(...sentences)
  if (proposals.length > 0) lines.push(proposalLine(cells, proposals))
  if (rest.length > 0) lines.push(...optionLines(cells, rest))
  if (unknown.length > 0) lines.push(...freeLines(entity, named, proposals))
  return new HeaderFault(line, lines.join('\n'))
}

function proposalLine(cells: CsvRecord['cells'], proposals: readonly Proposal[]): string {
  const names = proposals.map(({ property }) => property.name)
  const options = proposals.map(({ index, property: { name }, by }) => {
    const lookup = by === null ? '' : ` --lookup ${name}=${by.name}`
    return `--column ${columnWord(cells, index)}=${name}${lookup}`
  })
  return `Probably ${listed(names, 'and')}: ${options.join(' ')}`
}

function optionLines(cells: CsvRecord['cells'], rest: readonly number[]): string[] {
  const options = rest.map((index) => `--column ${columnWord(cells, index)}=`)
  return [
    `Write the property after each =, or nothing to leave the column out: ${options.join(' ')}`,
    ...(rest.length > 1 ? [`To leave out all that are not given: --column '*='`] : []),
  ]
}

/** Returns the word for a column in an option: its header, or its position if several columns have the same header. */
function columnWord(cells: CsvRecord['cells'], index: number): string {
  const plain = plainHeader(cells[index] ?? '')
  const isSingle = cells.filter((cell) => plainHeader(cell ?? '') === plain).length === 1
  return isSingle ? shellWord(cells[index] ?? '') : String(index + 1)
}

/** Returns lines that list the properties without a column, and the `--lookup` options of references. */
function freeLines(entity: Entity, named: readonly NamedIndex[], proposals: readonly Proposal[]): string[] {
  const isProposed = (property: Property) => proposals.some(({ sets }) => sets === property)
  const isNamed = (property: Property) => named.some((column) => column.property === property)
  const writable = entity.properties.filter((property) => property.writable && !isProposed(property))
  const free = writable.filter((property) => !isNamed(property)).map(({ name }) => name)
  const lookups = writable.flatMap(({ name, reference }) => {
    const by = reference?.target?.properties.find(({ kind, writable: isOwn }) => isOwn && kind.isFreeText)
    return by ? [`--lookup ${name}=${by.name}`] : []
  })
  return [
    ...(free.length > 0 ? [`Properties without a column: ${free.join(', ')}`] : []),
    ...(lookups.length > 0 ? [`References are ids. If the file has names or numbers of those rows: ${lookups.join(', ')}`] : []),
  ]
}

/** Checks that the file has a column for each lookup. @throws FileFault */
function requireNamed({ line }: CsvRecord, lookups: readonly Lookup[], named: readonly NamedIndex[]): void {
  for (const { column, by } of lookups)
    if (!named.some(({ property }) => property === column)) {
      const option = `--lookup ${column.name}=${by.name}`
      throw new FileFault(line, `${option}: the file has no column ${column.name}. --column <header>=${column.name} names it`)
    }
}

/** Checks that no more than one column sets a reference that has a lookup. @throws FileFault */
function requireLookups(entity: Entity, { line }: CsvRecord, lookups: readonly Lookup[], columns: readonly FileColumn[]): void {
  for (const { column, reference, by } of lookups) {
    const own = columns.filter(({ property }) => property === reference)
    const option = `--lookup ${column.name}=${by.name}`
    if (own.length > 1)
      throw new FileFault(line, `${option}: two columns would set ${reference.name} of ${entity.plural}; leave one out`)
  }
}

/**
 * Adds a fault for a column with values of referred rows if no column sets the reference to these rows: the import could not use
 * the values.
 */
function addCopied(
  entity: Entity,
  { property, header }: NamedIndex,
  columns: readonly FileColumn[],
  { mapping }: ColumnChoice,
  faults: HeaderFaults,
): void {
  const reference = property.related?.reference ?? referenceOfCopy(wholeView(entity), property)
  const target = reference?.reference?.target
  if (!reference || !target || !reference.writable || columns.some((column) => column.property === reference)) return
  if (mapping.has(ALL_OTHERS)) return
  const copied = property.related?.property ?? copiedSource(reference)
  const by = copied?.name ?? target.id.name
  const of = `${header} is ${by} of the row that ${reference.name} names, and no column is ${reference.name}`
  const option = property.related
    ? `--column ${shellWord(header)}=${reference.name} --lookup ${reference.name}=${by}`
    : `--lookup ${property.name}=${by}`
  faults.sentences.push(
    `${of}: it would set nothing. Give ${option} to find the rows by it, or --column ${shellWord(header)}= to leave it out.`,
  )
}

function reportLeft(left: readonly NamedIndex[], { onNote }: ColumnChoice): void {
  const own = left.filter(({ property }) => property.related === null)
  const others = left.filter(({ property }) => property.related !== null)
  const namesOf = (columns: readonly NamedIndex[]) => columns.map(({ property }) => property.path.join('.')).join(', ')
  if (own.length > 0) onNote(`left out, since the server makes them: ${namesOf(own)}`)
  if (others.length > 0) onNote(`left out, since ${OF_OTHER_ROWS}: ${namesOf(others)}`)
}

// Decides what the columns of a file are: properties to write, values to look up, columns to leave out.
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { haveOf } from '../model/names.ts'
import { suggest } from '../model/nearest.ts'
import { wholeView } from '../model/view.ts'
import { findMember } from '../parse/names.ts'
import { faultOfPath, findRelated, referenceOfCopy } from '../parse/paths.ts'
import { findColumn, type HeaderMapping, mappedName, type NamedColumn, plainHeader, shellWord } from '../spreadsheets/columns.ts'
import { type CsvRecord, FileFault } from '../spreadsheets/csvRecords.ts'
import type { Lookup } from './lookups.ts'

/** Why columns with a path are not imported. */
export const OF_OTHER_ROWS = 'they are properties of other rows'

/** A column that is imported. `lookup`: null if its cells are values of the property itself. */
export interface FileColumn {
  readonly property: Property
  readonly lookup: Lookup | null
  readonly index: number
}

/** The options of the command about columns. */
export interface ColumnChoice {
  readonly mapping: HeaderMapping
  readonly lookups: readonly Lookup[]
  /** Property of `--match`, which is read even if clients cannot write it; null: no `--match`. */
  readonly matched: Property | null
  /** Reports columns that are left out. */
  onNote(text: string): void
}

/** Fault of a header with columns that are not known, to which more can be added. */
export class UnknownColumns extends FileFault {}

interface NamedIndex {
  readonly property: Property
  readonly header: string
  readonly index: number
}

/** Returns the number of columns, and those to import. `header`: without empty cells at its end. @throws FileFault */
export function columnsOf(entity: Entity, header: CsvRecord, choice: ColumnChoice): FileColumn[] {
  const named = namedColumns(entity, header, choice.mapping)
  const isRead = ({ property }: NamedIndex) => property.writable || property === choice.matched
  const columns: FileColumn[] = []
  const left: NamedIndex[] = []
  for (const column of named) {
    const lookup = choice.lookups.find(({ column: of }) => of === column.property) ?? null
    if (lookup !== null) columns.push({ property: lookup.reference, lookup, index: column.index })
    else if (isRead(column)) columns.push({ property: column.property, lookup: null, index: column.index })
    else left.push(column)
  }
  requireLookups(entity, header, choice.lookups, columns)
  for (const column of left) requireReference(entity, header, column, columns)
  if (columns.length === 0) throw new FileFault(header.line, 'none of these columns is one that clients write')
  reportLeft(left, choice)
  return columns
}

function namedColumns(entity: Entity, header: CsvRecord, mapping: HeaderMapping): NamedIndex[] {
  const known = knownColumns(entity)
  const named: NamedIndex[] = []
  const unknown: string[] = []
  for (const [index, cell] of header.cells.entries()) {
    const name = (cell ?? '').trim()
    // A column without a name may have no values: recordReader checks each row.
    if (name === '') continue
    const mapped = mappedName(mapping, name)
    if (mapped === null) continue
    const property = propertyNamed(entity, header.line, mapped ?? name, known)
    if (property === null) {
      if (mapped !== undefined) throw new FileFault(header.line, `--column ${name}: ${faultOf(entity, mapped)}`)
      unknown.push(name)
    } else if (named.some((other) => other.property === property)) throw new FileFault(header.line, `${name} is there twice`)
    else named.push({ property, header: name, index })
  }
  for (const name of mapping.keys())
    if (!header.cells.some((cell) => cell?.trim().toLowerCase() === name))
      throw new FileFault(header.line, `--column names no column: "${name}"`)
  if (unknown.length > 0) throw unknownColumns(entity, header, named, unknown)
  return named
}

/** Returns the names of an entity's properties: those of the API, and the words of `/explore`, such as `Employee: Department`. */
function knownColumns(entity: Entity): NamedColumn<Property>[] {
  return entity.properties.map((property) => ({ names: [property.name, property.path.join(' ')], of: property }))
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

/** Finds `Employee: Department`, as `/explore` calls `EmployeeId.Department`. */
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

/** Returns a sentence about a name, with what was probably meant. */
function faultOf(entity: Entity, name: string): string {
  return `${entity.plural} ${haveOf(entity)} no property "${name}".${hintFor(entity, name)}`
}

function hintFor(entity: Entity, name: string): string {
  const known = entity.properties.map(({ path }) => path.join('.'))
  return faultOfPath(wholeView(entity), name) ?? suggest(name, known)
}

/** Returns the fault for all unknown headers together, so that one more attempt is enough. */
function unknownColumns(
  entity: Entity,
  header: CsvRecord,
  named: readonly NamedIndex[],
  unknown: readonly string[],
): UnknownColumns {
  const isNear = (name: string) => hintFor(entity, name) !== ''
  const others = unknown.filter((name) => !isNear(name))
  const noun = others.length === 1 ? 'property' : 'properties'
  const listed = others.map((name) => `"${name}"`).join(', ')
  const faults = unknown.filter(isNear).map((name) => faultOf(entity, name))
  if (others.length > 0) faults.push(`${entity.plural} ${haveOf(entity)} no ${noun} ${listed}.`)
  const free = entity.properties.filter((property) => property.writable && !named.some((column) => column.property === property))
  const options = unknown.map((name) => `--column ${shellWord(name)}=`).join(' ')
  const lines = [
    faults.join('\n'),
    ...(named.length === 0 ? ['If the names of the columns are in another line, as below a title, name it: --header 3'] : []),
    `Write the property after each =, or nothing to leave the column out: ${options}`,
    `Properties without a column: ${free.map(({ name }) => name).join(', ')}`,
  ]
  return new UnknownColumns(header.line, lines.join('\n'))
}

/** Checks that the file has a column for each lookup, and one column for each reference. @throws FileFault */
function requireLookups(entity: Entity, { line }: CsvRecord, lookups: readonly Lookup[], columns: readonly FileColumn[]): void {
  for (const { column, reference, by } of lookups) {
    const own = columns.filter(({ property }) => property === reference)
    const option = `--lookup ${column.name}=${by.name}`
    if (!own.some(({ lookup }) => lookup?.column === column))
      throw new FileFault(line, `${option}: the file has no column ${column.name}. --column <header>=${column.name} names it`)
    if (own.length > 1)
      throw new FileFault(line, `${option}: two columns would set ${reference.name} of ${entity.plural}; leave one out`)
  }
}

/** Refuses a column that would decide nothing: a copied name whose reference has no column. @throws FileFault */
function requireReference(
  entity: Entity,
  { line }: CsvRecord,
  { property, header }: NamedIndex,
  columns: readonly FileColumn[],
): void {
  const reference = property.related?.reference ?? referenceOfCopy(wholeView(entity), property)
  const target = reference?.reference?.target
  if (!reference || !target || !reference.writable || columns.some((column) => column.property === reference)) return
  const copied =
    property.related?.property ?? target.properties.find(({ column }) => column === reference.reference?.copy?.source)
  const by = copied?.name ?? target.id.name
  const of = `${header} is ${by} of the row that ${reference.name} names, and no column is ${reference.name}`
  const option = property.related
    ? `--column ${shellWord(header)}=${reference.name} --lookup ${reference.name}=${by}`
    : `--lookup ${property.name}=${by}`
  throw new FileFault(
    line,
    `${of}: it would set nothing. Give ${option} to find the rows by it, or --column ${shellWord(header)}= to leave it out`,
  )
}

function reportLeft(left: readonly NamedIndex[], { onNote }: ColumnChoice): void {
  const own = left.filter(({ property }) => property.related === null)
  const others = left.filter(({ property }) => property.related !== null)
  const listed = (columns: readonly NamedIndex[]) => columns.map(({ property }) => property.path.join('.')).join(', ')
  if (own.length > 0) onNote(`left out, since the server makes them: ${listed(own)}`)
  if (others.length > 0) onNote(`left out, since ${OF_OTHER_ROWS}: ${listed(others)}`)
}

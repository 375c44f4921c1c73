// Finds rows by the values in the cells of a column: `--lookup Company=Name` finds companies by their names.
import type { Entity, Property } from '../model/entity.ts'
import { wholeView } from '../model/view.ts'
import { suggestOrList } from '../parse/nearestProperty.ts'
import { referenceOfCopy } from '../parse/paths.ts'
import { findColumn } from '../spreadsheets/columns.ts'
import { ReferenceValues } from '../spreadsheets/referenceValues.ts'
import { CommandError } from './run.ts'
import {
  type Collection,
  countRows,
  printedText,
  readAllRows,
  readRowsWith,
  type ValueTexts,
  WHOLE_ROWS_MAX,
} from './storedRows.ts'

/** Maximum number of different values of one lookup. They are held in memory. */
const VALUES_MAX = 100_000

/**
 * A column whose cells identify rows by one of their values, such as companies by `Name`. The import sets the reference to the
 * ids of these rows.
 */
export class Lookup {
  /** Ids of the rows by value; null until `read` has read them. */
  private ids: ReferenceValues | null = null
  /** Values to look for, which `find` collects until `read` is called. */
  private readonly wanted = new Set<string>()
  private readonly faults = new Map<string, string>()

  constructor(
    /** Property that the header names: the reference, or the property that is copied along the reference. */
    readonly column: Property,
    readonly reference: Property,
    readonly target: Entity,
    /** Property of the referred row whose values are in the cells. */
    readonly by: Property,
  ) {}

  /**
   * Returns the id of the row with this value, or the fault of the cell. While values are still collected, and for an empty cell,
   * both are null.
   */
  find(cell: string | null): { readonly id: string | null; readonly fault: string | null } {
    const value = cell === null || cell.trim() === '' ? null : printedText(this.by, cell)
    if (cell === null || cell.trim() === '') return { id: null, fault: null }
    if (this.ids === null) {
      if (value !== null && this.wanted.size < VALUES_MAX) this.wanted.add(value)
      return { id: null, fault: null }
    }
    const ids = value === null ? [] : this.ids.idsOf(value)
    const [id = null, second] = ids
    if (id !== null && second === undefined) return { id, fault: null }
    return { id: null, fault: this.faultOf(cell, ids) }
  }

  /**
   * Reads the rows that have the collected values, or all rows if the table is small. `isCollected`: false for a pipe, whose
   * values are not known yet. @throws CommandError
   */
  async read(collection: Collection, isCollected: boolean): Promise<void> {
    const rows: ValueTexts[] = []
    const isSmall = (await countRows(collection)) <= WHOLE_ROWS_MAX
    if (!isSmall && !isCollected)
      throw new CommandError(
        `--lookup ${this.column.name}: ${this.target.plural} have more than ${WHOLE_ROWS_MAX} rows; give a file, not stdin`,
      )
    if (isSmall) rows.push(...(await readAllRows(collection, this.target, [this.by])))
    else for await (const found of readRowsWith(collection, this.target, this.by, [...this.wanted], [])) rows.push(...found.rows)
    // Of a large table, only rows with exactly these values were read, so messages about a missing value cannot name the nearest
    // one.
    this.ids = new ReferenceValues(
      rows.map((row) => ({ value: row.get(this.by) ?? null, id: row.get(this.target.id) as string })),
      isSmall,
    )
  }

  private faultOf(cell: string, ids: readonly string[]): string {
    return this.faults.getOrInsertComputed(cell, () => {
      const of = `${this.target.plural} with ${this.by.name} ${JSON.stringify(cell)}`
      if (ids.length > 1) return `${this.reference.name}: there are several ${of}: ids ${ids.slice(0, 5).join(', ')}.`
      const nearest = this.ids?.nearestTo(cell) ?? null
      const hint = nearest === null ? '' : ` The nearest is ${JSON.stringify(nearest)}.`
      return `${this.reference.name}: there are no ${of}.${hint || this.orderHint()}`
    })
  }

  /**
   * Returns a hint if the reference leads to rows of the table into which the file is imported: the missing row may be in the
   * file. Else returns ''.
   */
  private orderHint(): string {
    if (!this.reference.reference?.isToItself) return ''
    return ' If it is a row of this file: import the file without this column first, then with it and --match.'
  }
}

/** Parses `Company=Name` or `EmployeeId=EmployeeNumber`. @throws CommandError that says what is allowed */
export function parseLookup(entity: Entity, text: string): Lookup {
  const at = text.indexOf('=')
  const name = text.slice(0, Math.max(0, at)).trim()
  const usable = entity.properties.filter((property) => referenceFor(entity, property) !== null)
  if (name === '')
    throw new CommandError(`--lookup "${text}" is not a reference, = and a property of the other rows: Company=Name`)
  const column = findColumn(
    name,
    usable.map((property) => ({ names: [property.name], of: property })),
  )
  if (column === undefined)
    throw new CommandError(`--lookup ${text}: "${name}" names no reference of ${entity.plural}.${suggestOrList(name, usable)}`)
  const reference = referenceFor(entity, column) as Property
  const target = reference.reference?.target as Entity
  return new Lookup(column, reference, target, propertyOfTarget(target, text, text.slice(at + 1).trim()))
}

function propertyOfTarget(target: Entity, text: string, name: string): Property {
  const usable = target.properties.filter(({ kind }) => kind.namesRows)
  const by = findColumn(
    name,
    usable.map((property) => ({ names: [property.name], of: property })),
  )
  if (by) return by
  throw new CommandError(`--lookup ${text}: "${name}" names no property of ${target.plural}.${suggestOrList(name, usable)}`)
}

/**
 * Returns the reference that a column of this property sets: the property itself, or the reference along which it is copied. Null
 * if clients cannot write such a reference.
 */
function referenceFor(entity: Entity, property: Property): Property | null {
  const reference = property.reference === null ? referenceOfCopy(wholeView(entity), property) : property
  return reference?.writable && reference.reference?.target ? reference : null
}

// Finds the columns of a file whose values identify rows of the database table. Runs in browsers, too.
import { KIND_TRAITS, type KindName } from '../model/kindTraits.ts'

/** A property whose values can tell rows apart. */
export interface UniqueProperty {
  readonly kind: { readonly name: KindName }
  readonly writable: boolean
  /** Reference of the property to another row; null if the property is no reference. */
  readonly reference: unknown
  /** Unique constraint of the property; null if several rows can have the same value. */
  readonly unique: unknown
}

/** Maximum number of rows of a file whose values are compared. The values are held in memory. */
const ROWS_MAX = 100_000

/** A column in which no two rows have the same value; rows can be without a value. */
export interface UniqueColumn<Of> {
  readonly property: Of
  /** Positions of the rows in the file, by value. */
  readonly rows: Map<string, string>
  /**
   * True if no two rows of the table can have the same value, or if the values look like numbers or e-mail addresses rather than
   * names.
   */
  isIdentifier: boolean
}

/** Collects the columns of a file whose values identify rows of the database table. */
export class UniqueColumns<Of extends UniqueProperty> {
  private readonly columns: Map<Of, UniqueColumn<Of>>
  private readonly rejected = new Set<Of>()
  private count = 0

  constructor({ properties }: { readonly properties: readonly Of[] }) {
    const usable = properties.filter(({ writable, reference, kind }) => {
      const { namesRows, mayBeUnique } = KIND_TRAITS[kind.name]
      return writable && reference === null && namesRows && mayBeUnique
    })
    this.columns = new Map(usable.map((property) => [property, { property, rows: new Map(), isIdentifier: true }]))
  }

  add(at: string, texts: ReadonlyMap<Of, string | null>): void {
    if (++this.count > ROWS_MAX) return
    for (const [property, value] of texts) {
      const column = this.columns.get(property)
      if (column === undefined || this.rejected.has(property) || value === null || value.trim() === '') continue
      if (column.rows.has(value)) this.rejected.add(property)
      else column.rows.set(value, at)
      column.isIdentifier &&= property.unique !== null || isIdentifier(value)
    }
  }

  /** Returns the columns that have a value in at least half of the rows. */
  find(): UniqueColumn<Of>[] {
    const found = [...this.columns.values()].filter(({ property }) => !this.rejected.has(property))
    return found.filter(({ rows }) => rows.size > 0 && rows.size >= Math.min(this.count, ROWS_MAX) / 2)
  }
}

/** Returns whether a value looks like a number or an e-mail address: `E-0017` does, `Building 17` does not. */
function isIdentifier(value: string): boolean {
  const letters = value.match(/\p{Letter}/gu)?.length ?? 0
  const digits = value.match(/\p{Number}/gu)?.length ?? 0
  return value.includes('@') || (digits > 0 && digits >= letters)
}

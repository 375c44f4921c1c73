import type { Draft } from '../../../support/arbitraries.ts'
import { type Collection, collections, properties, type Row, type Value } from '../../../support/model.ts'
import { tables } from '../../../support/randomRows.ts'
import { rowOf } from '../../../support/records.ts'
import type { Cluster } from '../cluster.ts'
import { columnOf } from '../randomList.ts'

/** One row that a write has changed, by itself or as a copy: null where it was not there before, or is not after. */
export interface Change {
  readonly collection: Collection
  readonly before: Row | null
  readonly after: Row | null
}

/** All rows as they are after the last write, kept without the database. Rows are never changed, only replaced. */
export class RowsModel {
  readonly rows: Record<Collection, Map<number, Row>> = {
    Companies: new Map(),
    Employees: new Map(),
    Absences: new Map(),
  }

  /** As the database has it now. */
  static async read({ sql }: Cluster): Promise<RowsModel> {
    const model = new RowsModel()
    await sql.begin('isolation level repeatable read', async (transaction) => {
      for (const collection of collections)
        for (const record of await transaction`select * from ${transaction(tables[collection])}`)
          model.rows[collection].set(Number(record.id), readRow(collection, record))
    })
    return model
  }

  /** What the write of a row with these values comes to, copies included. */
  put(collection: Collection, id: number, draft: Draft): Change[] {
    const { rows } = this
    const known = { Companies: [...rows.Companies.values()], Employees: [...rows.Employees.values()] }
    const before = rows[collection].get(id) ?? null
    const after: Row = { Id: id, ...rowOf(collection, draft, known) }
    if (collection === 'Employees' && after.ManagerId === id) after.Manager = after.DisplayName ?? null
    return [{ collection, before, after }, ...(before ? this.copies(collection, before, after) : [])]
  }

  remove(collection: Collection, id: number): Change[] {
    return [{ collection, before: this.rows[collection].get(id) ?? null, after: null }]
  }

  /** Whether the row cannot be removed. */
  isReferredTo(collection: Collection, id: number): boolean {
    const { Employees, Absences } = this.rows
    const some = (rows: Map<number, Row>, name: string) => rows.values().some((row) => row[name] === id)
    if (collection === 'Companies') return some(Employees, 'CompanyId')
    return collection === 'Employees' && (some(Employees, 'ManagerId') || some(Absences, 'EmployeeId'))
  }

  apply(changes: readonly Change[]): void {
    for (const { collection, before, after } of changes) {
      if (after) this.rows[collection].set(Number(after.Id), after)
      else if (before) this.rows[collection].delete(Number(before.Id))
    }
  }

  /** What leads from here to the other. */
  changesTo(other: RowsModel, of: readonly Collection[]): Change[] {
    const changes: Change[] = []
    for (const collection of of) {
      const [mine, theirs] = [this.rows[collection], other.rows[collection]]
      for (const id of new Set([...mine.keys(), ...theirs.keys()])) {
        const [before, after] = [mine.get(id) ?? null, theirs.get(id) ?? null]
        if (!before || !after || !isSame(collection, before, after)) changes.push({ collection, before, after })
      }
    }
    return changes
  }

  private copies(collection: Collection, before: Row, after: Row): Change[] {
    if (collection === 'Companies') return this.copied('Employees', 'Company', after.Id, before.Name, after.Name)
    if (collection === 'Absences' || before.DisplayName === after.DisplayName) return []
    const [old, name] = [before.DisplayName, after.DisplayName]
    return [
      ...this.copied('Employees', 'Manager', after.Id, old, name),
      ...this.copied('Absences', 'Employee', after.Id, old, name),
    ]
  }

  /** Other rows that refer to `id`, with the text that they copy from there. */
  private copied(collection: Collection, name: string, id?: Value, old?: Value, text?: Value): Change[] {
    if (old === text) return []
    const isCopied = (row: Row) => row[`${name}Id`] === id && (name !== 'Manager' || row.Id !== id)
    const referring = [...this.rows[collection].values()].filter(isCopied)
    return referring.map((before) => ({ collection, before, after: { ...before, [name]: text ?? null } }))
  }
}

function isSame(collection: Collection, one: Row, other: Row): boolean {
  return properties[collection].every(({ name }) => one[name] === other[name])
}

function readRow(collection: Collection, record: Record<string, unknown>): Row {
  const row: Row = {}
  for (const { name, kind } of properties[collection]) {
    const value = record[columnOf(name).replaceAll('"', '')]
    if (value instanceof Date) row[name] = value.toISOString().replace('.000Z', 'Z')
    else row[name] = kind === 'integer' && value !== null ? Number(value) : (value as Value)
  }
  return row
}

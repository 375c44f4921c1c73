import type { Random } from '../../support/random.ts'

/** A row that only one client writes. All its values follow from its version, so a write of only some of them would be seen. */
export interface OwnRow {
  readonly collection: Kept
  /** Unique name of the row. */
  readonly marker: string
  /** Null if its creation was not answered. */
  id: number | null
  /** Possible states of the row: versions, or null if the row does not exist. If there is only one, the state is known. */
  states: (number | null)[]
}

export type Kept = 'Companies' | 'Employees' | 'Absences'
export const KEPT: readonly Kept[] = ['Companies', 'Employees', 'Absences']

interface Shape {
  readonly table: string
  /** Columns of the marker and the version, to read them directly in the table. */
  readonly columns: { readonly marker: string; readonly version: string }
  body(marker: string, version: number): Record<string, unknown>
  /** Returns the version of a row in a response; null if its values do not belong to one version. */
  versionOf(row: Record<string, unknown>): number | null
}

/** Matches the version in a text such as `c3-17 v5`. */
const VERSION = / v(\d+)$/

function shape(table: string, marker: string, [first, second]: readonly [string, string]): Shape {
  const key = (name: string) => (name[0] as string).toLowerCase() + name.slice(1)
  return {
    table,
    columns: { marker: snake(marker), version: snake(first) },
    body: (own, version) => ({ [marker]: own, [first]: `a v${version}`, [second]: `b v${version}` }),
    versionOf(row) {
      const [one, other] = [first, second].map((name) => VERSION.exec(String(row[key(name)]))?.[1])
      return one !== undefined && one === other ? Number(one) : null
    },
  }
}

const snake = (name: string) => name.replace(/(?<=.)[A-Z]/g, '_$&').toLowerCase()

/** A company has only one text and a boolean, so its marker and version share the text. */
const company: Shape = {
  table: 'company',
  columns: { marker: "split_part(name, ' ', 1)", version: 'name' },
  body: (own, version) => ({ Name: `${own} v${version}`, Enabled: version % 2 === 0 }),
  versionOf({ name, enabled }) {
    const version = Number(VERSION.exec(String(name))?.[1] ?? Number.NaN)
    return enabled === (version % 2 === 0) ? version : null
  },
}

export const shapes: Readonly<Record<Kept, Shape>> = {
  Companies: company,
  Employees: shape('employee', 'Division', ['Department', 'JobTitle']),
  Absences: shape('absence', 'Type', ['Reason', 'Status']),
}

export function versionIn(text: string): number {
  return Number(VERSION.exec(text)?.[1])
}

/** Updates the possible states of a row, given the version that was read. Returns a fault; null if there is none. */
export function see(row: OwnRow, seen: number | null): string | null {
  const at = row.states.indexOf(seen)
  if (at === -1) return `${row.marker} is ${seen}, and may be ${row.states.join(' or ')}`
  // States are in the order of the writes, and later reads never show an earlier state.
  row.states = row.states.slice(at)
  return null
}

export function pickCollection(random: Random): Kept {
  return random.pick(KEPT)
}

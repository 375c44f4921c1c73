/** How many rows each table has. */
export interface Rows {
  readonly absences: number
  readonly employees: number
  readonly companies: number
}

/** As COPY's text form writes it; null: no value. */
export type Value = string | number | boolean | null

/** A table that the bench fills. Its ids are 1 to its count, and nothing of a row depends on anything but id and counts. */
export interface Table {
  readonly name: string
  /** Those that a client or the copy of a name writes; generated ones are not among them. The first is the id. */
  readonly columns: readonly string[]
  readonly count: (rows: Rows) => number
  /** The values of `columns`; instants as `2026-01-05T08:00:00Z`. */
  readonly row: (id: number, rows: Rows) => readonly Value[]
}

const ABSENCES_MIN = 50
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** Ten absences for two employees and one company; at least 50 absences, so that each table has some rows. */
export function rowsFor(absences: number): Rows {
  const whole = Math.max(ABSENCES_MIN, Math.round(absences))
  const companies = Math.ceil(whole / 10)
  return { absences: whole, employees: 2 * companies, companies }
}

/** The first id of the companies that have two employees each: from here on, all. See `employee.ts`. */
export function firstOfTwo({ companies }: Pick<Rows, 'companies'>): number {
  return Math.floor(companies / 2) + 1
}

/** The text with which a referring table copies a name. */
export function keyOf(name: string | null): string {
  return name === null ? '' : `=${name}`
}

/** `2026-01-05T08:00:00Z`: so many whole days and minutes after a moment. */
export function instantOf(startMs: number, days: number, minutes = 0): string {
  return `${new Date(startMs + days * DAY_MS + minutes * MINUTE_MS).toISOString().slice(0, 19)}Z`
}

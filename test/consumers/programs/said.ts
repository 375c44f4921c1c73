declare const process: { env: Record<string, string> }

/** Address of the server, and the header for each generated client. */
export const server = { url: process.env.ROSTER_URL as string, authorization: `ApiKey ${process.env.ROSTER_KEY}` }
/** Two filters on one property. */
export const FEBRUARY = ['>=2026-02-01T00:00:00Z', '<2026-03-01T00:00:00Z']

/** Prints rows, in the same form for all clients. `some`: a row with two of its properties; `department`: of its employee. */
export function say(
  found: readonly unknown[],
  some: unknown,
  department: string | null | undefined,
  { id, name }: { id: number; name?: string | null },
): void {
  const ids = found.map((row) => (row as { id?: number }).id)
  const { id: someId, status } = some as { id: number; status: string }
  console.log([ids.join(), someId, status, department, id > 0, name].join(' '))
}

type Change =
  | { readonly entity: 'Absences'; readonly row?: { readonly type?: string | null } | null }
  | { readonly entity: 'Companies'; readonly row?: { readonly name?: string | null } | null }
  | { readonly entity: 'Employees'; readonly row?: { readonly lastName?: string | null } | null }

/** Prints changes with the current rows. */
export function sayChanges(changes: readonly Change[]): void {
  console.log(changes.map((change) => `${change.entity} ${rowText(change)}`).join(', '))
}

function rowText(change: Change): string {
  if (!change.row) return String(change.row)
  if (change.entity === 'Absences') return String(change.row.type)
  return String(change.entity === 'Companies' ? change.row.name : change.row.lastName)
}

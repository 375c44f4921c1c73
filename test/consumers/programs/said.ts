declare const process: { env: Record<string, string> }

/** Where the server is, and the header that each generated client is given. */
export const server = { url: process.env.ROSTER_URL as string, authorization: `ApiKey ${process.env.ROSTER_KEY}` }
/** Two filters on one property. */
export const FEBRUARY = ['>=2026-02-01T00:00:00Z', '<2026-03-01T00:00:00Z']

/** Prints what a client has read, so that all of them print the same. `some`: of a row, two properties. */
export function say(found: readonly unknown[], some: unknown, { id, name }: { id: number; name?: string | null }): void {
  const ids = found.map((row) => (row as { id: number }).id)
  const { id: someId, status } = some as { id: number; status: string }
  console.log([ids.join(), someId, status, id > 0, name].join(' '))
}

// Reads from a server's metrics how it has found its lists.

/** Number of lists by how they were found. */
export type Found = Readonly<Record<string, number>>

/** Matches metrics of lists, with a label: where an answer came from, how memory found it, or why the database had to find it. */
const SERIES = /^roster_(?:(memory|database)_)?lists_total\{(?:from|way|reason)="(\w+)"\} (\d+)$/gm

/**
 * Reads the counts since the start of a server. `admin`: address of its metrics. Returns no counts if the server does not answer.
 */
export async function readFound(admin: string): Promise<Found> {
  const answer = await fetch(`${admin}/metrics`).catch(() => null)
  return answer?.ok ? countsIn(await answer.text()) : {}
}

/** Returns the counts in the text of the metrics. */
export function countsIn(text: string): Found {
  const found: Record<string, number> = {}
  for (const [, source, label = '', digits] of text.matchAll(SERIES)) {
    const count = Number(digits)
    found[source === 'database' ? `database: ${label}` : label] = count
    // If a source also has detailed counts, its own count gets only the rest.
    if (source) found[`-${source}`] = (found[`-${source}`] ?? 0) + count
  }
  for (const source of ['memory', 'database']) {
    found[source] = (found[source] ?? 0) - (found[`-${source}`] ?? 0)
    delete found[`-${source}`]
  }
  return found
}

/** Returns the percentages of lists between two readings, by how they were found; empty if there were no lists. */
export function sharesBetween(before: Found, after: Found): Record<string, number> {
  const counts = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
  const positive = counts.filter(([, count]) => count > 0)
  const sum = positive.reduce((total, [, count]) => total + count, 0)
  return Object.fromEntries(positive.map(([name, count]) => [name, Number(((100 * count) / sum).toFixed(2))]))
}

/** Returns whether lists that are counted under this name were found by the database. */
export function isFromDatabase(name: string): boolean {
  return name === 'database' || name.startsWith('database: ')
}

/** Adds up the counts of several servers. */
export function addFound(all: readonly Found[]): Found {
  const sums: Record<string, number> = {}
  for (const found of all) for (const [name, count] of Object.entries(found)) sums[name] = (sums[name] ?? 0) + count
  return sums
}

type Row = Readonly<Record<string, string | number | boolean | null>>

const NUMBERS = ['id', 'employeeId', 'days', 'hours']
const INSTANTS = ['start', 'end']

/** One row or an array of them, as Platformatic DB writes them, in the JSON of Roster. */
export function readPlatformatic(body: unknown): unknown {
  return Array.isArray(body) ? body.map(readRow) : readRow(body as Row)
}

function readRow(row: Row): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  const period: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(row)) {
    const part = /^period([A-Z])(\w+)$/.exec(key)
    if (part) period[(part[1] as string).toLowerCase() + part[2]] = value
    else members[key] = readValue(key, value)
  }
  const parts = Object.entries(period)
  if (parts.length > 0) members.period = parts.every(([, value]) => value === null) ? null : readPeriod(parts)
  return members
}

function readPeriod(parts: [string, unknown][]) {
  return Object.fromEntries(parts.map(([key, value]) => [key, readValue(key, value as string | null)]))
}

/** Ids and decimals are strings there, and instants have milliseconds. */
function readValue(key: string, value: Row[string]) {
  if (typeof value !== 'string') return value
  if (NUMBERS.includes(key)) return Number(value)
  return INSTANTS.includes(key) ? value.replace('.000Z', 'Z') : value
}

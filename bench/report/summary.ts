import { isFromDatabase } from '../found.ts'
import { INDEXED, median, type Results, type Sample, type ScenarioResult, type TargetResult } from '../results.ts'

export const SUBJECT = 'roster'
export const NO_MEMORY = 'no-memory'
/** Name of the target that sends the same requests with keys that have all rights. */
export const WHOLE_KEY = `${SUBJECT}-whole-key`
/** Name of the target whose keys request what persons see. */
export const KEYS = `${SUBJECT}-keys`
/** Targets that are not peers. */
const NO_PEERS = [SUBJECT, NO_MEMORY, 'constant']

/** One program in one scenario, with the figures of its rounds; null for figures that were not measured. */
export type Row = Pick<TargetResult, 'target' | 'void'> & Readonly<Partial<Record<Figure, Spread | null>>>

type Figure = Exclude<keyof Sample, 'kinds' | 'found'>

/** Median, least and greatest figure of the rounds. */
export interface Spread {
  readonly middle: number
  readonly least: number
  readonly greatest: number
}

export function rowsOf({ targets }: ScenarioResult): Row[] {
  return targets.map(({ rounds, ...target }) => {
    const keys = Object.keys(rounds[0] ?? {}).filter((key) => !['kinds', 'found'].includes(key)) as Figure[]
    return { ...target, ...Object.fromEntries(keys.map((key) => [key, spreadOf(rounds.map((round) => round[key] ?? null))])) }
  })
}

/** Returns a row for each kind of list in a scenario, with the median p50 and p99 of each target whose figures count. */
export function kindsOf({ targets }: ScenarioResult): { kind: string; latencies: { target: string; text: string }[] }[] {
  const counted = targets.filter(({ void: reason, rounds }) => reason === null && rounds.some(({ kinds }) => kinds))
  const names = [...new Set(counted.flatMap(({ rounds }) => rounds.flatMap(({ kinds = {} }) => Object.keys(kinds))))].sort()
  return names.map((kind) => {
    const latencies = counted.map(({ target, rounds }) => {
      const found = rounds.flatMap(({ kinds }) => kinds?.[kind] ?? [])
      const [p50, p99] = [found.map(({ p50Ms }) => p50Ms), found.map(({ p99Ms }) => p99Ms)].map((all) => figureText(median(all)))
      return { target, text: `${p50} / ${p99}` }
    })
    return { kind, latencies }
  })
}

/** Returns how the lists of each target were found, as medians of its rounds. Targets without such counts are left out. */
export function foundLines({ targets }: ScenarioResult): string[] {
  return targets.flatMap(({ target, rounds }) => {
    const names = [...new Set(rounds.flatMap(({ found = {} }) => Object.keys(found)))]
    const parts = names.map((name) => [name, median(rounds.map(({ found = {} }) => found[name] ?? 0))] as const)
    const sorted = parts.filter(([, part]) => part > 0).sort(([, one], [, other]) => other - one)
    if (sorted.length === 0) return []
    const ways = sorted.map(([name, part]) => `${figureText(part)} % ${name}`).join(', ')
    return [`lists of ${target}: ${figureText(memoryShareOf({ rounds }))} % from memory; ${ways}`]
  })
}

/** Returns the median percentage of lists that the database did not have to find; null if lists were not counted. */
export function memoryShareOf({ rounds }: Pick<TargetResult, 'rounds'>): number | null {
  const shares = rounds.flatMap(({ found }) => {
    if (found === undefined) return []
    const parts = Object.entries(found).filter(([name]) => !isFromDatabase(name))
    return parts.reduce((sum, [, part]) => sum + part, 0)
  })
  return shares.length === 0 ? null : median(shares)
}

/** Returns, for each target, the background requests per second that it has answered. */
export function besideLines(scenario: ScenarioResult): string[] {
  return rowsOf(scenario).flatMap(({ target, besidePerSecond: rate }) =>
    rate ? [`requests beside the load of ${target}: ${figureText(rate.middle)} a second`] : [],
  )
}

/** Returns the ratio of the server to the best peer, and to the best peer with an index made for the list; null without peers. */
export function ratioLine(scenario: ScenarioResult): string | null {
  const rows = rowsOf(scenario)
  const parts = [isPeer, isIndexed].flatMap((isMeant) => {
    const best = bestOf(rows, isMeant)
    const ratio = ratioOf(subjectOf(rows), best)
    return best && ratio !== null ? [`${figureText(ratio)} × ${best.target}`] : []
  })
  return parts.length === 0 ? null : `best peers: ${parts.join(', ')}`
}

/** True if the target is a peer without indexes made for its requests. */
export function isPeer(target: string): boolean {
  return !NO_PEERS.includes(target) && !target.startsWith(`${SUBJECT}-`) && !isIndexed(target)
}

/** True if the target is a peer whose tables have indexes made for its requests. */
export function isIndexed(target: string): boolean {
  return target.endsWith(INDEXED)
}

/** Returns the fastest of the programs that `isMeant` selects and whose figures count. */
export function bestOf(rows: readonly Row[], isMeant: (target: string) => boolean): Row | undefined {
  const counted = rows.filter(({ target, void: reason }) => isMeant(target) && reason === null)
  return counted.toSorted((a, b) => (rateOf(b) ?? 0) - (rateOf(a) ?? 0))[0]
}

/** Returns the ratio of requests/s; null if the figures of one of the rows do not count. */
export function ratioOf(row: Row | undefined, other: Row | undefined): number | null {
  const [dividend, divisor] = [rateOf(row), rateOf(other)]
  return dividend === null || divisor === null || divisor === 0 ? null : dividend / divisor
}

export function targetsOf({ scenarios }: Pick<Results, 'scenarios'>): string[] {
  return [...new Set(scenarios.flatMap(({ targets }) => targets.map(({ target }) => target)))]
}

function rateOf(row: Row | undefined): number | null {
  return row?.void === null ? (row.requestsPerSecond?.middle ?? null) : null
}

export function spreadOf(values: readonly (number | null)[]): Spread | null {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return null
  return { middle: median(known), least: Math.min(...known), greatest: Math.max(...known) }
}

/**
 * Formats a number with three significant digits, or with all digits before the point: `12,345`, `12.3`, `0.123`. A dash stands
 * for no figure.
 */
export function figureText(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–'
  const size = Math.abs(value)
  const count = size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3
  return value.toLocaleString('en-US', { minimumFractionDigits: count, maximumFractionDigits: count })
}

interface Column {
  readonly head: string
  text(row: Row, all: readonly Row[]): string
}

const column = (head: string, key: Figure): Column => ({ head, text: (row) => figureText(row[key]?.middle) })

/** Figures of each target on the console and the page. */
export const COLUMNS: readonly Column[] = [
  column('requests/s', 'requestsPerSecond'),
  {
    head: 'least – most',
    text: ({ requestsPerSecond: rate }) => `${figureText(rate?.least)} – ${figureText(rate?.greatest)}`,
  },
  column('p50 ms', 'p50Ms'),
  column('p99 ms', 'p99Ms'),
  column('CPU µs', 'serverCpuUs'),
  column('PG µs', 'postgresCpuUs'),
  column('RSS MB', 'rssMb'),
  column('load CPU %', 'loadCpuPercent'),
  { head: 'roster ÷ it', text: (row, all) => figureText(row.target === SUBJECT ? null : ratioOf(subjectOf(all), row)) },
]

const TARGET_WIDTH = 28
const LATENCY_WIDTH = 15
const widthOf = ({ head }: Column) => (head.includes('–') ? 20 : head.length + 4)

export function formatHead(): string {
  return ' '.repeat(TARGET_WIDTH) + COLUMNS.map((column) => column.head.padStart(widthOf(column))).join('')
}

/** Formats a scenario: its title, and a line for each of its targets. */
export function formatScenario(scenario: ScenarioResult): string {
  const all = rowsOf(scenario)
  const lines = all.map((row) => {
    const cells = COLUMNS.map((column) => column.text(row, all).padStart(widthOf(column)))
    const reason = row.void === null ? '' : `\n    VOID: ${row.void}`
    return `  ${row.target.padEnd(TARGET_WIDTH - 2)}${cells.join('')}${reason}`
  })
  const ratios = ratioLine(scenario)
  const more = [...foundLines(scenario), ...besideLines(scenario), ...(ratios ? [ratios] : [])].map((line) => `  ${line}`)
  return [`${scenario.name}: ${scenario.title}`, ...lines, ...kindLines(scenario), ...more].join('\n')
}

/** Formats the latencies of kinds: a line for each kind, a column for each target. */
function kindLines(scenario: ScenarioResult): string[] {
  const kinds = kindsOf(scenario)
  const [first] = kinds
  if (!first) return []
  const width = (target: string) => Math.max(LATENCY_WIDTH, target.length + 2)
  const head = first.latencies.map(({ target }) => target.padStart(width(target)))
  const lines = kinds.map(({ kind, latencies }) => {
    return `  ${kind.padEnd(TARGET_WIDTH - 2)}${latencies.map(({ target, text }) => text.padStart(width(target))).join('')}`
  })
  return [`  ${'p50 / p99 ms'.padEnd(TARGET_WIDTH - 2)}${head.join('')}`, ...lines]
}

function subjectOf(rows: readonly Row[]): Row | undefined {
  return rows.find(({ target }) => target === SUBJECT)
}

/** A quotient of two rows of a scenario. */
export interface Ratio {
  /** The program that the others are divided by. */
  readonly target: string
  readonly figure: Figure
}

/** Roster's requests/s divided by those of the fastest of the other servers. */
export const BEST_PEER = '× best peer'
/** The same of those that have an index made for what they are asked. */
export const BEST_INDEXED = '× best peer with its index'

type Figure = 'rate' | 'cpu' | 'p50'

/** What is divided; null: it was not measured. How its column begins, on the page and on the console. */
const FIGURES: Record<Figure, { head: string; short: string; of(row: Measured): number | null }> = {
  rate: { head: '', short: '', of: ({ requestsPerSecond }) => requestsPerSecond?.middle ?? null },
  cpu: { head: 'server CPU ', short: 'CPU ', of: ({ serverCpuUs }) => serverCpuUs },
  p50: { head: 'p50 ', short: 'p50 ', of: ({ p50Ms }) => p50Ms },
}

/** What is divided, of one program in one scenario. */
interface Measured {
  readonly target: string
  readonly void: string | null
  readonly requestsPerSecond: { readonly middle: number } | null
  readonly serverCpuUs: number | null
  readonly p50Ms: number | null
}

const rate = (target: string): Ratio => ({ target, figure: 'rate' })
const cpu = (target: string): Ratio => ({ target, figure: 'cpu' })

const RATIOS: readonly Ratio[] = [
  ...['no-cache', 'constant', 'bare', 'uncounted', 'pgbench', 'loop'].map(rate),
  ...['no-cache', 'constant', 'bare'].map(cpu),
  { target: 'uncounted', figure: 'p50' },
]

/** The ratios that can be formed where these programs are. */
export function ratiosAmong(targets: readonly string[]): Ratio[] {
  return RATIOS.filter(({ target }) => targets.includes(target))
}

/** `server CPU × bare` */
export function headOf({ target, figure }: Ratio): string {
  return `${FIGURES[figure].head}× ${target}`
}

/** `CPU /bare` */
export function shortHeadOf({ target, figure }: Ratio): string {
  return `${FIGURES[figure].short}/${target}`
}

/** The row's figure divided by that of the ratio's program; null: of itself, or one of both does not count. */
export function divide({ target, figure }: Ratio, row: Measured, all: readonly Measured[]): number | null {
  const other = all.find((candidate) => candidate.target === target)
  if (other === undefined || other === row) return null
  const [dividend, divisor] = [row, other].map((one) => (one.void === null ? FIGURES[figure].of(one) : null))
  return dividend == null || divisor == null || divisor === 0 ? null : dividend / divisor
}

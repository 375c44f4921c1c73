/** Writes of one database that an answer is to include: their transactions, counted from the cluster's beginning (xid8). */
export interface Position {
  /** Which database it is, as `execute/positions.ts` names it. */
  readonly database: string
  /** A failover begins another one; a write of an earlier one may have been lost by it. */
  readonly timeline: number
  readonly transactions: readonly number[]
}

/** So many writes of other servers may wait beside the own one. */
export const TRANSACTIONS_MAX = 16
/** So many positions may a request bring: of writes that its client had under way at once. */
const POSITIONS_MAX = 8

const NUMBER = '[1-9][0-9]{0,14}'
const ONE = `[0-9a-f]{10}-[1-9][0-9]{0,9}-${NUMBER}(?:[.]${NUMBER}){0,${TRANSACTIONS_MAX - 1}}`
/** What a position looks like. */
export const POSITION_PATTERN = `^${ONE}$`
/** What positions of a request look like. */
export const POSITIONS_PATTERN = `^${ONE}(?:, ?${ONE}){0,${POSITIONS_MAX - 1}}$`
const POSITIONS = new RegExp(POSITIONS_PATTERN)

export function printPosition({ database, timeline, transactions }: Position): string {
  return `${database}-${timeline}-${transactions.join('.')}`
}

/** The positions of a text; null: it is none. */
export function readPositions(text: string): Position[] | null {
  if (!POSITIONS.test(text)) return null
  return text.split(',').map((one) => {
    const [database = '', timeline, transactions = ''] = one.trim().split('-')
    return { database, timeline: Number(timeline), transactions: transactions.split('.').map(Number) }
  })
}

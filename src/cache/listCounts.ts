import { type Cell, cellOf, count } from '../metrics/counts.ts'
import { metrics } from '../metrics/declared.ts'

type ListOrigin = (typeof metrics.lists.labels.from)[number]

const cells = Object.fromEntries(metrics.lists.labels.from.map((from) => [from, cellOf('lists', from)])) as Record<
  ListOrigin,
  Cell
>

/** Counts a list by where its answer came from. */
export function countList(from: ListOrigin): void {
  count(cells[from])
}

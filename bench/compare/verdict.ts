/** How a figure differs between two targets that took turns: A B B A, A B B A, ... */
export interface Change {
  readonly before: number
  readonly after: number
  /** After divided by before: the middle of the blocks, the least of them, the greatest. */
  readonly ratio: number
  readonly least: number
  readonly greatest: number
}

type Figures = readonly (number | null)[]

/**
 * One ratio for each block A B B A, so that what drifts evenly meanwhile hits both alike, and the middle of them.
 * `before` and `after` have two figures of each block, in the order of the runs. Null where no block is whole.
 */
export function changeOf(before: Figures, after: Figures): Change | null {
  const pairs = blocksOf(before).map((mean, block) => [mean, blocksOf(after)[block] ?? null] as const)
  const whole = pairs.filter((pair): pair is [number, number] => isMeasured(pair[0]) && pair[0] > 0 && isMeasured(pair[1]))
  if (whole.length === 0) return null
  const ratios = whole.map(([mean, other]) => other / mean)
  return {
    before: middle(whole.map(([mean]) => mean)),
    after: middle(whole.map(([, mean]) => mean)),
    ratio: middle(ratios),
    least: Math.min(...ratios),
    greatest: Math.max(...ratios),
  }
}

/** Whether the middle of the blocks has lost more than so many percent. */
export function isLoss({ ratio }: Change, percentMax: number): boolean {
  return ratio < 1 - percentMax / 100
}

/** The mean of each two figures; null where one is missing. */
function blocksOf(figures: Figures): (number | null)[] {
  return Array.from({ length: Math.ceil(figures.length / 2) }, (_, block) => {
    const [first = null, second = null] = figures.slice(2 * block)
    return isMeasured(first) && isMeasured(second) ? (first + second) / 2 : null
  })
}

function isMeasured(figure: number | null): figure is number {
  return figure !== null && Number.isFinite(figure)
}

/** Of an even number the mean of the two in the middle: the higher one alone would hide a loss. */
function middle(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [lower = Number.NaN, upper = lower] = sorted.slice((sorted.length - 1) >> 1)
  return sorted.length % 2 === 1 ? lower : (lower + upper) / 2
}

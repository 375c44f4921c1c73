/** Latencies by bucket. Bucket n holds those from `BUCKET_GROWTH ** n` µs up to the next. */
export type Buckets = Readonly<Record<number, number>>

/** Each bucket is one percent wider than the one before, so what is read from it is at most half a percent off. */
export const BUCKET_GROWTH = 1.01

/** Each point halves what lies above it over three steps: 50, 75, 87.5 %, and what is between. */
const STEPS_OF_HALF = 3
const POINTS_MAX = 42

export function toBuckets(latenciesUs: Iterable<number>): Buckets {
  const buckets: Record<number, number> = {}
  for (const us of latenciesUs) {
    const bucket = Math.floor(Math.log(Math.max(us, 1)) / Math.log(BUCKET_GROWTH))
    buckets[bucket] = (buckets[bucket] ?? 0) + 1
  }
  return buckets
}

/** The latency in ms that so many percent of the requests did not exceed; NaN where there are none. */
export function percentileMs(buckets: Buckets, percentile: number): number {
  const wanted = (countOf(buckets) * percentile) / 100
  let [seen, last] = [0, Number.NaN]
  for (const [bucket, count] of ascending(buckets)) {
    seen += count
    last = bucket
    if (seen >= wanted) break
  }
  return BUCKET_GROWTH ** (last + 0.5) / 1_000
}

/** Points for a plot, denser towards 100 %; the last is the highest percentile of which one request tells. */
export function distribution(buckets: Buckets): [percentile: number, ms: number][] {
  const count = countOf(buckets)
  const points: [number, number][] = []
  for (let step = 0; step < POINTS_MAX; step++) {
    const above = 2 ** (-step / STEPS_OF_HALF)
    if (above * count < 1) break
    const percentile = round(100 * (1 - above), 4)
    points.push([percentile, round(percentileMs(buckets, percentile), 4)])
  }
  return points
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

function countOf(buckets: Buckets): number {
  return Object.values(buckets).reduce((sum, count) => sum + count, 0)
}

/** An object's integer keys come in ascending order by themselves. */
function ascending(buckets: Buckets): [bucket: number, count: number][] {
  return Object.entries(buckets).map(([bucket, count]) => [Number(bucket), count])
}

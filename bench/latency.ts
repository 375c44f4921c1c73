/** Latencies by bucket. Bucket n holds those from `BUCKET_GROWTH ** n` µs up to the next. */
export type Buckets = Readonly<Record<number, number>>

/** Each bucket is one percent wider than the one before, so what is read from it is at most half a percent off. */
export const BUCKET_GROWTH = 1.01

/** The latency in ms that so many percent of the requests did not exceed; NaN where there are none. */
export function percentileMs(buckets: Buckets, percentile: number): number {
  const wanted = (Object.values(buckets).reduce((sum, count) => sum + count, 0) * percentile) / 100
  let [seen, last] = [0, Number.NaN]
  // An object's integer keys come in ascending order by themselves.
  for (const [bucket, count] of Object.entries(buckets)) {
    seen += count
    last = Number(bucket)
    if (seen >= wanted) break
  }
  return BUCKET_GROWTH ** (last + 0.5) / 1_000
}

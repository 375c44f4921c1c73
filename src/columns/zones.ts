const CAPACITY = 16

/**
 * Least and greatest code of each column in each segment: a zone map (Moerkotte, "Small Materialized Aggregates", VLDB 1998).
 * Stored by column, then by segment, so that a look at hundreds of segments reads two arrays.
 */
export class Zones {
  /** No code that is or was there is less, or greater; +Infinity and -Infinity where there is none. */
  readonly least: Float64Array[]
  readonly greatest: Float64Array[]

  constructor(columns: number) {
    this.least = Array.from({ length: columns }, () => new Float64Array(CAPACITY).fill(Number.POSITIVE_INFINITY))
    this.greatest = Array.from({ length: columns }, () => new Float64Array(CAPACITY).fill(Number.NEGATIVE_INFINITY))
  }

  /** Has room for a segment of this number from now on. */
  open(segment: number): void {
    if (segment < (this.least[0] as Float64Array).length) return
    for (let column = 0; column < this.least.length; column++) {
      this.least[column] = widened(this.least[column] as Float64Array, Number.POSITIVE_INFINITY)
      this.greatest[column] = widened(this.greatest[column] as Float64Array, Number.NEGATIVE_INFINITY)
    }
  }

  /** Forgets the codes of a segment. */
  clear(segment: number): void {
    for (const least of this.least) least[segment] = Number.POSITIVE_INFINITY
    for (const greatest of this.greatest) greatest[segment] = Number.NEGATIVE_INFINITY
  }

  /** A row of the segment has this code. */
  take(segment: number, column: number, code: number): void {
    const least = this.least[column] as Float64Array
    const greatest = this.greatest[column] as Float64Array
    if (code < (least[segment] as number)) least[segment] = code
    if (code > (greatest[segment] as number)) greatest[segment] = code
  }
}

function widened(numbers: Float64Array, rest: number): Float64Array {
  const wider = new Float64Array(2 * numbers.length).fill(rest, numbers.length)
  wider.set(numbers)
  return wider
}

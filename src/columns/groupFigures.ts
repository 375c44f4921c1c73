import { NO_TEXT } from './dictionary.ts'
import type { Kernel } from './kernel.ts'
import type { RankTable } from './rankTable.ts'
import type { Segment } from './segment.ts'
import { codesOf } from './segmentCodes.ts'

/** A figure of each group. Groups are numbered; a figure has room for more of them once they are there. */
export interface FigureValues {
  /** Makes room for groups up to, not including, `size`. */
  grow(size: number): void
  /** Takes in `rows[0, count)` of a segment, which belong to these groups. */
  take(segment: Segment, rows: Int32Array, count: number, groups: Int32Array): void
  /** The figure of a group as PostgreSQL prints it; null: none of its rows has a value. */
  textOf(group: number): string | null
}

/** Number of rows that have a value. */
export class ValueCounts implements FigureValues {
  private counts = new Int32Array(0)

  constructor(
    private readonly kernel: Kernel,
    private readonly column: number,
  ) {}

  grow(size: number): void {
    this.counts = widened(this.counts, size)
  }

  take(segment: Segment, rows: Int32Array, count: number, groups: Int32Array): void {
    const { counts } = this
    const codes = codesOf(this.kernel, segment, this.column, rows, count)
    for (let at = 0; at < count; at++) if (!Number.isNaN(codes[at])) (counts[groups[at] as number] as number)++
  }

  textOf(group: number): string {
    return String(this.counts[group])
  }
}

/** A float plus this number, minus it, is the float rounded to an integer, up to 2^51. */
const ROUNDING = 1.5 * 2 ** 52

/**
 * Exact sums of decimals: values become units of the last digit, which are integers that floats keep, and sums of units are
 * divided into whole parts and the rest before they come near 2^53. Columns whose greatest code is below `greatestOf` allow that.
 */
export class Sums implements FigureValues {
  private wholes = new Float64Array(0)
  /** Units beside the whole parts; -0: no row of the group has a value. */
  private rests = new Float64Array(0)
  /** No rest is further from 0. */
  private reach = 0
  private readonly units: number

  /** `scale`: digits behind the point. */
  constructor(
    private readonly kernel: Kernel,
    private readonly column: number,
    private readonly scale: number,
  ) {
    this.units = 10 ** scale
  }

  /** The distance from 0 up to which sums of so many codes are exact: a code is off by less than a quarter of a unit. */
  static greatestOf(rows: number, scale: number): number {
    return Math.min(2 ** 51 / 10 ** scale, Number.MAX_SAFE_INTEGER / rows)
  }

  grow(size: number): void {
    const { length } = this.rests
    this.wholes = widened(this.wholes, size)
    this.rests = widened(this.rests, size).fill(-0, length)
  }

  take(segment: Segment, rows: Int32Array, count: number, groups: Int32Array): void {
    const greatest = Math.max(Math.abs(segment.leastOf(this.column)), Math.abs(segment.greatestOf(this.column)))
    // No row has a value.
    if (greatest === Infinity) return
    const isSmall = count * greatest * this.units < REACH_MAX / 8
    this.makeRoom(count * this.units * (isSmall ? Math.max(greatest, 1) : 1))
    const codes = codesOf(this.kernel, segment, this.column, rows, count)
    if (isSmall) this.addUnits(codes, count, groups)
    else this.addParts(codes, count, groups)
  }

  private addUnits(codes: Float64Array, count: number, groups: Int32Array) {
    const { rests, units } = this
    for (let at = 0; at < count; at++) {
      const code = codes[at] as number
      if (Number.isNaN(code)) continue
      const group = groups[at] as number
      rests[group] = (rests[group] as number) + (code * units + ROUNDING - ROUNDING)
    }
  }

  private addParts(codes: Float64Array, count: number, groups: Int32Array) {
    const { wholes, rests, units } = this
    for (let at = 0; at < count; at++) {
      const code = codes[at] as number
      if (Number.isNaN(code)) continue
      const group = groups[at] as number
      const whole = Math.floor(code)
      wholes[group] = (wholes[group] as number) + whole
      rests[group] = (rests[group] as number) + ((code - whole) * units + ROUNDING - ROUNDING)
    }
  }

  /** Keeps rests below 2^53 when so much is added. */
  private makeRoom(more: number) {
    if (this.reach + more >= REACH_MAX) {
      for (let group = 0; group < this.rests.length; group++) {
        if (this.rests[group] === 0) continue
        ;[this.wholes[group], this.rests[group]] = [this.wholeOf(group), this.restOf(group)]
      }
      this.reach = this.units
    }
    this.reach += more
  }

  /** The whole part of a sum; NaN: there is none. */
  private wholeOf(group: number): number {
    return this.hasValue(group) ? (this.wholes[group] as number) + this.carriedOf(this.rests[group] as number) : Number.NaN
  }

  /** Units beside the whole part, from 0 on. */
  private restOf(group: number): number {
    const rest = this.rests[group] as number
    return rest - this.carriedOf(rest) * this.units
  }

  private carriedOf(rest: number): number {
    const nearest = rest / this.units + ROUNDING - ROUNDING
    return nearest * this.units > rest ? nearest - 1 : nearest
  }

  private hasValue(group: number): boolean {
    return !Object.is(this.rests[group], -0)
  }

  textOf(group: number): string | null {
    if (!this.hasValue(group)) return null
    const { scale, units } = this
    const [whole, rest] = [this.wholeOf(group), this.restOf(group)]
    const isNegative = whole < 0
    const [shown, shownRest] = isNegative && rest > 0 ? [-(whole + 1), units - rest] : [Math.abs(whole), rest]
    const digits = scale === 0 ? '' : `.${String(shownRest).padStart(scale, '0')}`
    return `${isNegative ? '-' : ''}${shown}${digits}`
  }

  /** Values by which groups are sorted, the first one first; NaN: there is no value. */
  readonly sortValues = [(group: number) => this.wholeOf(group), (group: number) => this.restOf(group)]
}

const REACH_MAX = 2 ** 53

/** The least or the greatest value. */
export class Extremes implements FigureValues {
  private codes = new Float64Array(0)

  /** `ranks`: the order of texts; null for other kinds. */
  constructor(
    private readonly kernel: Kernel,
    private readonly column: number,
    private readonly isGreatest: boolean,
    private readonly ranks: RankTable | null,
    private readonly print: (code: number) => string | null,
  ) {}

  grow(size: number): void {
    const { length } = this.codes
    this.codes = widened(this.codes, size).fill(Number.NaN, length)
  }

  take(segment: Segment, rows: Int32Array, count: number, groups: Int32Array): void {
    const { codes: best, ranks, isGreatest } = this
    const codes = codesOf(this.kernel, segment, this.column, rows, count)
    for (let at = 0; at < count; at++) {
      const code = codes[at] as number
      if (Number.isNaN(code) || (ranks !== null && code === NO_TEXT)) continue
      const group = groups[at] as number
      const known = best[group] as number
      if (known === code) continue
      const isLess = ranks === null ? code < known : ranks.rankOf(code) < ranks.rankOf(known)
      if (Number.isNaN(known) || isLess !== isGreatest) best[group] = code
    }
  }

  textOf(group: number): string | null {
    const code = this.codes[group] as number
    return Number.isNaN(code) ? null : this.print(code)
  }
}

/** A copy of the numbers with room for more, which are 0. */
export function widened<Numbers extends Int32Array | Float64Array>(numbers: Numbers, size: number): Numbers {
  const wider = new (numbers.constructor as new (size: number) => Numbers)(size)
  wider.set(numbers)
  return wider
}

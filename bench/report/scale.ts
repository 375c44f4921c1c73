import { tickText } from './figure.ts'

/** Where values lie on an axis. */
export interface Scale {
  /** 0 at the axis's beginning to 1 at its end; null for what the axis cannot show. */
  readonly place: (value: number) => number | null
  readonly ticks: readonly { readonly value: number; readonly label: string }[]
  readonly isLogarithmic: boolean
}

/** From 0 (or the least value, if it is negative) to the first tick at or over the greatest. About five ticks. */
export function linearScale(values: readonly number[]): Scale {
  const finite = values.filter(Number.isFinite)
  const least = Math.min(0, ...finite)
  const greatest = Math.max(0, ...finite) || (least === 0 ? 1 : 0)
  const step = niceStep((greatest - least) / 5)
  const first = Math.floor(least / step)
  const last = Math.ceil(greatest / step)
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
  return scale((value) => value, first * step, last * step, ticks, false)
}

/** From a 1, 2 or 5 of a power of ten at or under the least value to one at or over the greatest. Values over 0 only. */
export function logarithmicScale(values: readonly number[]): Scale {
  const positive = values.filter((value) => Number.isFinite(value) && value > 0)
  if (positive.length === 0) return scale(Math.log10, 1, 10, [1, 10], true)
  const steps = logarithmicSteps(Math.min(...positive), Math.max(...positive))
  const powers = steps.filter(isPowerOfTen)
  const ticks = steps.length <= 7 || powers.length < 2 ? steps : powers
  return scale(Math.log10, steps[0] as number, steps.at(-1) as number, thin(ticks, 7), true)
}

const NINES = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999]
const NINES_MAX = 99.9999

/** Percentiles by how rare what is beyond them is: each further nine takes the same width. 100 has no place. */
export function percentileScale(percentiles: readonly number[]): Scale {
  const shown = percentiles.filter((value) => value >= 0 && value <= NINES_MAX)
  const rarity = (value: number) => (value >= 0 && value <= NINES_MAX ? -Math.log10(1 - value / 100) : Number.NaN)
  return scale(rarity, 0, Math.max(90, ...shown), NINES, true, String)
}

function scale(
  measure: (value: number) => number,
  from: number,
  to: number,
  ticks: readonly number[],
  isLogarithmic: boolean,
  label = tickText,
): Scale {
  const start = measure(from)
  const width = measure(to) - start
  const place = (value: number) => {
    const at = (measure(value) - start) / width
    return Number.isFinite(at) ? at : null
  }
  // A hair over 1 is rounding; further out lies another axis.
  const inside = ticks.filter((value) => (place(value) ?? 2) <= 1 + 1e-9)
  return { place, ticks: inside.map((value) => ({ value, label: label(value) })), isLogarithmic }
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  return power * ([1, 2, 5].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10)
}

function logarithmicSteps(least: number, greatest: number): number[] {
  const all: number[] = []
  // One power further on both sides, since logarithms are rounded.
  for (let power = Math.floor(Math.log10(least)) - 1; power <= Math.ceil(Math.log10(greatest)) + 1; power++)
    all.push(...[1, 2, 5].map((factor) => Number(`${factor}e${power}`)))
  const first = all.findLastIndex((step) => step <= least)
  const last = all.findIndex((step) => step >= greatest)
  // One value alone still needs an axis around it.
  return all.slice(first === last ? Math.max(0, first - 1) : first, (first === last ? last + 1 : last) + 1)
}

function isPowerOfTen(value: number): boolean {
  return Math.abs(Math.log10(value) % 1) < 1e-9
}

function thin(ticks: readonly number[], countMax: number): number[] {
  const every = Math.ceil(ticks.length / countMax)
  return ticks.filter((_, index) => index % every === 0)
}

import { instantText } from '../load/draws.mjs'

/** A parameter that each request has another of. */
export interface RandomValue {
  /** What is drawn is an integer of this range. */
  readonly low: number
  readonly high: number
  /** Which of the path's random values it is, from 0; or the property of the body that brings it. */
  readonly place: number | string
  /** `factor` × the integer + `summand`. */
  readonly factor: number
  readonly summand: number
  /** `drawn`: an instant, in seconds since 1970; `later`: in seconds after the random value before it, an instant too. */
  readonly instant?: 'drawn' | 'later'
}

/** How the parameter is written for this integer. */
export function writeRandom({ factor, summand, instant }: RandomValue, drawn: number): string {
  const value = factor * drawn + summand
  return instant === undefined ? String(value) : instantText(value)
}

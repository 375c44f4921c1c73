/** `factor` × a random integer of the range + `summand`. */
export interface RandomValue {
  readonly low: number
  readonly high: number
  /** Which of the path's random integers it is, from 0; or the property of the body that brings it. */
  readonly place: number | string
  readonly factor: number
  readonly summand: number
}

/** How the parameter is written for this integer. */
export function writeRandom({ factor, summand }: RandomValue, drawn: number): string {
  return String(factor * drawn + summand)
}

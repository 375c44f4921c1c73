/** What a random value is drawn from: a number from `low` to `high`. */
export type DrawRange =
  /** The value is `first + step * number`. */
  | {
      readonly kind: 'integer'
      readonly low: number
      readonly high: number
      readonly first: number
      readonly step: number
    }
  /** In seconds since 1970, or after the instant before it. */
  | { readonly kind: 'instant' | 'later'; readonly low: number; readonly high: number }

export function rangesOf(text: string): DrawRange[]

export function fillDraws(text: string, draw: (range: DrawRange, place: number) => number): string

import type { Operation } from '../operation.ts'

/**
 * Range of a random value: an integer is `first + step * number`; an instant is in seconds since 1970, or after the instant
 * before it.
 */
export type DrawRange = { readonly low: number; readonly high: number } & (
  | {
      readonly kind: 'integer'
      readonly digits: number
      readonly first: number
      readonly step: number
      readonly isOnce?: boolean
    }
  | { readonly kind: 'instant' | 'later' }
  | { readonly kind: 'word'; readonly words: readonly string[] }
)

/** A request of autocannon, with its expected status. */
export interface DrawnRequest extends Operation {
  readonly headers: Readonly<Record<string, string>>
}

export function requestSource(
  operations: readonly Operation[],
  seed: number,
  client?: number,
  clients?: number,
): (count: number) => DrawnRequest[]

export function authorizationOf(key: string, tokens?: readonly string[]): string

export function rangesOf(text: string): DrawRange[]

export function fillDraws(text: string, draw: (range: DrawRange) => number): string

export function nextPathOf(link: string | null | undefined): string | null

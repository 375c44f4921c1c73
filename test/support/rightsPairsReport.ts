// Options and findings of the trials, and texts for their differences.
import type { Kind } from './rightsPairsRights.ts'

export interface PairsOptions {
  readonly seed: number
  /** Number of keys to try, each with other rights and rows. */
  readonly keys: number
  /** Number of the first key, as a difference names it. */
  readonly from?: number
  readonly reads: number
  readonly writes: number
  /** Settings of both servers. */
  readonly environment?: Readonly<Record<string, string>>
  /**
   * Interval in keys at which a key reads only some properties, and is compared with a key that has all rights, on a server
   * without the other properties; 0: never.
   */
  readonly shadowEvery?: number
  /** Maximum number of keys that follow the change feed; default: none. */
  readonly followsMax?: number
  /** Kind of all keys; default: kinds take turns. */
  readonly kind?: Kind
  /** True to use keys of whole entities, and equal databases. The test must then find no differences. */
  readonly isWhole?: boolean
}

export interface PairsFindings {
  readonly differences: string[]
  pairs: number
  /** Number of keys whose trial ended because a connection broke during a write. */
  interrupted: number
  /** Number of keys that have followed the change feed. */
  followed: number
  /** Different texts of rights. */
  readonly rights: Set<string>
  /** Number of drawn keys that the server refuses. */
  refused: number
  /** Number of cells in which the two databases may differ. */
  hiddenCells: number
  /** Number of answers by channel and status. */
  readonly channels: Record<string, Record<string, number>>
}

/** Returns findings in which everything is empty or 0. */
export function noFindings(): PairsFindings {
  return {
    differences: [],
    pairs: 0,
    followed: 0,
    interrupted: 0,
    rights: new Set(),
    refused: 0,
    hiddenCells: 0,
    channels: {},
  }
}

/**
 * Replaces objects whose parts all have no value by null. A key sees null if the visible parts have no value; a key with all
 * rights sees an object if a hidden part has a value.
 */
export function withoutEmpty(rows: string): string {
  return rows.replace(/\{(?:"\w+":null,?)+\}/g, 'null')
}

/** Returns the text around a name, for a report. */
export function around(text: string, name: string): [string, string] {
  const at = text.search(new RegExp(name.split('.').at(-1) as string, 'i'))
  return [text.slice(Math.max(0, at - 150), at + 150), '']
}

/** Returns excerpts of both texts, which begin shortly before the first difference. */
export function excerptsOf(one: string, other: string): { readonly left: string; readonly right: string } {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  const show = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 120), at + 300))
  return { left: show(one), right: show(other) }
}

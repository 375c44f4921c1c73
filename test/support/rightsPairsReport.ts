// What is tried and found, and differences as text.
import type { Kind } from './rightsPairsRights.ts'

export interface PairsOptions {
  readonly seed: number
  /** Keys to try, each with rights and rows of its own. */
  readonly keys: number
  /** Number of the key to begin with, as a difference names it. */
  readonly from?: number
  readonly reads: number
  readonly writes: number
  /** Settings of both servers. */
  readonly environment?: Readonly<Record<string, string>>
  /** Each how many keys one reads some properties alone, and is compared with a whole key where there are no others; 0: none. */
  readonly shadowEvery?: number
  /** Keys that follow the change feed; default: none. */
  readonly followsMax?: number
  /** Kind of all keys; default: kinds take turns. */
  readonly kind?: Kind
  /** True: keys of whole entities and equal databases, to see that the test itself raises no alarm. */
  readonly isWhole?: boolean
}

export interface PairsFindings {
  readonly differences: string[]
  pairs: number
  /** Keys whose writes a broken connection has interrupted. */
  interrupted: number
  /** Keys that have followed the change feed. */
  followed: number
  /** Different texts of rights. */
  readonly rights: Set<string>
  /** Keys whose rights the server refuses. */
  refused: number
  /** Cells in which the two databases may differ. */
  hiddenCells: number
  /** Number of answers by channel and status. */
  readonly channels: Record<string, Record<string, number>>
}

/** Findings before anything was tried. */
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

/** An object is null for the key if none of its visible parts has a value; for a whole key, hidden ones count, too. */
export function withoutEmpty(rows: string): string {
  return rows.replace(/\{(?:"\w+":null,?)+\}/g, 'null')
}

/** Returns the text around a name, for a report. */
export function around(text: string, name: string): [string, string] {
  const at = text.search(new RegExp(name.split('.').at(-1) as string, 'i'))
  return [text.slice(Math.max(0, at - 150), at + 150), '']
}

/** Returns both texts from a little before they begin to differ. */
export function excerptsOf(one: string, other: string): { readonly left: string; readonly right: string } {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  const show = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 120), at + 300))
  return { left: show(one), right: show(other) }
}

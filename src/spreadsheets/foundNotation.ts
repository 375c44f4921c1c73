// Finds the language in which a file writes days, numbers and booleans, by its cells. Runs in browsers, too.
import { KIND_TRAITS, type NotatedName } from '../model/kindTraits.ts'
import { type Notation, notationOf, PROPOSED, readNotated } from './notation.ts'

/** A cell whose form depends on the language. */
export interface NotatedCell {
  readonly kind: NotatedName
  readonly text: string
}

/** The language of a file. */
export interface FoundNotation {
  /** Notation of the language. Null: values are written as the API writes them, such as `2026-09-01` and `1234.5`. */
  readonly notation: Notation | null
  /** Number of cells that are not valid in the language. */
  readonly unread: number
  /**
   * Cell that makes the language doubtful: in another language, as many cells are valid, but this cell has another value. Null:
   * there is no such cell.
   */
  readonly doubt: Doubt | null
}

interface Doubt {
  readonly text: string
  readonly value: string
  readonly other: { readonly language: string; readonly value: string }
}

/** Patterns of the API's notation, by kind. */
const PLAIN: Readonly<Record<NotatedName, RegExp>> = {
  boolean: /^(?:true|false)$/i,
  integer: /^-?\d+$/,
  decimal: /^-?\d+(?:\.\d+)?$/,
  date: /^\d{4}-\d\d-\d\d$/,
  instant: /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?$/,
}

/**
 * Returns the language in which most cells are valid. If there are several, the first of them in `preferred` wins, such as a
 * language of the user's browser.
 */
export function findNotation(cells: readonly NotatedCell[], preferred: readonly string[]): FoundNotation {
  const unreadPlain = cells.filter(({ kind, text }) => !PLAIN[kind].test(text.trim())).length
  const isPlain = unreadPlain === 0 && !cells.some(({ text }) => isAmbiguous(text))
  if (isPlain) return { notation: null, unread: 0, doubt: null }
  const all = [...new Set([...preferred, ...PROPOSED])].flatMap((language) => notationOf(language) ?? [])
  const notations = all.filter((notation) => isNatural(notation, cells))
  const readings = notations.map((notation) => {
    const values = cells.map(({ kind, text }) => readNotated(kind, text, notation))
    return { notation, values, unread: values.filter((value) => value === null).length }
  })
  const least = Math.min(unreadPlain, ...readings.map(({ unread }) => unread))
  if (unreadPlain === least) return { notation: null, unread: least, doubt: null }
  const [best, ...others] = readings.filter(({ unread }) => unread === least)
  if (best === undefined) return { notation: null, unread: unreadPlain, doubt: null }
  return { notation: best.notation, unread: least, doubt: doubtOf(cells, best.values, others) }
}

/**
 * Returns whether people of the language write days like these cells. If the month comes first, they use slashes, not points or
 * hyphens.
 */
function isNatural({ dayOrder }: Notation, cells: readonly NotatedCell[]): boolean {
  const isDay = ({ kind, text }: NotatedCell) => KIND_TRAITS[kind].temporal !== null && /^\d{1,2}[.-]/.test(text.trim())
  return dayOrder !== 'MDY' || !cells.some(isDay)
}

/**
 * Returns whether a text is a number such as `1.234`, whose point separates decimals in some languages, and thousands in others.
 */
function isAmbiguous(text: string): boolean {
  return /^-?\d{1,3}(?:\.\d{3})+$/.test(text.trim())
}

function doubtOf(
  cells: readonly NotatedCell[],
  values: readonly (string | null)[],
  others: readonly { readonly notation: Notation; readonly values: readonly (string | null)[] }[],
): Doubt | null {
  for (const other of others) {
    const at = values.findIndex((value, index) => value !== null && other.values[index] !== value)
    const [value, otherValue] = [values[at] ?? null, other.values[at] ?? null]
    if (value !== null && otherValue !== null)
      return { text: cells[at]?.text ?? '', value, other: { language: other.notation.language, value: otherValue } }
  }
  return null
}

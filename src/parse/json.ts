import { JsonNumber } from '../model/kinds.ts'
import { shown } from '../model/shown.ts'

/** More than any entity has properties; each takes a third of a microsecond to parse. */
const VALUES_MAX = 1_000
/** Shorter texts are parsed in a millisecond or two, whatever is in them. */
const SMALL_LENGTH = 2_000
const DEPTH_MAX = 64
/** A text of 1 MiB of escapes takes 20 ms to parse. */
const ESCAPES_MAX = 100_000
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const [ARRAY_BEGIN, ARRAY_END, OBJECT_BEGIN, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Results of `elementEnd` that are no position. */
export const NO_END = -1
export const EXCESSIVE = -2

/**
 * Returns whether a text has so many values or escapes, or so many values within one another, that parsing it would hold up
 * others.
 */
export function isExcessive(text: string): boolean {
  return text.length > SMALL_LENGTH && elementEnd(text, 0) === EXCESSIVE
}

/**
 * The position of the comma or closing bracket that ends the value at `from`. NO_END: the text ends before. EXCESSIVE: the value
 * exceeds a bound, and the rest was not scanned. Each character is looked at once.
 */
export function elementEnd(text: string, from: number): number {
  let [values, depth, escapes] = [0, 0, 0]
  let isString = false
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) isString = !isString
    else if (isString) {
      if (unit !== BACKSLASH) continue
      at++
      escapes++
    } else if (unit === COMMA) {
      if (depth === 0) return at
      values++
    } else if (unit === ARRAY_BEGIN || unit === OBJECT_BEGIN) {
      values++
      depth++
    } else if (unit === ARRAY_END || unit === OBJECT_END) {
      if (depth === 0) return at
      depth--
    }
    if (values > VALUES_MAX || depth > DEPTH_MAX || escapes > ESCAPES_MAX) return EXCESSIVE
  }
  return NO_END
}

/** A JSON text's value, with each number as it was written. @throws SyntaxError, RangeError */
export function parseJson(text: string): unknown {
  return JSON.parse(text, withNumbersAsWritten)
}

/** Reason why a text is not JSON: continues "it is not JSON". `error`: of JSON.parse. */
export function faultOf(error: unknown): string {
  return shown((error as Error).message.replace('JSON Parse error: ', ''))
}

/** Returns whether a value of JSON is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
}

function withNumbersAsWritten(_key: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' && context ? new JsonNumber(context.source) : value
}

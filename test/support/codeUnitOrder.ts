// A database that orders texts by code units, as collation "C" orders most of them, so that tests of columns need no PostgreSQL.
import type { Reader } from '../../src/columns/collation.ts'
import { Slices } from '../../src/columns/slices.ts'
import type { TextParts } from '../../src/columns/tableTexts.ts'
import type { Property } from '../../src/model/entity.ts'
import { foldedText } from './foldedText.ts'
import { compareCodes } from './predicate.ts'

/** Answers the two statements that columns send: the places of texts among thresholds, and how texts are folded. */
const codeUnitReader: Reader = {
  async read({ values }) {
    const [texts = [], thresholds] = values.map((value) => textsOf(value as string))
    if (thresholds === undefined) return texts.map((text) => [foldedText(text)])
    const sorted = texts.map((text, index) => ({ text, index })).sort((one, other) => compareCodes(one.text, other.text))
    const placeOf = (text: string) => thresholds.filter((threshold) => compareCodes(threshold, text) <= 0).length
    return [[sorted.map(({ text, index }) => `${index},${placeOf(text)}`).join()]]
  },
}

/** Returns the texts of an array that `arrayText` has written. */
function textsOf(array: string): string[] {
  return Array.from(array.matchAll(/"((?:[^"\\]|\\.)*)"/gs), ([, text = '']) => text.replace(/\\(.)/gs, '$1'))
}

/** `textsOfProperty`: the texts that rows have; the order is read from them. */
export function codeUnitTexts(textsOfProperty: (property: Property) => Iterable<string | null>): TextParts {
  return {
    database: codeUnitReader,
    slices: new Slices(),
    readOrder: (property) => async (take) => {
      const texts = new Set(textsOfProperty(property))
      texts.delete(null)
      for (const text of ([...texts] as string[]).sort(compareCodes)) take(text)
    },
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }
const encoder = new TextEncoder()

/** Returns a row as a line of COPY, without the line end. */
export function copyBytes(row: readonly (string | null)[]): Uint8Array {
  const fields = row.map((value) =>
    value === null ? '\\N' : value.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character] ?? ''),
  )
  return encoder.encode(fields.join('\t'))
}

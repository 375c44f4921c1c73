// Turns a row, or its line of COPY, into one code for each property.
import type { Entity } from '../model/entity.ts'
import { isKeptAsText, type KindName, type PlainName } from '../model/kinds.ts'
import type { Row } from '../model/sql.ts'
import { type Code, codeParsers, halvesOfNumber, halvesTo } from './codes.ts'
import { BACKSLASH, dateAt, decimalAt, decoder, instantAt, integerAt, isNull, TAB, writeUnescaped } from './copyText.ts'
import { Dictionary } from './dictionary.ts'
import { Printer } from './printers.ts'

// PostgreSQL prints booleans as t and f.
const LETTER_F = 102
const LETTER_T = 116

/** Returns the code of a field of COPY; NaN if the field has no value, or a form that only `numbers` can parse. */
type ReadField = (bytes: Uint8Array, from: number, to: number, scale: number) => number

const booleanAt: ReadField = (bytes, from) => (bytes[from] === LETTER_T ? 1 : bytes[from] === LETTER_F ? 0 : Number.NaN)

const READERS: Readonly<Record<PlainName, ReadField>> = {
  boolean: booleanAt,
  integer: integerAt,
  decimal: decimalAt,
  date: dateAt,
  instant: instantAt,
  // For JSON, COPY prints only t, which says that there is a value.
  json: booleanAt,
}

/** Values of a row that have no code, as PostgreSQL prints them, by column. In the columns of codes, they count as no value. */
export type UncodedValues = ReadonlyMap<number, string>

/** Dictionaries, printers and codes of an entity. */
export class RowCodes {
  /** Lower halves of the codes of the row that was coded last, by column. */
  readonly lows: Int32Array
  /** Upper halves of the codes of the row that was coded last, by column. */
  readonly highs: Int32Array
  /** Dictionaries of texts by column; null if the property has no texts. */
  readonly dictionaries: readonly (Dictionary | null)[]
  private readonly kinds: readonly KindName[]
  private readonly readers: readonly (ReadField | undefined)[]
  readonly printers: readonly Printer[]
  private readonly scales: readonly number[]
  private unescaped = new Uint8Array(1_024)

  constructor({ properties }: Entity) {
    this.kinds = properties.map(({ kind }) => kind.name)
    this.readers = this.kinds.map((kind) => READERS[kind as PlainName])
    this.lows = new Int32Array(this.kinds.length)
    this.highs = new Int32Array(this.kinds.length)
    this.dictionaries = this.kinds.map((kind) => (isKeptAsText(kind) ? new Dictionary() : null))
    this.printers = properties.map(({ kind }, column) => new Printer(kind, this.dictionaries[column] ?? null))
    this.scales = this.printers.map(({ scale }) => scale)
  }

  get bytes(): number {
    return this.dictionaries.reduce((sum, dictionary) => sum + (dictionary?.bytes ?? 0), 0)
  }

  /** Returns the digits after the point of a column's decimals; 0 if the column has no decimals. */
  scaleOf(column: number): number {
    return this.scales[column]
  }

  /** Finds the codes of a row. Returns the values that have no code; null if each value has one. */
  code(row: Row): UncodedValues | null {
    let uncoded: Map<number, string> | null = null
    for (let column = 0; column < this.kinds.length; column++) {
      const text = row[column]
      const dictionary = this.dictionaries[column]
      const code = dictionary && text !== null ? dictionary.code(text) : this.find(column, text)
      if (code === null) uncoded = (uncoded ?? new Map()).set(column, text as string)
      halvesTo(this.lows, this.highs, column, code ?? Number.NaN)
    }
    return uncoded
  }

  /** Returns the code of a value; NaN if `text` is null, and null if the value has no code. */
  find(column: number, text: string | null): Code | null {
    const dictionary = this.dictionaries[column]
    if (text === null) return Number.NaN
    return dictionary ? dictionary.find(text) : codeParsers[this.kinds[column] as PlainName](text, this.scales[column])
  }

  /** Finds the codes of the row in a line of COPY, and returns the values that have no code, as `code` does. */
  codeLine(bytes: Uint8Array, from: number, to: number): UncodedValues | null {
    const { lows, highs, dictionaries, readers, scales } = this
    let uncoded: Map<number, string> | null = null
    let start = from
    for (let column = 0; column < lows.length; column++) {
      const dictionary = dictionaries[column]
      let end = start
      if (dictionary) {
        let hasEscapes = false
        for (; end < to; end++) {
          const byte = bytes[end]
          if (byte === TAB) break
          if (byte === BACKSLASH) hasEscapes = true
        }
        const code = hasEscapes ? this.escaped(dictionary, bytes, start, end) : dictionary.codeOf(bytes, start, end)
        halvesOfNumber(lows, highs, column, code)
      } else {
        while (end < to && bytes[end] !== TAB) end++
        const code = (readers[column] as ReadField)(bytes, start, end, scales[column])
        if (!Number.isNaN(code)) halvesOfNumber(lows, highs, column, code)
        else uncoded = this.unusual(column, bytes, start, end, uncoded)
      }
      start = end + 1
    }
    return uncoded
  }

  /**
   * Finds the code of a field for which a `ReadField` has returned NaN. If the value has no code, adds it to `uncoded`. Returns
   * `uncoded`.
   */
  private unusual(column: number, bytes: Uint8Array, from: number, to: number, uncoded: Map<number, string> | null) {
    const text = isNull(bytes, from, to) ? null : decoder.decode(bytes.subarray(from, to))
    const code = this.find(column, text)
    halvesTo(this.lows, this.highs, column, code ?? Number.NaN)
    return code === null ? (uncoded ?? new Map<number, string>()).set(column, text as string) : uncoded
  }

  private escaped(dictionary: Dictionary, bytes: Uint8Array, from: number, to: number): number {
    if (isNull(bytes, from, to)) return Number.NaN
    if (this.unescaped.length < to - from) this.unescaped = new Uint8Array(2 * (to - from))
    return dictionary.codeOf(this.unescaped, 0, writeUnescaped(bytes, from, to, this.unescaped))
  }
}

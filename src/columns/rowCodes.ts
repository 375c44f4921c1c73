// Coding of rows: turns a row, or its line of COPY, into one code for each property.
import type { Entity } from '../model/entity.ts'
import { isText, type KindName, type PlainName } from '../model/kinds.ts'
import type { Row } from '../model/sql.ts'
import { numbers } from './codes.ts'
import { BACKSLASH, dateAt, decoder, instantAt, isNull, numberAt, TAB, writeUnescaped } from './copyText.ts'
import { Dictionary } from './dictionary.ts'
import { Printer } from './printers.ts'

const LETTER_T = 116 // PostgreSQL prints t and f

/** The code of a field of COPY; NaN: it is not as usual. */
type ReadField = (bytes: Uint8Array, from: number, to: number) => number

const READERS: Readonly<Record<PlainName, ReadField>> = {
  ...{ integer: numberAt, instant: instantAt, decimal: numberAt, date: dateAt },
  boolean: (bytes, from) => Number(bytes[from] === LETTER_T),
}

/** Values of a row that have no code, as PostgreSQL prints them, by column; they are coded as no value. */
export type UncodedValues = ReadonlyMap<number, string>

/** Dictionaries, printers and codes of an entity. NaN: no value. */
export class RowCodes {
  /** Codes of the row that was coded last. */
  readonly codes: Float64Array
  /** Null: the property has no texts. */
  readonly dictionaries: readonly (Dictionary | null)[]
  private readonly kinds: readonly KindName[]
  private readonly readers: readonly (ReadField | undefined)[]
  readonly printers: readonly Printer[]
  private unescaped = new Uint8Array(1_024)

  constructor({ properties }: Entity) {
    this.kinds = properties.map(({ kind }) => kind.name)
    this.readers = this.kinds.map((kind) => READERS[kind as PlainName])
    this.codes = new Float64Array(this.kinds.length)
    this.dictionaries = this.kinds.map((kind) => (isText(kind) ? new Dictionary() : null))
    this.printers = properties.map(({ kind }, column) => new Printer(kind, this.dictionaries[column] ?? null))
  }

  get bytes(): number {
    return this.dictionaries.reduce((sum, dictionary) => sum + (dictionary?.bytes ?? 0), 0)
  }

  /** Codes a row; null: each of its values has a code. */
  code(row: Row): UncodedValues | null {
    let uncoded: Map<number, string> | null = null
    for (let column = 0; column < this.kinds.length; column++) {
      const text = row[column]
      const dictionary = this.dictionaries[column]
      const code = dictionary && text !== null ? dictionary.code(text) : this.find(column, text)
      if (code === null) uncoded = (uncoded ?? new Map()).set(column, text as string)
      this.codes[column] = code ?? Number.NaN
    }
    return uncoded
  }

  /** The code of one value; null: it has none. */
  find(column: number, text: string | null): number | null {
    const dictionary = this.dictionaries[column]
    if (text === null) return Number.NaN
    return dictionary ? dictionary.find(text) : numbers[this.kinds[column] as PlainName](text)
  }

  /** Codes the row of a line of COPY, as `code` does. */
  codeLine(bytes: Uint8Array, from: number, to: number): UncodedValues | null {
    const { codes, dictionaries } = this
    let uncoded: Map<number, string> | null = null
    let start = from
    for (let column = 0; column < codes.length; column++) {
      const dictionary = dictionaries[column]
      let end = start
      let code: number | null
      if (dictionary) {
        let hasEscapes = false
        for (; end < to; end++) {
          const byte = bytes[end]
          if (byte === TAB) break
          if (byte === BACKSLASH) hasEscapes = true
        }
        code = hasEscapes ? this.escaped(dictionary, bytes, start, end) : dictionary.codeOf(bytes, start, end)
      } else {
        while (end < to && bytes[end] !== TAB) end++
        code = isNull(bytes, start, end) ? Number.NaN : this.plain(column, bytes, start, end)
      }
      if (code === null) uncoded = (uncoded ?? new Map()).set(column, decoder.decode(bytes.subarray(start, end)))
      codes[column] = code ?? Number.NaN
      start = end + 1
    }
    return uncoded
  }

  private plain(column: number, bytes: Uint8Array, from: number, to: number): number | null {
    const code = (this.readers[column] as ReadField)(bytes, from, to)
    return Number.isNaN(code) ? this.find(column, decoder.decode(bytes.subarray(from, to))) : code
  }

  private escaped(dictionary: Dictionary, bytes: Uint8Array, from: number, to: number): number {
    if (isNull(bytes, from, to)) return Number.NaN
    if (this.unescaped.length < to - from) this.unescaped = new Uint8Array(2 * (to - from))
    return dictionary.codeOf(this.unescaped, 0, writeUnescaped(bytes, from, to, this.unescaped))
  }
}

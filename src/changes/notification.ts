import type { Row } from '../model/sql.ts'
import type { Change } from './change.ts'

/** What a trigger of a table has notified of. */
export interface Notification {
  readonly table: string
  /** The writer's setting `roster.machine`; '' for one that names none. */
  readonly machine: string
  /** Null: rows of the table have changed, and it is not known which. */
  readonly change: Change | null
}

/** In which places of a table's rows, as PostgreSQL prints them, the values of a `Row` stand; and how many there are. */
export interface RowForm {
  readonly places: readonly number[]
  readonly width: number
}

/** Table, machine, transaction, serial, rows: as sql/0012_notify_rows.sql writes them. A machine's name has no space. */
const WITH_ROWS = /^(\S+) (\S*) (\d+) \S+ /
const NO_ROW = '-'

/** Reads a notification. Rows of another form than `formOf` says, which the table had before or gets now, are not known. */
export function readNotification(payload: string, formOf: (table: string) => RowForm | undefined): Notification {
  const [table = '', machine = ''] = payload.split(' ', 2)
  const head = WITH_ROWS.exec(payload)
  const form = head && formOf(table)
  if (!form) return { table, machine, change: null }
  const images = readImages(payload, head[0].length, form)
  return { table, machine, change: images && { transaction: Number(head[3]), ...images } }
}

function readImages(text: string, from: number, form: RowForm): Pick<Change, 'before' | 'after'> | null {
  const reader = new ImageReader(text, from)
  const [before, after] = [reader.image(), reader.image()]
  if (before === undefined || after === undefined || !reader.isAtEnd) return null
  if (![before, after].every((values) => values === null || values.length === form.width)) return null
  const rowOf = (values: Row | null) => values && form.places.map((place) => values[place] as string | null)
  return { before: rowOf(before), after: rowOf(after) }
}

/** Reads composite values as PostgreSQL prints them. PostgreSQL documentation, 8.16.6, Composite Type Input and Output Syntax. */
class ImageReader {
  constructor(
    private readonly text: string,
    private at: number,
  ) {}

  get isAtEnd(): boolean {
    return this.at === this.text.length
  }

  /** All values of a row; null: there is none; undefined: the text is something else. */
  image(): Row | null | undefined {
    const first = this.text[this.at++]
    if (first === NO_ROW) return null
    if (first !== '(') return undefined
    const values: (string | null)[] = []
    for (let end = ','; end === ','; end = this.text[this.at++] ?? '') {
      const value = this.value()
      if (value === undefined) return undefined
      values.push(value)
    }
    return this.text[this.at - 1] === ')' ? values : undefined
  }

  private value(): string | null | undefined {
    if (this.text[this.at] === '"') return this.quoted()
    const from = this.at
    while (this.isPlain(this.text.charCodeAt(this.at))) this.at++
    return this.at === from ? null : this.text.slice(from, this.at)
  }

  /** Whether it is part of a value without quotes. Not a number: the text has ended. */
  private isPlain(code: number): boolean {
    return code !== COMMA && code !== END_OF_ROW && !Number.isNaN(code)
  }

  /** Quotes and backslashes within are doubled. */
  private quoted(): string | undefined {
    const from = this.at + 1
    for (let at = from; at < this.text.length; at++) {
      const code = this.text.charCodeAt(at)
      if (code === BACKSLASH) at++
      else if (code !== QUOTE) continue
      else if (this.text.charCodeAt(at + 1) === QUOTE) at++
      else {
        this.at = at + 1
        return this.text.slice(from, at).replace(DOUBLED, '$1')
      }
    }
    return undefined
  }
}

const COMMA = 0x2c
const END_OF_ROW = 0x29
const QUOTE = 0x22
const BACKSLASH = 0x5c
const DOUBLED = /(["\\])\1/g

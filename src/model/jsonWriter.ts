// Writes JSON as UTF-8 from bytes and numbers, without making strings, for pages that come from copies in memory. Rows from
// PostgreSQL are texts, and json.ts writes them. A single writer for both would have to convert codes to texts first: finding and
// writing a list of 50 rows from memory then took 2.4 times the CPU time.

const QUOTE = 34
const BACKSLASH = 92
const MINUS = 45
const POINT = 46
const ZERO = 48
const COLON = 58
const LETTER_T = 84
const SPACE = 32
/** The characters `Z"`. */
const END_OF_INSTANT = 90 | (QUOTE << 8)

/** Two digits of each number below 100 in ASCII, as one little-endian 16-bit number. */
const pairs = Int32Array.from({ length: 100 }, (_, number) => {
  const tens = Math.floor(number / 10)
  return (ZERO + tens) | ((ZERO + number - 10 * tens) << 8)
})

const encoder = new TextEncoder()
/** JSON of each character from U+0000 to the backslash, for use if the character must be escaped. RFC 8259, 7 */
const escapes = Array.from({ length: BACKSLASH + 1 }, (_, unit) =>
  encoder.encode(JSON.stringify(String.fromCharCode(unit)).slice(1, -1)),
)
const INT32_MAX = 2 ** 31 - 1
const BYTES = 1 << 14

export class JsonWriter {
  private bytes = new Uint8Array(BYTES)
  private view = new DataView(this.bytes.buffer)
  private length = 0

  /** Writes JSON that is UTF-8 already. */
  raw(json: Uint8Array): void {
    const bytes = this.room(json.length)
    const { length } = this
    for (let at = 0; at < json.length; at++) bytes[length + at] = json[at] as number
    this.length = length + json.length
  }

  /** Writes JSON text. */
  json(json: string): void {
    const bytes = this.room(3 * json.length)
    this.length += encoder.encodeInto(json, bytes.subarray(this.length)).written
  }

  /** Writes the UTF-8 in `octets[from, to)` as a JSON string, escaped as `JSON.stringify` does. */
  text(octets: Uint8Array, from: number, to: number): void {
    const bytes = this.room(2 + 6 * (to - from))
    let { length } = this
    bytes[length++] = QUOTE
    for (let at = from; at < to; at++) {
      const byte = octets[at] as number
      if (byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH) bytes[length++] = byte
      else for (const escaped of escapes[byte] as Uint8Array) bytes[length++] = escaped
    }
    bytes[length++] = QUOTE
    this.length = length
  }

  /** Writes an integer of 0 to 2^53 - 1. */
  integer(number: number): void {
    this.digits(number, digitsOf(number))
  }

  /** Writes the number `units` / 10^`scale`, with `scale` digits after the point. */
  decimal(units: number, scale: number): void {
    const power = 10 ** scale
    const whole = Math.floor(units / power)
    this.integer(whole)
    if (scale === 0) return
    this.room(1)[this.length++] = POINT
    this.digits(units - whole * power, scale)
  }

  /** Writes a date-time, `"2024-01-31T09:00:00Z"`; the year must have four digits. */
  instant(year: number, month: number, day: number, seconds: number): void {
    const bytes = this.room(22)
    const { view, length } = this
    const century = (year / 100) | 0
    bytes[length] = QUOTE
    view.setInt16(length + 1, pairs[century] as number, true)
    view.setInt16(length + 3, pairs[year - 100 * century] as number, true)
    bytes[length + 5] = MINUS
    view.setInt16(length + 6, pairs[month] as number, true)
    bytes[length + 8] = MINUS
    view.setInt16(length + 9, pairs[day] as number, true)
    bytes[length + 11] = LETTER_T
    const minutes = (seconds / 60) | 0
    const hours = (minutes / 60) | 0
    view.setInt16(length + 12, pairs[hours] as number, true)
    bytes[length + 14] = COLON
    view.setInt16(length + 15, pairs[minutes - 60 * hours] as number, true)
    bytes[length + 17] = COLON
    view.setInt16(length + 18, pairs[seconds - 60 * minutes] as number, true)
    view.setInt16(length + 20, END_OF_INSTANT, true)
    this.length = length + 22
  }

  /** Discards what was written since the last `take`. */
  reset(): void {
    this.length = 0
  }

  /** Returns what was written, and empties the writer. */
  take(): Uint8Array<ArrayBuffer> {
    const { length } = this
    this.length = 0
    const taken = this.bytes.slice(0, length)
    if (this.bytes.length > BYTES) this.use(new Uint8Array(BYTES))
    return taken
  }

  /** Writes the last `count` digits of the number. */
  private digits(number: number, count: number) {
    const bytes = this.room(count)
    const end = (this.length += count)
    let at = 1
    let rest = number
    // Dividing 32-bit numbers is much faster, so single digits are split off until the rest is a 32-bit number.
    for (; rest > INT32_MAX && at <= count; at++) {
      const next = Math.floor(rest / 10)
      bytes[end - at] = ZERO + (rest - next * 10)
      rest = next
    }
    let small = rest | 0
    for (; at < count; at += 2) {
      const next = (small / 100) | 0
      this.view.setInt16(end - at - 1, pairs[small - next * 100] as number, true)
      small = next
    }
    if (at === count) bytes[end - at] = ZERO + (small - 10 * ((small / 10) | 0))
  }

  /** Returns the buffer, with room for `count` more bytes. */
  private room(count: number): Uint8Array {
    if (this.length + count > this.bytes.length) {
      const wider = new Uint8Array(2 * (this.length + count))
      wider.set(this.bytes)
      this.use(wider)
    }
    return this.bytes
  }

  private use(bytes: Uint8Array<ArrayBuffer>) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer)
  }
}

function digitsOf(number: number): number {
  let digits = 1
  for (let power = 10; number >= power; power *= 10) digits++
  return digits
}

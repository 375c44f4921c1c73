const QUOTE = 34
const BACKSLASH = 92
const MINUS = 45
const POINT = 46
const ZERO = 48
const COLON = 58
const LETTER_T = 84
const LETTER_U = 117
const LETTER_Z = 90
const SPACE = 32

/** What JSON writes behind a backslash for a character; 0: it is written as it is, or, below a space, by its number. RFC 8259, 7 */
const escapes = new Uint8Array(256)
for (const [letter, character] of ['""', '\\\\', 'b\b', 'f\f', 'n\n', 'r\r', 't\t'])
  escapes[(character as string).charCodeAt(0)] = (letter as string).charCodeAt(0)

const encoder = new TextEncoder()
const INT32_MAX = 2 ** 31 - 1
const BYTES = 1 << 14

/** JSON as UTF-8 from values that are bytes or numbers: no text is made of them on the way. */
export class JsonWriter {
  private bytes = new Uint8Array(BYTES)
  private length = 0

  /** JSON that is there already. */
  raw(json: Uint8Array): void {
    const { length } = this
    const bytes = this.room(json.length)
    for (let at = 0; at < json.length; at++) bytes[length + at] = json[at] as number
    this.length = length + json.length
  }

  /** The same as a text. */
  json(json: string): void {
    const bytes = this.room(3 * json.length)
    this.length += encoder.encodeInto(json, bytes.subarray(this.length)).written
  }

  /** The text that is UTF-8 in `octets[from, to)`, as `JSON.stringify` prints it. */
  text(octets: Uint8Array, from: number, to: number): void {
    const bytes = this.room(2 + 6 * (to - from))
    let { length } = this
    bytes[length++] = QUOTE
    for (let at = from; at < to; at++) {
      const byte = octets[at] as number
      if (byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH) bytes[length++] = byte
      else length = writeEscaped(bytes, length, byte)
    }
    bytes[length++] = QUOTE
    this.length = length
  }

  /** An integer of 0 to 2^53 - 1. */
  integer(number: number): void {
    this.digits(number, digitsOf(number))
  }

  /** The integer with a point in front of its last `scale` digits, of which there may be none. */
  decimal(units: number, scale: number): void {
    const power = 10 ** scale
    const whole = Math.floor(units / power)
    this.integer(whole)
    if (scale === 0) return
    this.room(1)[this.length++] = POINT
    this.digits(units - whole * power, scale)
  }

  /** `"2024-01-31T09:00:00Z"`, of years with four digits. */
  instant(year: number, month: number, day: number, seconds: number): void {
    const bytes = this.room(22)
    bytes[this.length++] = QUOTE
    this.digits(year, 4)
    bytes[this.length++] = MINUS
    this.digits(month, 2)
    bytes[this.length++] = MINUS
    this.digits(day, 2)
    bytes[this.length++] = LETTER_T
    this.digits((seconds / 3_600) | 0, 2)
    bytes[this.length++] = COLON
    this.digits(((seconds / 60) | 0) % 60, 2)
    bytes[this.length++] = COLON
    this.digits(seconds % 60, 2)
    bytes[this.length++] = LETTER_Z
    bytes[this.length++] = QUOTE
  }

  /** What was written; from then on it is empty. */
  take(): Uint8Array<ArrayBuffer> {
    const { length } = this
    this.length = 0
    const taken = this.bytes.slice(0, length)
    if (this.bytes.length > BYTES) this.bytes = new Uint8Array(BYTES)
    return taken
  }

  /** The last `count` digits. */
  private digits(number: number, count: number) {
    const bytes = this.room(count)
    const end = (this.length += count)
    let at = 1
    let rest = number
    // Numbers of 32 bits are divided much sooner.
    for (; rest > INT32_MAX && at <= count; at++) {
      const next = Math.floor(rest / 10)
      bytes[end - at] = ZERO + (rest - next * 10)
      rest = next
    }
    for (let small = rest | 0; at <= count; at++) {
      const next = (small / 10) | 0
      bytes[end - at] = ZERO + (small - next * 10)
      small = next
    }
  }

  /** The bytes, with room for so many more. */
  private room(count: number): Uint8Array {
    if (this.length + count > this.bytes.length) {
      const wider = new Uint8Array(2 * (this.length + count))
      wider.set(this.bytes)
      this.bytes = wider
    }
    return this.bytes
  }
}

/** Gives where it ended. */
function writeEscaped(bytes: Uint8Array, from: number, byte: number): number {
  let at = from
  bytes[at++] = BACKSLASH
  const letter = escapes[byte] as number
  if (letter !== 0) {
    bytes[at++] = letter
    return at
  }
  bytes[at++] = LETTER_U
  for (const digit of byte.toString(16).padStart(4, '0')) bytes[at++] = digit.charCodeAt(0)
  return at
}

function digitsOf(number: number): number {
  let digits = 1
  for (let power = 10; number >= power; power *= 10) digits++
  return digits
}

// Finds the encoding of a text file by its bytes. Runs in browsers, too.

/** Encoding that is assumed if the bytes are not UTF-8: programs on Windows use it for the languages of Western Europe. */
const WINDOWS = 'windows-1252'

/** Bytes that windows-1252 does not use: a file with such a byte is in another encoding. */
const UNUSED = [0x81, 0x8d, 0x8f, 0x90, 0x9d]

/** Finds the encoding of a file, whose bytes it gets piece by piece. */
export class EncodingFinder {
  private readonly utf8 = new TextDecoder('utf-8', { fatal: true })
  private isUtf8 = true
  private hasUnused = false
  private hasNul = false
  private start = new Uint8Array()

  add(bytes: Uint8Array): void {
    if (this.start.length < 4) this.start = Uint8Array.of(...this.start, ...bytes.subarray(0, 4))
    this.hasNul ||= bytes.includes(0)
    if (this.isUtf8) this.isUtf8 = this.decodes(bytes)
    // Earlier pieces are not searched: they were valid UTF-8, in which these bytes are parts of characters.
    if (!this.isUtf8) this.hasUnused ||= UNUSED.some((byte) => bytes.includes(byte))
  }

  /** Returns the encoding; null if the user must name it. Call this method after the last piece. */
  find(): string | null {
    const [first, second] = this.start
    if (first === 0xff && second === 0xfe) return 'utf-16le'
    if (first === 0xfe && second === 0xff) return 'utf-16be'
    if (this.isUtf8 && this.decodes()) return 'utf-8'
    return this.hasUnused || this.hasNul ? null : WINDOWS
  }

  private decodes(bytes?: Uint8Array): boolean {
    try {
      this.utf8.decode(bytes, { stream: bytes !== undefined })
      return true
    } catch {
      return false
    }
  }
}

/** Encodings to propose if decoding as windows-1252 gives words that no language has. */
const OTHERS = ['windows-1250', 'macintosh', 'windows-1251', 'windows-1253', 'iso-8859-2'] as const

/**
 * Matches words that were probably decoded with a wrong encoding. Such a word has, for example, a sign between two letters, an
 * accented capital letter after a small letter, or four accented letters in a row.
 */
const DOUBTFUL =
  /\p{Letter}[¡-©«-³µ¶¸-»¼-¿×÷†‡‰™ƒˆ˜€]+\p{Letter}|\p{Letter}{3}[³¹¿]|[£¥¯]\p{Ll}|\p{Ll}[À-ÞŠŒŽŸ]|Ÿ\p{Ll}|[À-ÿ]{4}/u
const OF_ONE_SCRIPT = /^(?:[\p{Script=Latin}]+|[\p{Script=Cyrillic}]+|[\p{Script=Greek}]+)$/u
const WORD = /[\p{Letter}\p{Mark}\u0080-\u00bf×÷†‡‰™ƒˆ˜€]+/gu

/** A word that is doubtful in windows-1252, and the words that its bytes are in other encodings. */
export interface DoubtfulWord {
  readonly word: string
  readonly others: readonly { readonly encoding: string; readonly word: string }[]
}

/**
 * Returns the first word that was probably in another encoding, although the text was decoded as windows-1252; null if there is
 * no such word.
 */
export function doubtfulWord(text: string): DoubtfulWord | null {
  const word = text.match(WORD)?.find((one) => DOUBTFUL.test(one))
  if (word === undefined) return null
  const bytes = Uint8Array.from(word, byteOf)
  const readings = OTHERS.map((encoding) => ({ encoding, word: new TextDecoder(encoding as 'utf-8').decode(bytes) }))
  const words = readings.filter((one) => OF_ONE_SCRIPT.test(one.word) && !/\p{Ll}\p{Lu}/u.test(one.word))
  const others = words.filter((one, index) => words.findIndex((other) => other.word === one.word) === index)
  return others.length === 0 ? null : { word, others }
}

const HIGH_BYTES = new TextDecoder(WINDOWS as 'utf-8').decode(Uint8Array.from({ length: 128 }, (_, index) => 128 + index))

/** Returns the byte that windows-1252 decodes to this character. */
function byteOf(character: string): number {
  const index = HIGH_BYTES.indexOf(character)
  return index < 0 ? character.charCodeAt(0) : 128 + index
}

/** Returns a decoder for an encoding. `label`: any name of the encoding. @throws Error that says what is allowed */
export function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label as 'utf-8', { fatal: true })
  } catch {
    throw new Error(`"${label}" is no encoding, as utf-8, utf-16le, windows-1252, windows-1250, iso-8859-15 and macintosh are.`)
  }
}

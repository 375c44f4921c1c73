// Finds the encoding of a text file by its bytes. No Node: browsers may read files with it, too.

/** Encoding of a file whose bytes are not UTF-8: what Windows writes in the languages of Western Europe. */
const WINDOWS = 'windows-1252'

/** Bytes that windows-1252 does not use: a file that has one is in another encoding. */
const UNUSED = [0x81, 0x8d, 0x8f, 0x90, 0x9d]

/** Watches the bytes of a file piece by piece, and then says its encoding. */
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
    // The pieces before were UTF-8: none of their bytes says more.
    if (!this.isUtf8) this.hasUnused ||= UNUSED.some((byte) => bytes.includes(byte))
  }

  /** Returns the encoding; null: it must be named. Call it after the last piece. */
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

/** Returns a decoder for an encoding by any of its names. @throws Error that says what is allowed */
export function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label as 'utf-8', { fatal: true })
  } catch {
    throw new Error(`"${label}" is no encoding, as utf-8, utf-16le, windows-1252, windows-1250, iso-8859-15 and macintosh are.`)
  }
}

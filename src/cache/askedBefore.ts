/** Keys that are remembered: a power of two. */
const PLACES = 1 << 15

/**
 * Which keys were asked for before, as far as can be said in 128 KiB: a key is forgotten when another one takes its place, and of two
 * with the same checksum one may be taken for the other. A doorkeeper (Einziger et al., "TinyLFU", 2017).
 */
export class AskedBefore {
  private readonly checksums = new Uint32Array(PLACES)

  /** Whether the key was noted before; it is from now on. */
  note(key: string): boolean {
    const checksum = Bun.hash.crc32(key)
    const place = checksum % PLACES
    const isKnown = this.checksums[place] === checksum
    this.checksums[place] = checksum
    return isKnown
  }
}

import { SEED_WORD } from '../../src/os/region.ts'

/** Makes a region of memory for one process. */
export function privateRegion(words: number, seed = 1) {
  const region = {
    words: new Int32Array(new SharedArrayBuffer(words * 4)),
    exclusive: <T>(work: () => T) => work(),
    close: () => undefined,
  }
  region.words.fill(seed, SEED_WORD, SEED_WORD + 2)
  return region
}

import { HEADER_WORDS, type Region } from '../os/region.ts'

/** The length of one process's ring. */
export const RING_WORDS = 1 << 16
/** That of the owner's, which writes what others have written: a transaction of theirs may have a thousand long rows. */
const OWNER_RING_WORDS = 1 << 19
/** How many writes of one process have a flag of their own; more share the last one. */
export const FLAGS_MAX = 64

/** Words of the owner's that the header has no room for. */
const MORE_WORDS = 1

/** What a process has in the region beside its ring: the ring's head, its unknownOutcomes, its flags with count, bounds and marks. */
const OWN_WORDS = 3 + 3 * FLAGS_MAX

/** The length of a change log for so many writers, its owner among them. */
export function changeLogWords(writers: number): number {
  return HEADER_WORDS + MORE_WORDS + writers * OWN_WORDS + OWNER_RING_WORDS + (writers - 1) * RING_WORDS
}

/** Where the parts begin, each of which has as many words for one writer as for the next; but for the rings, see `ringOf`. */
export interface Layout {
  readonly writers: number
  /** How long the last pulse took: so much later than they were committed are writes of others known. In milliseconds. */
  readonly lag: number
  /** How many words the writer's ring has had, modulo 2^32. */
  readonly heads: number
  /** How many of its writes have an unknown end, and may still come to something. */
  readonly unknownOutcomes: number
  /** How many of its flags are in use: where none is, they need not be looked at. */
  readonly counts: number
  /** One word for each write on its way, 0 where there is none. */
  readonly flags: number
  /** For each flag: the write's transaction comes after the one of this number, modulo 2^32; 0: nothing is known of it. */
  readonly bounds: number
  /** For each flag: how long the log was before it was set, see `logLength`. */
  readonly marks: number
  readonly rings: number
}

export function layoutOf({ words }: Region): Layout {
  const writers = 1 + (words.length - changeLogWords(1)) / (OWN_WORDS + RING_WORDS)
  const lag = HEADER_WORDS
  const heads = lag + MORE_WORDS
  const unknownOutcomes = heads + writers
  const counts = unknownOutcomes + writers
  const flags = counts + writers
  const bounds = flags + writers * FLAGS_MAX
  const marks = bounds + writers * FLAGS_MAX
  return { writers, lag, heads, unknownOutcomes, counts, flags, bounds, marks, rings: marks + writers * FLAGS_MAX }
}

/** How many words all rings have had, modulo 2^32: another number once a record was appended since, by any process. */
export function logLength({ words }: Region, { heads, writers }: Layout): number {
  let length = 0
  for (let writer = 0; writer < writers; writer++) length = (length + Atomics.load(words, heads + writer)) | 0
  return length
}

/** Where a writer's ring begins, and its length: a power of two, since heads are counted modulo 2^32. The owner is writer 0. */
export function ringOf({ rings }: Layout, writer: number): { base: number; length: number } {
  if (writer === 0) return { base: rings, length: OWNER_RING_WORDS }
  return { base: rings + OWNER_RING_WORDS + (writer - 1) * RING_WORDS, length: RING_WORDS }
}

// Limits concurrent streams, and concurrent bodies of several rows, in this process: in total and per key. Also limits the memory
// that streams hold.
import { ApiError } from '../errors.ts'
import type { StreamSlot } from '../respond/reply.ts'

/** A bound on concurrent requests of one kind. */
interface Limit {
  /** Maximum concurrent requests of all keys. */
  readonly max: number
  /** Maximum concurrent requests of one key. It is less than `max`, so that one key cannot take all slots. */
  readonly perKeyMax: number
  readonly nounPlural: string
  /** Advice that follows "Retry after the seconds in Retry-After" in messages. */
  readonly remedy: string
  /**
   * Maximum bytes that all requests of this kind together may hold until they end. Infinity: requests of this kind hold no bytes.
   */
  readonly bytesMax: number
  /** True if a client can resume after an eviction without losing data. */
  readonly isResumable: boolean
}

/** Limit on responses that stream all rows of a list. D55 */
export const STREAMS: Limit = {
  max: 16,
  perKeyMax: 4,
  nounPlural: 'streams',
  remedy: ', or ask for pages',
  bytesMax: Infinity,
  isResumable: false,
}
/** Limit on responses that stream a summary. Each holds all groups of the summary until its end. D76 */
export const SUMMARIES: Limit = { ...STREAMS, max: 4, perKeyMax: 2, nounPlural: 'streams of summaries', bytesMax: 128 * 2 ** 20 }
/** Limit on responses that stream the change feed. They stay open, so they do not count toward `STREAMS`. D62 */
export const FOLLOWERS: Limit = { ...STREAMS, max: 64, perKeyMax: 8, isResumable: true }
/** Limit on bodies of several rows. A body may have up to 2 MiB. D59 */
export const BODIES: Limit = { ...STREAMS, max: 8, nounPlural: 'bodies of several rows', remedy: '' }

/** Time for which a client must have read nothing before its stream can be evicted. */
const IDLE_MS = 100

/** Limit on the running requests of one kind. It holds their slots by key. */
export class ConcurrencyLimit {
  private readonly slotsByKey = new Map<string, Set<StreamSlot>>()
  private running = 0

  constructor(private readonly limit: Limit) {}

  /**
   * Takes a slot for `key`; the caller must release the slot. If all slots are taken, evicts a slot of the key with the most
   * slots. That key must have at least two slots more than `key`. @throws ApiError ServiceUnavailable
   */
  take(key: string): StreamSlot {
    const { max, perKeyMax, nounPlural, remedy } = this.limit
    const own = this.slotsByKey.get(key) ?? new Set<StreamSlot>()
    if (own.size >= perKeyMax)
      throw busy(`You have ${own.size} ${nounPlural} under way here, which is the most for one key or person.`, remedy)
    if (this.running >= max && !this.evictOne(({ size }) => size, own.size + 2))
      throw busy(`The server has ${max} ${nounPlural} under way, which is the most.`, remedy)
    const release = () => {
      if (!own.delete(slot)) return
      this.running--
      if (own.size === 0) this.slotsByKey.delete(key)
    }
    const slot: StreamSlot = { idleSinceMs: null, onEvict: null, bytes: 0, release }
    this.slotsByKey.set(key, own.add(slot))
    this.running++
    return slot
  }

  /**
   * Notes that a slot of `key` holds `bytes` until its release. If all slots together would hold more than `bytesMax`, evicts
   * slots of the key that holds the most bytes. That key must hold more than `key` would. @throws ApiError ServiceUnavailable
   */
  hold(key: string, slot: StreamSlot, bytes: number): void {
    const { bytesMax, nounPlural } = this.limit
    const own = bytes + bytesOf(this.slotsByKey.get(key) ?? [])
    const others = () => bytesOf([...this.slotsByKey.values()].flatMap((slots) => [...slots]))
    while (others() + bytes > bytesMax)
      if (!this.evictOne(bytesOf, own + 1)) {
        const remedy = ', or ask for pages, for fewer groups or for fewer aggregates'
        throw busy(`The groups of this stream do not fit into memory beside those of other ${nounPlural}.`, remedy)
      }
    slot.bytes = bytes
  }

  /**
   * Evicts a slot of a key for which `amountOf` is at least `atLeast`, and prefers the key with the greatest amount. Returns
   * false if no slot can be evicted.
   */
  private evictOne(amountOf: (slots: ReadonlySet<StreamSlot>) => number, atLeast: number): boolean {
    const keys = [...this.slotsByKey.values()]
      .filter((slots) => amountOf(slots) >= atLeast)
      .sort((one, other) => amountOf(other) - amountOf(one))
    const evicted = keys.flatMap((slots) => [...slots]).find((slot) => this.isEvictable(slot))
    if (!evicted) return false
    evicted.release()
    evicted.onEvict?.(busy(`You have more ${this.limit.nounPlural} under way than others, and another asked for one.`, ''))
    return true
  }

  private isEvictable({ onEvict, idleSinceMs }: StreamSlot): boolean {
    if (onEvict === null) return false
    return this.limit.isResumable || (idleSinceMs !== null && performance.now() - idleSinceMs >= IDLE_MS)
  }
}

function bytesOf(slots: Iterable<StreamSlot>): number {
  let sum = 0
  for (const { bytes } of slots) sum += bytes
  return sum
}

function busy(message: string, remedy: string): ApiError {
  const text = `${message} Retry after the seconds in Retry-After${remedy}.`
  return new ApiError('ServiceUnavailable', text, { headers: { 'Retry-After': '5' } })
}

import { ApiError } from '../errors.ts'

/** What takes places. */
interface Kind {
  /** At a time, of all keys. */
  readonly places: number
  /** Of one key: so that several can have some, however many one of them asks for. */
  readonly ofOne: number
  /** What they are called. */
  readonly named: string
  /** Continues "Retry after the seconds in Retry-After": what else helps. */
  readonly remedy: string
}

/** Lists that are answered whole. D55 */
export const STREAMS: Kind = { places: 16, ofOne: 4, named: 'streams', remedy: ', or ask for pages' }
/** Streams of what changes: they stay, so they have places of their own. D62 */
export const FOLLOWERS: Kind = { ...STREAMS, places: 64, ofOne: 8 }
/** Bodies of several rows, each of which may be 2 MiB. D59 */
export const BODIES: Kind = { places: 8, ofOne: 4, named: 'bodies of several rows', remedy: '' }

/** How much of a kind a process has at a time, of all keys and of each. */
export class Places {
  private readonly taken = new Map<string, number>()
  private running = 0

  constructor(private readonly kind: Kind) {}

  /** Takes a place for the key, and returns what gives it back, once. @throws ApiError ServiceUnavailable */
  take(key: string): () => void {
    const own = this.taken.get(key) ?? 0
    const { places, ofOne, named, remedy } = this.kind
    if (own >= ofOne) throw busy(`The key has ${own} ${named} under way here, which is the most for one.`, remedy)
    if (this.running >= places) throw busy(`The server has ${places} ${named} under way, which is the most.`, remedy)
    this.taken.set(key, own + 1)
    this.running++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.running--
      const left = (this.taken.get(key) as number) - 1
      if (left === 0) this.taken.delete(key)
      else this.taken.set(key, left)
    }
  }
}

function busy(message: string, remedy: string): ApiError {
  const text = `${message} Retry after the seconds in Retry-After${remedy}.`
  return new ApiError('ServiceUnavailable', text, { headers: { 'Retry-After': '5' } })
}

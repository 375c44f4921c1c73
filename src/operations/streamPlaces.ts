import { ApiError } from '../errors.ts'

const PLACES = 16
/** So that four keys can stream at a time, however many streams one of them asks for. */
const PLACES_OF_ONE = 4

/** How many streams a process sends at a time, of all keys and of each. */
export class StreamPlaces {
  private readonly taken = new Map<string, number>()
  private running = 0

  constructor(
    private readonly places = PLACES,
    private readonly placesOfOne = PLACES_OF_ONE,
  ) {}

  /** Takes a place for the key, and returns what gives it back, once. @throws ApiError ServiceUnavailable */
  take(key: string): () => void {
    const own = this.taken.get(key) ?? 0
    if (own >= this.placesOfOne) throw busy(`The key has ${own} streams under way here, which is the most for one.`)
    if (this.running >= this.places) throw busy(`The server has ${this.running} streams under way, which is the most.`)
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

function busy(message: string): ApiError {
  const remedy = 'Retry after the seconds in Retry-After, or ask for pages.'
  return new ApiError('ServiceUnavailable', `${message} ${remedy}`, { headers: { 'Retry-After': '5' } })
}

import { describe, expect, test } from 'bun:test'
import { ConcurrencyLimit, FOLLOWERS, STREAMS, SUMMARIES } from '../../src/operations/concurrencyLimit.ts'

const refusal = (message: string) => expect.objectContaining({ code: 'ServiceUnavailable', message })
const REMEDY = 'Retry after the seconds in Retry-After, or ask for pages.'

test('a slot of a concurrency limit is released once, even if release is called twice', () => {
  const places = new ConcurrencyLimit({ ...STREAMS, max: 2, perKeyMax: 2 })
  const place = places.take('a')
  places.take('b')
  place.release()
  place.release()
  places.take('a')
  expect(() => places.take('a')).toThrow(refusal(`The server has 2 streams under way, which is the most. ${REMEDY}`))
})

describe('a concurrency limit whose slots are all in use', () => {
  const full = (kind: typeof STREAMS, idleSinceMs: number | null) => {
    const places = new ConcurrencyLimit({ ...kind, max: 5, perKeyMax: 3 })
    const lost: string[] = []
    for (const key of ['a', 'a', 'b', 'b', 'b']) {
      const place = places.take(key)
      place.idleSinceMs = idleSinceMs
      place.onEvict = ({ message }) => lost.push(`${key}: ${message}`)
    }
    return { places, lost }
  }
  const LOST = 'You have more streams under way than others, and another asked for one. Retry after the seconds in Retry-After.'

  test('evicts, for a key with fewer slots, an idle slot of the key with the most slots', () => {
    const { places, lost } = full(STREAMS, performance.now() - 1_000)
    places.take('c')
    expect(lost).toEqual([`b: ${LOST}`])
    expect(() => places.take('c')).toThrow('The server has 5 streams')
    places.take('d')
    expect(lost).toEqual([`b: ${LOST}`, `a: ${LOST}`])
  })

  test('does not evict a stream whose client has just read', () => {
    for (const idleSinceMs of [null, performance.now()]) {
      const { places, lost } = full(STREAMS, idleSinceMs)
      expect(() => places.take('c')).toThrow('The server has 5 streams')
      expect(lost).toEqual([])
    }
  })

  test('does not evict a stream that has not begun', () => {
    const places = new ConcurrencyLimit({ ...FOLLOWERS, max: 2, perKeyMax: 2 })
    places.take('a')
    places.take('a')
    expect(() => places.take('b')).toThrow('The server has 2 streams')
  })

  test('evicts a stream of the change feed at any time, even if its client is not idle', () => {
    const { places, lost } = full(FOLLOWERS, null)
    places.take('c')
    expect(lost).toEqual([`b: ${LOST}`])
  })
})

describe('a concurrency limit of bytes', () => {
  const MESSAGE =
    'The groups of this stream do not fit into memory beside those of other streams of summaries. Retry after the seconds in Retry-After, or ask for pages, for fewer groups or for fewer aggregates.'
  const begin = (places: ConcurrencyLimit, key: string, bytes: number, idleSinceMs: number | null = null) => {
    const place = places.take(key)
    places.hold(key, place, bytes)
    const lost: string[] = []
    Object.assign(place, { idleSinceMs, onEvict: ({ message }: Error) => lost.push(message) })
    return { place, lost }
  }

  test('refuses a slot with more bytes than are free, until another slot is released', () => {
    const places = new ConcurrencyLimit({ ...SUMMARIES, bytesMax: 100 })
    const { place } = begin(places, 'a', 60)
    expect(() => begin(places, 'b', 41)).toThrow(refusal(MESSAGE))
    begin(places, 'b', 40)
    place.release()
    begin(places, 'a', 60)
  })

  test('evicts, for a key that holds fewer bytes, an idle slot of the key that holds the most', () => {
    const places = new ConcurrencyLimit({ ...SUMMARIES, bytesMax: 100 })
    const idleSinceMs = performance.now() - 1_000
    const [a, b] = [begin(places, 'a', 70, idleSinceMs), begin(places, 'b', 30, idleSinceMs)]
    begin(places, 'c', 60)
    expect([a.lost.length, b.lost.length]).toEqual([1, 0])
  })

  test('does not evict a slot for a key that would hold as many bytes, nor a slot whose client has just read', () => {
    const places = new ConcurrencyLimit({ ...SUMMARIES, bytesMax: 100 })
    const a = begin(places, 'a', 70, performance.now() - 1_000)
    expect(() => begin(places, 'b', 70)).toThrow(refusal(MESSAGE))
    a.place.idleSinceMs = performance.now()
    expect(() => begin(places, 'c', 40)).toThrow(refusal(MESSAGE))
    expect(a.lost).toEqual([])
  })
})

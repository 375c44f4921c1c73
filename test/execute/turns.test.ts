import { describe, expect, test } from 'bun:test'
import { Turns } from '../../src/execute/turns.ts'

/** Turns whose beginnings are recorded, and which end, and whose clock goes on, when the test says so. */
function table(places: number) {
  let nowMs = 0
  const turns = new Turns(places, () => nowMs)
  const begun: string[] = []
  const releases = new Map<string, () => void>()
  return {
    turns,
    begun,
    /** `a1`: the first turn of a. */
    take(...names: string[]) {
      for (const name of names)
        turns.take(name[0] as string, (release) => {
          begun.push(name)
          releases.set(name, release)
        })
    },
    end: (name: string) => releases.get(name)?.(),
    pass(ms: number) {
      nowMs += ms
    },
  }
}

describe('places', () => {
  test('are taken at once while there are some; the last free one is kept for an asker that has none', () => {
    const { take, begun } = table(3)
    take('a1', 'a2', 'a3', 'a4')
    expect(begun).toEqual(['a1', 'a2'])
    take('b1', 'c1')
    expect(begun).toEqual(['a1', 'a2', 'b1'])
  })
})

describe('a place that becomes free', () => {
  test('goes to the asker that has fewer, not to the one that has waited longer', () => {
    const { take, begun, end } = table(2)
    take('a1', 'b1', 'a2', 'a3', 'c1')
    end('b1')
    expect(begun).toEqual(['a1', 'b1', 'c1'])
  })

  test('goes among those with as many to the one that has used less time', () => {
    const { take, begun, end, pass } = table(1)
    take('a1')
    pass(20)
    end('a1')
    take('b1', 'a2', 'c1')
    end('b1')
    expect(begun).toEqual(['a1', 'b1', 'c1'])
  })

  test('goes round: of two that ask for all they can, each gets its half', () => {
    const { take, begun, end, pass } = table(1)
    for (let number = 1; number <= 10; number++) take(`a${number}`)
    for (let number = 1; number <= 10; number++) take(`b${number}`)
    for (let count = 0; count < 9; count++) {
      pass(2)
      end(begun.at(-1) as string)
    }
    const share = begun.filter((name) => name.startsWith('b')).length
    expect(begun).toHaveLength(10)
    expect(share).toBe(5)
  })
})

test('what waits is counted, and an asker that is done is forgotten', () => {
  const { turns, take, end, pass } = table(1)
  take('a1', 'a2', 'b1')
  expect([turns.waiting(), turns.waiting('a'), turns.waiting('b'), turns.waiting('c')]).toEqual([2, 1, 1, 0])
  for (const name of ['a1', 'b1', 'a2']) {
    pass(1)
    end(name)
  }
  expect(turns.waiting()).toBe(0)
  expect((turns as unknown as { parties: Map<string, unknown> }).parties.size).toBe(0)
})

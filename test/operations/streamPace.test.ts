import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { noteAnswered, rowsOfPiece, StreamPace } from '../../src/operations/streams.ts'

const WORKED_MS = 20
/** More than a pause takes. */
const LONG_MS = 1_000
/** As if others were answered all the time, or never: however long this machine takes. */
const [ALWAYS, NEVER] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]

const sleep = spyOn(Bun, 'sleep')
const pauses = () => sleep.mock.calls.map(([ms]) => ms)
let pace: StreamPace
async function work(ms: number) {
  pace.note(ms)
  await pace.turn()
}

describe('a piece of a stream', () => {
  afterEach(() => noteAnswered(NEVER))

  test('has as many rows as are paid for where no other request was answered lately', () => {
    noteAnswered(performance.now() - LONG_MS)
    for (const paid of [250, 1_000]) expect(rowsOfPiece(paid, 0)).toBe(paid)
  })

  test('is small beside others, so that neither it nor its statement holds them up', () => {
    noteAnswered(ALWAYS)
    expect([1_000, 500, 100].map((paid) => rowsOfPiece(paid, 1))).toEqual([100, 100, 100])
  })

  test('is large beside others, too, where its order is dear to find', () => {
    noteAnswered(ALWAYS)
    expect(rowsOfPiece(1_000, LONG_MS)).toBe(1_000)
  })
})

describe('a stream', () => {
  beforeEach(() => {
    sleep.mockClear()
    pace = new StreamPace()
  })
  afterEach(() => noteAnswered(NEVER))

  test('pauses twice as long as it has worked while other requests are answered, and no longer than 50 ms', async () => {
    noteAnswered(ALWAYS)
    await work(WORKED_MS)
    await work(LONG_MS)
    expect(pauses()).toEqual([2 * WORKED_MS, 50])
  })

  test('goes on at once where no other request was answered lately, and owes nothing for what it did then', async () => {
    noteAnswered(performance.now() - LONG_MS)
    for (let turn = 0; turn < 100; turn++) await work(LONG_MS)
    noteAnswered(ALWAYS)
    await work(0)
    expect(pauses()).toEqual([])
  })
})

import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { noteAnswered, StreamPace } from '../../src/http/streamPace.ts'

const WORKED_MS = 30
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

describe('a stream', () => {
  beforeEach(() => {
    sleep.mockClear()
    pace = new StreamPace()
  })
  afterEach(() => noteAnswered(NEVER))

  test('pauses as long as it has worked while other requests are answered, and no longer than 50 ms', async () => {
    noteAnswered(ALWAYS)
    await work(WORKED_MS)
    await work(LONG_MS)
    expect(pauses()).toEqual([WORKED_MS, 50])
  })

  test('puts little work together until a pause is long enough for a timer', async () => {
    noteAnswered(ALWAYS)
    for (let turn = 0; turn < 100; turn++) await work(0.5)
    expect(pauses()).toEqual(Array.from({ length: 25 }, () => 2))
  })

  test('goes on at once where no other request was answered lately, and owes nothing for what it did then', async () => {
    noteAnswered(performance.now() - LONG_MS)
    for (let turn = 0; turn < 100; turn++) await work(LONG_MS)
    noteAnswered(ALWAYS)
    await work(0)
    expect(pauses()).toEqual([])
  })

  test('lets what has arrived have its turn in any case', async () => {
    const order: string[] = []
    setImmediate(() => order.push('other'))
    await pace.turn()
    order.push('stream')
    expect(order).toEqual(['other', 'stream'])
  })
})

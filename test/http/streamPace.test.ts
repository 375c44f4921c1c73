import { beforeEach, describe, expect, test } from 'bun:test'
import { noteAnswered, StreamPace } from '../../src/http/streamPace.ts'

const WORKED_MS = 30
/** Longer than an answer counts. */
const ALONE_MS = 200

const pace = new StreamPace()
async function turnMs(workedMs: number): Promise<number> {
  pace.note(workedMs)
  const startMs = performance.now()
  await pace.turn()
  return performance.now() - startMs
}

describe('a stream', () => {
  beforeEach(async () => {
    noteAnswered(Number.NEGATIVE_INFINITY)
    await pace.turn()
  })

  test('pauses as long as it has worked while other requests are answered', async () => {
    noteAnswered(performance.now())
    expect(await turnMs(WORKED_MS)).toBeGreaterThanOrEqual(WORKED_MS - 1)
  })

  test('puts little work together until a pause is long enough for a timer', async () => {
    const pauses: number[] = []
    const startMs = performance.now()
    for (let turn = 0; turn < 100; turn++) {
      noteAnswered(performance.now())
      pauses.push(await turnMs(0.5))
    }
    expect(pauses.filter((ms) => ms > 1).length).toBeLessThan(60)
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(49)
  })

  test('goes on at once where no other request was answered lately, and owes nothing for what it did then', async () => {
    noteAnswered(performance.now() - ALONE_MS)
    const startMs = performance.now()
    for (let turn = 0; turn < 100; turn++) await turnMs(1_000)
    expect(performance.now() - startMs).toBeLessThan(100 * 50)
    noteAnswered(performance.now())
    const pausedMs = await turnMs(0)
    expect(pausedMs).toBeLessThan(1_000)
  })

  test('lets what has arrived have its turn in any case', async () => {
    const order: string[] = []
    setImmediate(() => order.push('other'))
    await pace.turn()
    order.push('stream')
    expect(order).toEqual(['other', 'stream'])
  })
})

import { describe, expect, test } from 'bun:test'
import { monotonicMs, withDeadline, yieldEvery } from '../../src/os/time.ts'

describe('monotonicMs', () => {
  test('advances with time, and never goes back', async () => {
    const before = performance.now()
    const beginMs = monotonicMs()
    const begun = performance.now()
    let earlier = beginMs
    for (let round = 0; round < 100_000; round++) {
      const nowMs = monotonicMs()
      expect(nowMs >= earlier).toBe(true)
      earlier = nowMs
    }
    await Bun.sleep(50)
    // Between the readings of the two clocks a busy machine may do something else.
    const ending = performance.now()
    const passedMs = monotonicMs() - beginMs
    expect(passedMs).toBeGreaterThanOrEqual(ending - begun - 2)
    expect(passedMs).toBeLessThanOrEqual(performance.now() - before + 2)
  })

  test('is the same clock in another process', async () => {
    const script = `console.log((await import('${import.meta.dir}/../../src/os/time.ts')).monotonicMs())`
    const beforeMs = monotonicMs()
    const theirs = Number(await new Response(Bun.spawn([process.execPath, '-e', script]).stdout).text())
    expect([theirs >= beforeMs, theirs <= monotonicMs()]).toEqual([true, true])
  })
})

test('yieldEvery pauses once its time has passed, and not before', async () => {
  expect(yieldEvery(60_000)()).toBeNull()
  const turn = yieldEvery(0)
  let others = 0
  const timer = setInterval(() => others++, 0)
  while (others < 3) await turn()
  clearInterval(timer)
  expect(turn()).toBeInstanceOf(Promise)
})

describe('withDeadline', () => {
  const never = new Promise<string>(() => undefined)
  const late = () => {
    throw new Error('late')
  }

  test('passes on a result or an error that comes in time, without calling onMiss', async () => {
    expect(await withDeadline(Promise.resolve('value'), 1_000, late)).toBe('value')
    await expect(withDeadline(Promise.reject(new Error('own')), 1_000, late)).rejects.toThrow('own')
    let isMissed = false
    await withDeadline(Promise.resolve('value'), 5, () => {
      isMissed = true
      return 'missed'
    })
    await Bun.sleep(30)
    expect(isMissed).toBe(false)
  })

  test('if the promise is late, returns the result of onMiss or throws its error', async () => {
    expect(await withDeadline(never, 5, () => 'missed')).toBe('missed')
    await expect(withDeadline(never, 5, late)).rejects.toThrow('late')
  })

  test('ignores the result of a promise that is late', async () => {
    const work = Bun.sleep(30).then(() => 'done')
    expect(await withDeadline(work, 5, () => 'missed')).toBe('missed')
    expect(await work).toBe('done')
  })
})

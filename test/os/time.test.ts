import { expect, test } from 'bun:test'
import { monotonicMs } from '../../src/os/time.ts'

test('goes on as time does, and never back', async () => {
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

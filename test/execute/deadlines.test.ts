import { afterEach, expect, test } from 'bun:test'
import { Deadlines } from '../../src/execute/deadlines.ts'

const made: Deadlines[] = []
afterEach(() => {
  for (const deadlines of made.splice(0)) deadlines.stop()
})
function within(afterMs: number): Deadlines {
  const deadlines = new Deadlines(afterMs)
  made.push(deadlines)
  return deadlines
}
const never = () => new Promise<never>(() => undefined)
const missed = () => new Error('missed')

test('in time it settles as the promise does', async () => {
  const deadlines = within(10_000)
  expect(await deadlines.race(Promise.resolve(7), missed)).toBe(7)
  await expect(deadlines.race(Promise.reject(new Error('own')), missed)).rejects.toThrow('own')
})

test('after the deadline it rejects with what onMiss returns', async () => {
  await expect(within(20).race(never(), missed)).rejects.toThrow('missed')
})

test('onMiss is called once for each that missed, and for no other', async () => {
  const deadlines = within(20)
  let misses = 0
  const count = () => new Error(`missed ${++misses}`)
  const answers = await Promise.allSettled([
    deadlines.race(never(), count),
    deadlines.race(Promise.resolve('in time'), count),
    deadlines.race(never(), count),
  ])
  expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason.message))).toEqual([
    'missed 1',
    'in time',
    'missed 2',
  ])
  expect(misses).toBe(2)
})

test('an answer behind the deadline changes nothing', async () => {
  const { promise: late, resolve: answer } = Promise.withResolvers<string>()
  const race = within(20).race(late, missed)
  await expect(race).rejects.toThrow('missed')
  answer('late')
  await expect(race).rejects.toThrow('missed')
})

test('works again after all were settled', async () => {
  const deadlines = within(20)
  for (let round = 0; round < 2; round++) await expect(deadlines.race(never(), missed)).rejects.toThrow('missed')
})

test('keeps no process alive once nothing waits', async () => {
  const code = `
    const { Deadlines } = await import('${import.meta.dir}/../../src/execute/deadlines.ts')
    await new Deadlines(20).race(new Promise(() => undefined), () => new Error('missed')).catch(() => console.log('ran'))`
  const child = Bun.spawn([process.execPath, '-e', code], { stdout: 'pipe' })
  expect([await child.exited, await child.stdout.text()]).toEqual([0, 'ran\n'])
})

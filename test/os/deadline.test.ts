import { expect, test } from 'bun:test'
import { withDeadline } from '../../src/os/time.ts'

const never = new Promise<string>(() => undefined)
const late = () => {
  throw new Error('late')
}

test('what settles in time is passed on, an error too, and the deadline has no say', async () => {
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

test('what is late settles as onMiss says: with its value, or with what it throws', async () => {
  expect(await withDeadline(never, 5, () => 'missed')).toBe('missed')
  await expect(withDeadline(never, 5, late)).rejects.toThrow('late')
})

test('what is late may go on: its end changes nothing any more', async () => {
  const work = Bun.sleep(30).then(() => 'done')
  expect(await withDeadline(work, 5, () => 'missed')).toBe('missed')
  expect(await work).toBe('done')
})

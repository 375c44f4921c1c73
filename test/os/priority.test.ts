import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { lowerPriority } from '../../src/os/priority.ts'

test('a process goes behind others, in its session and beside other sessions', () => {
  const child = Bun.spawn(['sleep', '60'])
  const group = `/proc/${child.pid}/autogroup`
  lowerPriority(child.pid)
  expect(getPriority(child.pid)).toBe(10)
  // Written at most ten times a second, but by root; where there are no such groups the file is not there, or says nothing.
  if (process.getuid?.() === 0 && existsSync(group)) expect(readFileSync(group, 'utf8')).toMatch(/nice 10|^$/)
  child.kill()
})

test('one that is gone is no error', async () => {
  const child = Bun.spawn(['true'])
  await child.exited
  expect(() => lowerPriority(child.pid)).not.toThrow()
})

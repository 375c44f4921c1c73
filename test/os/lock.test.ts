import { beforeEach, expect, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { tryLock } from '../../src/os/libc.ts'
import { isAlive, temporaryFolder, until } from '../support/process.ts'

let path: string
beforeEach(() => {
  path = join(temporaryFolder().path, 'lock')
})

test('a lock creates its file, readable by its owner only', () => {
  const lock = tryLock(path)
  expect([existsSync(path), statSync(path).mode & 0o777]).toEqual([true, 0o600])
  lock?.release()
})

test('a second release has no effect, and does not close a file that was opened in the meantime', () => {
  const first = tryLock(path)
  first?.release()
  const next = tryLock(path) // has the number of the file that was closed
  expect(next).not.toBeNull()
  expect(() => first?.release()).not.toThrow()
  expect(tryLock(path)).toBeNull()
  next?.release()
})

test('a lock is refused while its holder lives, is free after kill -9 of the holder, and is not inherited by child processes', async () => {
  const script = `
    const { tryLock } = await import('${import.meta.dir}/../../src/os/libc.ts')
    globalThis.lock = tryLock('${path}')
    const { spawn } = await import('node:child_process')
    globalThis.grandchild = spawn('sleep', ['20'], { detached: true, stdio: 'ignore' })
    console.log(globalThis.lock ? globalThis.grandchild.pid : 'refused')
    setInterval(() => undefined, 1_000)`
  const holder = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' })
  const { value } = await holder.stdout.getReader().read()
  const grandchild = Number(new TextDecoder().decode(value))
  expect(grandchild).toBeGreaterThan(0)
  expect(tryLock(path)).toBeNull()
  holder.kill('SIGKILL')
  await holder.exited
  // The new process has the file open until its exec, which a busy machine may delay.
  let lock = tryLock(path)
  await until(() => (lock ??= tryLock(path)) !== null)
  expect(isAlive(grandchild)).toBe(true)
  process.kill(grandchild, 'SIGKILL')
  lock?.release()
})

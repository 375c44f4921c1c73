import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tryLock } from '../../src/os/lock.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'roster-lock-'))
  path = join(folder, 'lock')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Another process that tries the lock, says how it went, and keeps what it has until it is killed. */
async function other(code = '') {
  const script = `
    const { tryLock } = await import('${import.meta.dir}/../../src/os/lock.ts')
    globalThis.lock = tryLock('${path}')
    ${code}
    console.log(globalThis.lock ? 'taken' : 'refused')
    setInterval(() => undefined, 1_000)`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' })
  const { value } = await child.stdout.getReader().read()
  return { child, said: new TextDecoder().decode(value).trim() }
}

async function kill(child: Bun.Subprocess) {
  child.kill('SIGKILL')
  await child.exited
}

test('makes the file, readable for its owner alone', () => {
  const lock = tryLock(path)
  expect([existsSync(path), statSync(path).mode & 0o777]).toEqual([true, 0o600])
  lock?.release()
})

test('is refused a second time, in the same process too, until it is released', () => {
  const first = tryLock(path)
  expect(first).not.toBeNull()
  expect(tryLock(path)).toBeNull()
  first?.release()
  const second = tryLock(path)
  expect(second).not.toBeNull()
  second?.release()
})

test('a second release does nothing, so that it closes no file opened since', () => {
  const first = tryLock(path)
  first?.release()
  const next = tryLock(path) // has the number of the file that was closed
  expect(next).not.toBeNull()
  expect(() => first?.release()).not.toThrow()
  expect(tryLock(path)).toBeNull()
  next?.release()
})

test('a refusal does not take the lock from its holder', () => {
  const first = tryLock(path)
  for (let round = 0; round < 3; round++) expect(tryLock(path)).toBeNull()
  first?.release()
})

test('two files are two locks', () => {
  const [one, two] = [tryLock(path), tryLock(`${path}2`)]
  expect([one === null, two === null]).toEqual([false, false])
  one?.release()
  two?.release()
})

test('a second process is refused while the first lives', async () => {
  const lock = tryLock(path)
  const { child, said } = await other()
  expect(said).toBe('refused')
  lock?.release()
  await kill(child)
})

test('is free after kill -9 of its holder', async () => {
  const { child, said } = await other()
  expect(said).toBe('taken')
  expect(tryLock(path)).toBeNull()
  await kill(child)
  const lock = tryLock(path)
  expect(lock).not.toBeNull()
  lock?.release()
})

test('does not pass to a process that its holder has started', async () => {
  const { child, said } = await other(`
    const { spawn } = await import('node:child_process')
    globalThis.grandchild = spawn('sleep', ['20'], { detached: true, stdio: 'ignore' })
    require('node:fs').writeFileSync('${folder}/grandchild', String(globalThis.grandchild.pid))`)
  expect(said).toBe('taken')
  const grandchild = Number(await Bun.file(join(folder, 'grandchild')).text())
  await kill(child)
  const lock = tryLock(path)
  process.kill(grandchild, 'SIGKILL')
  expect(lock).not.toBeNull()
  lock?.release()
})

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { countEnded, deleteEnded, freeEnded, PREFIX } from '../../src/os/endedServers.ts'
import { withStartLock } from '../../src/os/folder.ts'
import { tryLock } from '../../src/os/libc.ts'
import { openRegion, RegionFile } from '../../src/os/region.ts'
import { temporaryFolder } from '../support/process.ts'

const WORDS = 1_000_000
const MARK = 700_000
const TMPFS_MAGIC = 0x01021994

let root: ReturnType<typeof temporaryFolder>
let base: string
let dataDir: string
beforeEach(() => {
  root = temporaryFolder()
  base = join(root.path, 'memory')
  dataDir = join(root.path, 'data')
  for (const folder of [base, dataDir]) mkdirSync(folder)
})
const held: { release(): void }[] = []
const children: Bun.Subprocess[] = []
afterEach(async () => {
  for (const lock of held.splice(0)) lock.release()
  for (const child of children.splice(0)) {
    child.kill('SIGKILL')
    await child.exited
  }
})

/** What a server that has ended leaves: a table with one word that is not 0. */
function leave(name = `${PREFIX}a`, table = 'keys'): string {
  const path = join(base, name)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  writeFileSync(join(path, 'owner'), dataDir)
  writeFileSync(join(path, 'lock'), '')
  const file = new RegionFile(join(path, table), 'shape', WORDS)
  file.ensure()
  file.close()
  // Not by a map, which this process would keep.
  const descriptor = openSync(join(path, table), 'r+')
  writeSync(descriptor, new Int32Array([7]), 0, 4, 4 * MARK)
  closeSync(descriptor)
  return path
}

const bytesOf = (path: string, table = 'keys') => 512 * lstatSync(join(path, table)).blocks
/** Frees; whether the table of the server takes less than before, and still has what it had. */
function isFreed(path: string): boolean {
  const file = join(path, 'keys')
  const [before, content] = [bytesOf(path), readFileSync(file)]
  freeEnded(base)
  expect(readFileSync(file).equals(content)).toBe(true)
  return bytesOf(path) < before / 10
}

async function process(code: string): Promise<void> {
  const libc = `${import.meta.dir}/../../src/os`
  const script = `const { tryLock } = await import('${libc}/libc.ts'); const { openRegion } = await import('${libc}/region.ts')
    globalThis.kept = ${code}; console.log('ready'); setInterval(() => {}, 1_000)`
  const child = Bun.spawn([globalThis.process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' })
  children.push(child)
  await child.stdout.getReader().read()
}

// On another file system, as on macOS, shared memory is on the disk.
if (globalThis.process.platform === 'linux' && statfsSync(temporaryFolder().path).type === TMPFS_MAGIC) {
  describe('Freeing the memory of ended servers', () => {
    test('frees their empty pages, keeps the content of their files, and then finds nothing left to free', () => {
      const path = leave()
      expect([bytesOf(path) >= 4 * WORDS, isFreed(path)]).toEqual([true, true])
      expect(bytesOf(path)).toBeGreaterThan(0)
      expect(isFreed(path)).toBe(false) // nothing is left to free
    })

    test('lasts until the server starts again; the server then allocates all space of its file, and finds its counts', () => {
      const path = leave()
      expect(isFreed(path)).toBe(true)
      const file = new RegionFile(join(path, 'keys'), 'shape', WORDS)
      expect(file.ensure()).toBe(false)
      expect([bytesOf(path) >= 4 * WORDS, openRegion(file.path).words[MARK]]).toEqual([true, 7])
      file.close()
    })

    test('leaves out a running server, recognized by the lock that the server holds', async () => {
      const path = leave()
      await process(`tryLock('${join(path, 'lock')}')`)
      expect(isFreed(path)).toBe(false)
      children[0]?.kill('SIGKILL')
      await children[0]?.exited
      expect(isFreed(path)).toBe(true)
    })

    test('leaves out a server whose worker still runs, recognized by the file that the worker maps', async () => {
      const path = leave()
      await process(`openRegion('${join(path, 'keys')}')`)
      expect([isFreed(path), deleteEnded(base).servers]).toEqual([false, 0])
      children[0]?.kill('SIGKILL')
      await children[0]?.exited
      expect(isFreed(path)).toBe(true)
    })

    test('works at a start if an earlier start has released its lock', () => {
      const [path, order] = [leave(), [] as string[]]
      withStartLock(() => order.push('first'))
      withStartLock((hasLock) => order.push(`alone: ${hasLock}`))
      expect([order, isFreed(path)]).toEqual([['first', 'alone: true'], true])
    })
  })
}

describe('Only memory that is certainly of an ended server of this user is freed or deleted. Kept are:', () => {
  const lockAt = (path: string) => join(path, 'lock')
  test.each<[string, (path: string) => void]>([
    ['no lock', (path) => rmSync(lockAt(path))],
    ['a lock that is a link', (path) => renameSync(lockAt(path), `${path}-lock`) ?? symlinkSync(`${path}-lock`, lockAt(path))],
    ['a lock that is a folder', (path) => rmSync(lockAt(path)) ?? mkdirSync(lockAt(path))],
    ['a lock that is held', (path) => held.push(tryLock(lockAt(path)) as { release(): void })],
    ['no owner', (path) => rmSync(join(path, 'owner'))],
    ['access for other users', (path) => Bun.spawnSync(['chmod', '755', path])],
  ])('a folder with %s', (_, change) => {
    const path = leave()
    change(path)
    rmSync(dataDir, { recursive: true })
    freeEnded(base)
    expect([countEnded(base).servers, deleteEnded(base).servers, bytesOf(path) >= 4 * WORDS]).toEqual([0, 0, true])
  })

  test('a folder without the prefix of the servers’ folders, a folder behind a symbolic link, and a file', () => {
    const [other, target] = [leave('elsewhere-a'), leave('target')]
    symlinkSync(target, join(base, `${PREFIX}link`))
    writeFileSync(join(base, `${PREFIX}file`), 'x')
    rmSync(dataDir, { recursive: true })
    freeEnded(base)
    expect([deleteEnded(base).servers, bytesOf(other) >= 4 * WORDS, bytesOf(target) >= 4 * WORDS]).toEqual([0, true, true])
  })

  test('files of other programs in the folder of a server, even a link that is named like a table', () => {
    const path = leave()
    writeFileSync(join(path, 'own-program'), new Uint8Array(1_000_000))
    writeFileSync(join(path, 'notes.txt'), 'x')
    symlinkSync(join(dataDir, 'file'), join(path, 'own-1'))
    writeFileSync(join(dataDir, 'file'), 'kept')
    const before = bytesOf(path, 'own-program')
    freeEnded(base)
    expect(bytesOf(path, 'own-program')).toBe(before)
    expect(deleteEnded(base).servers).toBe(1)
    expect(readdirSync(path).sort()).toEqual(['notes.txt', 'own-1', 'own-program'])
    expect(existsSync(join(dataDir, 'file'))).toBe(true)
  })

  // Only root can make a folder another user's.
  for (const uid of globalThis.process.getuid?.() === 0 ? [65_534] : [])
    test.each([
      ['a folder that', ''],
      ['a folder whose file "owner"', 'owner'],
      ['a folder whose file "lock"', 'lock'],
      ['a folder whose file "keys"', 'keys'],
    ])('%s belongs to another user', (_, name) => {
      const path = leave()
      chownSync(join(path, name), uid, uid)
      freeEnded(base)
      deleteEnded(base)
      expect(bytesOf(path) >= 4 * WORDS).toBe(true)
    })
})

test('deleting the memory of ended servers reports their number and bytes, and deletes everything', () => {
  for (const name of ['a', 'b', 'c']) leave(`${PREFIX}${name}`)
  for (const table of ['anonymous', 'persons', 'own-1x']) leave(`${PREFIX}c`, table)
  const found = countEnded(base)
  expect([found.servers, found.bytes >= 24 * WORDS]).toEqual([3, true])
  expect([deleteEnded(base), readdirSync(base), existsSync(dirname(base))]).toEqual([found, [], true])
  expect(deleteEnded(join(base, 'nowhere'))).toEqual({ servers: 0, bytes: 0 })
})

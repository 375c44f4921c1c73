import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { lockPort, takeMemoryFolder } from '../../src/os/folder.ts'
import { temporaryFolder } from '../support/process.ts'

const SOURCE = `${import.meta.dir}/../../src/os/folder.ts`
let root: ReturnType<typeof temporaryFolder>
let dataDir: string
const taken: ReturnType<typeof takeMemoryFolder>[] = []
const children: Bun.Subprocess[] = []

beforeEach(() => {
  root = temporaryFolder()
  dataDir = join(root.path, 'data')
  mkdirSync(dataDir)
})
afterEach(async () => {
  for (const child of children.splice(0)) await end(child)
  for (const { path, release } of taken.splice(0)) {
    release()
    rmSync(path, { recursive: true, force: true })
  }
})

function take(dir = dataDir, port = 1) {
  const folder = takeMemoryFolder(dir, port)
  taken.push(folder)
  return folder
}

/** A data folder of its own, for a start that has nothing to do with the others. */
function otherDataDir(name = 'other'): string {
  const path = join(root.path, name)
  mkdirSync(path)
  return path
}

async function end(child: Bun.Subprocess) {
  child.kill('SIGKILL')
  await child.exited
}

/** Another process that runs `code` and keeps what it has until it is killed; what it printed. */
async function other(code: string): Promise<{ child: Bun.Subprocess; said: string }> {
  const script = `const folder = await import('${SOURCE}'); globalThis.kept = ${code}; setInterval(() => {}, 1_000)`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' })
  children.push(child)
  const { value } = await child.stdout.getReader().read()
  return { child, said: new TextDecoder().decode(value).trim() }
}

const PRINT_TAKEN = (dir: string, port = 1) =>
  `(() => { const own = folder.takeMemoryFolder('${dir}', ${port}); console.log(own.path); return own })()`

describe('takeMemoryFolder', () => {
  test('creates a folder that only its owner can access, and writes the path of the data folder into it', () => {
    const { path } = take()
    expect(statSync(path).mode & 0o777).toBe(0o700)
    expect(readFileSync(join(path, 'owner'), 'utf8')).toBe(dataDir)
    expect(basename(path)).toMatch(/^roster-\d+-[0-9a-z]+$/)
    expect(dirname(path)).toBe(existsSync('/dev/shm') ? '/dev/shm' : join(dataDir, 'shared'))
  })

  // It was never made where the database is elsewhere.
  test.each(['data', 'never-made'])(
    'gives the next server with the same data folder (%s) the same folder, with its files',
    (name) => {
      const first = take(join(root.path, name))
      writeFileSync(join(first.path, 'keys'), 'counts')
      first.release()
      const second = take(join(root.path, name))
      expect(second.path).toBe(first.path)
      expect(readFileSync(join(second.path, 'keys'), 'utf8')).toBe('counts')
    },
  )

  test('takes another folder for another data folder or another port, whether the first folder is in use or not', () => {
    const places = [take(), take(dataDir, 2), take(otherDataDir())]
    for (const { release } of places) release()
    expect(new Set([...places, take()].map(({ path }) => path)).size).toBe(3)
  })

  test('takes the same folder for any path to the data folder', () => {
    const first = take()
    first.release()
    expect(take(join(dataDir, '..', basename(dataDir), '.')).path).toBe(first.path)
  })

  test('takes another folder for a second server with the same data folder and port, also in the same process', async () => {
    const first = take()
    const second = take()
    expect(second.path).toBe(`${first.path}-2`)
    const { said } = await other(PRINT_TAKEN(dataDir))
    taken.push({ path: said, release() {}, remove() {} })
    expect(said).toBe(`${first.path}-3`)
  })

  test('takes the folder of a server that was killed', async () => {
    const { child, said } = await other(PRINT_TAKEN(dataDir))
    const second = take()
    expect(second.path).toBe(`${said}-2`)
    await end(child)
    expect(take().path).toBe(said)
  })

  test('fails if all names are in use', () => {
    const paths = Array.from({ length: 64 }, () => take().path)
    expect(paths).toEqual(paths.map((_, index) => paths[0] + (index === 0 ? '' : `-${index + 1}`)))
    expect(() => take()).toThrow('no folder for shared memory can be made beside ')
  })

  test.each([0o755, 0o710, 0o701, 0o777])('takes no folder that is open to others: mode %o', (mode) => {
    const { path, release } = take()
    release()
    chmodSync(path, mode)
    expect(take().path).toBe(`${path}-2`)
    rmSync(path, { recursive: true })
    expect(take().path).toBe(path)
  })

  // Only root can give a folder away.
  for (const uid of process.getuid?.() === 0 ? [65_534] : [])
    test('takes no folder of another user, and can use the disk if other users have taken every name', () => {
      const { path, release } = take()
      release()
      chownSync(path, uid, uid)
      const next = take()
      expect(next.path).toBe(`${path}-2`)
      next.release()
      const names = [path, ...Array.from({ length: 63 }, (_, index) => `${path}-${index + 2}`)]
      for (const name of names) {
        mkdirSync(name, { recursive: true, mode: 0o777 })
        chownSync(name, uid, uid)
      }
      try {
        expect(() => take()).toThrow('no folder for shared memory can be made beside ')
        const own = takeMemoryFolder(dataDir, 1, 'disk')
        taken.push(own)
        expect(statSync(own.path).uid).toBe(0)
      } finally {
        for (const name of names) rmSync(name, { recursive: true })
      }
    })

  test.each(['a file', 'a link to nowhere', 'a link'])(
    'takes another folder if its name is used by %s, and writes nothing through a link',
    (what) => {
      const { path, release } = take()
      release()
      rmSync(path, { recursive: true })
      if (what === 'a file') writeFileSync(path, '')
      else symlinkSync(what === 'a link' ? otherDataDir() : join(root.path, 'nowhere'), path)
      expect(take().path).toBe(`${path}-2`)
      if (what === 'a link') expect(readdirSync(join(root.path, 'other'))).toEqual([])
      rmSync(path)
    },
  )
})

describe('shared memory of ended servers', () => {
  test('is deleted when their data folder is gone, and not before', () => {
    const left = take(otherDataDir())
    left.release()
    take().release()
    expect(existsSync(join(left.path, 'owner'))).toBe(true)
    rmSync(join(root.path, 'other'), { recursive: true })
    take()
    expect(existsSync(left.path)).toBe(false)
  })

  test('is kept while a server uses it, even if its data folder is gone', async () => {
    const { child, said } = await other(PRINT_TAKEN(otherDataDir()))
    taken.push({ path: said, release() {}, remove() {} })
    rmSync(join(root.path, 'other'), { recursive: true })
    take()
    expect(existsSync(join(said, 'owner'))).toBe(true)
    await end(child)
    take(otherDataDir('third'))
    expect(existsSync(said)).toBe(false)
  })

  test('is kept if its folder has no file "owner", or a name without the prefix of the servers’ folders', () => {
    const { path } = take()
    const nameless = `${path}-nameless`
    const foreign = join(dirname(path), `elsewhere-${basename(path)}`)
    for (const folder of [nameless, foreign]) mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(foreign, 'owner'), join(root.path, 'gone'))
    take(otherDataDir())
    expect([existsSync(nameless), existsSync(foreign)]).toEqual([true, true])
    for (const folder of [nameless, foreign]) rmSync(folder, { recursive: true })
  })

  // Only root could throw it away, or be led anywhere by it.
  for (const uid of process.getuid?.() === 0 ? [65_534] : [])
    test('is kept if it belongs to another user', () => {
      const { path } = take()
      const foreign = `${path}-foreign`
      mkdirSync(foreign, { mode: 0o777 })
      writeFileSync(join(foreign, 'owner'), join(root.path, 'gone'))
      chownSync(foreign, uid, uid)
      take(otherDataDir())
      const isThere = existsSync(join(foreign, 'owner'))
      rmSync(foreign, { recursive: true, force: true })
      expect(isThere).toBe(true)
    })
})

describe('lockPort', () => {
  const PORTS = join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), `roster-${process.getuid?.()}-ports`)
  const HOST = `host-${process.pid}`
  const locks: ReturnType<typeof lockPort>[] = []
  afterEach(() => {
    for (const lock of locks.splice(0)) lock?.release()
    const left = readdirSync(PORTS).filter((name) => name.includes(`host_${process.pid}`))
    for (const name of left) rmSync(join(PORTS, name))
  })
  const lock = (host: string, port: number) => {
    const own = lockPort(host, port)
    locks.push(own)
    return own !== null
  }

  test('gives a port of a host to one server until it is released, even if the name of the host looks like a path', () => {
    expect([lock(HOST, 1), lock(HOST, 1)]).toEqual([true, false])
    locks[0]?.release()
    expect(lock(HOST, 1)).toBe(true)
    const hosts = [HOST, `${HOST}.lan`, `${HOST}:1`, `../../../proc/${HOST}`]
    expect([lock(HOST, 3), ...hosts.map((host) => lock(host, 2))]).toEqual(Array(5).fill(true))
  })

  test('refuses a second process while the first one lives', async () => {
    const { child, said } = await other(
      `(() => { const own = folder.lockPort('${HOST}', 4); console.log(own !== null); return own })()`,
    )
    expect([said, lock(HOST, 4)]).toEqual(['true', false])
    await end(child)
    expect(lock(HOST, 4)).toBe(true)
  })
})

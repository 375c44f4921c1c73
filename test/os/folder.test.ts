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
  test('makes a folder for its owner alone, that says whose it is', () => {
    const { path } = take()
    expect(statSync(path).mode & 0o777).toBe(0o700)
    expect(readFileSync(join(path, 'owner'), 'utf8')).toBe(dataDir)
    expect(basename(path)).toMatch(/^roster-\d+-[0-9a-z]+$/)
    expect(dirname(path)).toBe(existsSync('/dev/shm') ? '/dev/shm' : join(dataDir, 'shared'))
  })

  // It was never made where the database is elsewhere.
  test.each(['data', 'never-made'])(
    'gives the next run the folder of the last, with what is in it, by the data folder %s',
    (name) => {
      const first = take(join(root.path, name))
      writeFileSync(join(first.path, 'keys'), 'counts')
      first.release()
      const second = take(join(root.path, name))
      expect(second.path).toBe(first.path)
      expect(readFileSync(join(second.path, 'keys'), 'utf8')).toBe('counts')
    },
  )

  test('is another for another data folder, and for another port, in use or not', () => {
    const places = [take(), take(dataDir, 2), take(otherDataDir())]
    for (const { release } of places) release()
    expect(new Set([...places, take()].map(({ path }) => path)).size).toBe(3)
  })

  test('knows a data folder by any path to it', () => {
    const first = take()
    first.release()
    expect(take(join(dataDir, '..', basename(dataDir), '.')).path).toBe(first.path)
  })

  test('gives a second server with the same data folder and port another place, in the same process too', async () => {
    const first = take()
    const second = take()
    expect(second.path).toBe(`${first.path}-2`)
    const { said } = await other(PRINT_TAKEN(dataDir))
    taken.push({ path: said, release() {}, remove() {} })
    expect(said).toBe(`${first.path}-3`)
  })

  test('gives the place of a server that was killed to the next', async () => {
    const { child, said } = await other(PRINT_TAKEN(dataDir))
    const second = take()
    expect(second.path).toBe(`${said}-2`)
    await end(child)
    expect(take().path).toBe(said)
  })

  test('fails where all names are in use', () => {
    const paths = Array.from({ length: 64 }, () => take().path)
    expect(paths).toEqual(paths.map((_, index) => paths[0] + (index === 0 ? '' : `-${index + 1}`)))
    expect(() => take()).toThrow('no folder for shared memory can be made beside ')
  })

  test.each([0o755, 0o710, 0o701, 0o777])('does not trust a folder that is open to others: mode %o', (mode) => {
    const { path, release } = take()
    release()
    chmodSync(path, mode)
    expect(take().path).toBe(`${path}-2`)
    rmSync(path, { recursive: true })
    expect(take().path).toBe(path)
  })

  // Only root can give a folder away.
  for (const uid of process.getuid?.() === 0 ? [65_534] : [])
    test('takes another folder than one of another user, and lies beside the data where such users have taken every name', () => {
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
    'takes another place where there is %s, and writes nothing where it leads',
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

describe('what servers left', () => {
  test('is thrown away when their data folder is gone, and not before', () => {
    const left = take(otherDataDir())
    left.release()
    take().release()
    expect(existsSync(join(left.path, 'owner'))).toBe(true)
    rmSync(join(root.path, 'other'), { recursive: true })
    take()
    expect(existsSync(left.path)).toBe(false)
  })

  test('stays while a server uses it, though its data folder is gone', async () => {
    const { child, said } = await other(PRINT_TAKEN(otherDataDir()))
    taken.push({ path: said, release() {}, remove() {} })
    rmSync(join(root.path, 'other'), { recursive: true })
    take()
    expect(existsSync(join(said, 'owner'))).toBe(true)
    await end(child)
    take(otherDataDir('third'))
    expect(existsSync(said)).toBe(false)
  })

  test('stays where nothing says whose it is, and where its name is not ours', () => {
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
    test('is not touched when it is another user’s', () => {
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

  test('one server has a port of a host, which is no path, until it lets it go', () => {
    expect([lock(HOST, 1), lock(HOST, 1)]).toEqual([true, false])
    locks[0]?.release()
    expect(lock(HOST, 1)).toBe(true)
    const hosts = [HOST, `${HOST}.lan`, `${HOST}:1`, `../../../proc/${HOST}`]
    expect([lock(HOST, 3), ...hosts.map((host) => lock(host, 2))]).toEqual(Array(5).fill(true))
  })

  test('a second process is refused while the first lives', async () => {
    const { child, said } = await other(
      `(() => { const own = folder.lockPort('${HOST}', 4); console.log(own !== null); return own })()`,
    )
    expect([said, lock(HOST, 4)]).toEqual(['true', false])
    await end(child)
    expect(lock(HOST, 4)).toBe(true)
  })
})

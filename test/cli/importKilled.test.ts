import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/process.ts'
import { KEY } from '../support/server.ts'
import { startProcess, useServer } from '../support/start.ts'
import { filesIn, roster } from './roster.ts'

const ROOT = join(import.meta.dir, '../..')
const ROWS = 60
const folder = temporaryFolder()
const server = useServer()
let dataHome = ''
beforeEach(async () => {
  dataHome = temporaryFolder().path
  await server.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
  await server.post('/Employees', [{ employeeNumber: 'Old', lastName: 'Before' }])
})

const fileOf = filesIn(folder.path)
const settings = () => ({ ROSTER_KEY: KEY, XDG_DATA_HOME: dataHome })
const employees = async () => [...(await server.sql`select * from employee order by id`)]
const numbers = async () =>
  (await server.sql`select employee_number as number from employee order by id`).map(({ number }) => number)

/** Called with the number of each write before and after it is done. */
let onWrite: (nth: number, when: 'before' | 'after') => void = () => undefined
let writes = 0
/** Before the server, so that the address is the same for all runs of a test. */
let proxy: ReturnType<typeof Bun.serve>
beforeAll(() => {
  proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      const isWrite = method !== 'GET'
      const body = isWrite ? await request.bytes() : null
      const nth = isWrite ? ++writes : 0
      try {
        if (isWrite) onWrite(nth, 'before')
        const answer = await fetch(server.url + pathname + search, { method, headers, body, decompress: false })
        if (isWrite) onWrite(nth, 'after')
        return answer
      } catch {
        return new Response(null, { status: 503 })
      }
    },
  })
})
afterAll(() => proxy.stop(true))

/** Runs a command that is killed by SIGKILL before or after its nth write is done; false if it ended by itself. */
async function killedAt(nth: number, when: 'before' | 'after', words: readonly string[]): Promise<boolean> {
  const child = Bun.spawn([process.execPath, '--no-env-file', 'src/main.ts', ...words, '--url', proxy.url.origin], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', ...settings() },
    stdout: 'ignore',
    stderr: 'ignore',
  })
  writes = 0
  onWrite = (at, now) => {
    if (at !== nth || now !== when) return
    child.kill('SIGKILL')
    // The write is not done.
    if (when === 'before') throw new Error('killed')
  }
  await child.exited
  onWrite = () => undefined
  return child.signalCode === 'SIGKILL'
}

const onServer = (words: readonly string[]) => roster([...words, '--url', proxy.url.origin], settings())
const lines = (name: (n: number) => string) => Array.from({ length: ROWS }, (_, n) => `N${n},${name(n)}`).join('\n')
const all = Array.from({ length: ROWS }, (_, n) => `N${n}`)

describe.each(['before', 'after'] as const)('roster import, killed %s a write:', (when) => {
  test('an import continues when it is repeated, with no row twice or missing, and one undo deletes all rows', async () => {
    const before = await employees()
    const path = fileOf(`employeeNumber,lastName\n${lines((n) => `Name ${n}`)}\n`)
    const words = ['import', 'employees', path, '--piece', '20']
    expect(await killedAt(2, when, words)).toBe(true)
    expect(await numbers()).toHaveLength(when === 'after' ? 41 : 21)
    expect((await onServer(words)).code).toBe(0)
    expect(await numbers()).toEqual(['Old', ...all])
    expect((await onServer(['import', '--undo', path])).stdout).toStartWith(`${ROWS} rows of Employees were deleted`)
    expect(await employees()).toEqual(before)
  })

  test('an import can be undone without first being completed', async () => {
    const before = await employees()
    const path = fileOf(`employeeNumber,lastName\n${lines((n) => `Name ${n}`)}\n`)
    expect(await killedAt(2, when, ['import', 'employees', path, '--piece', '20'])).toBe(true)
    expect((await onServer(['import', '--undo', path])).code).toBe(0)
    expect(await employees()).toEqual(before)
    expect((await onServer(['import', 'employees', path])).stdout).toBe(`${ROWS} rows of Employees were created.\n`)
    expect(await numbers()).toEqual(['Old', ...all])
  })

  test('an undo that was killed twice is completed when it is repeated', async () => {
    const before = await employees()
    // Deleted by five requests.
    const path = fileOf(`employeeNumber\n${Array.from({ length: 450 }, (_, n) => `N${n}`).join('\n')}\n`)
    await onServer(['import', 'employees', path])
    for (const nth of [1, 3]) {
      expect(await killedAt(nth, when, ['import', '--undo', path])).toBe(true)
      expect((await numbers()).length).toBeGreaterThan(1)
    }
    const { stdout } = await onServer(['import', '--undo', path])
    expect(stdout).toContain('as before already')
    expect(await employees()).toEqual(before)
  })
})

describe.each(['before', 'after'] as const)('roster import --match, killed %s a write:', (when) => {
  test('an import can be undone completely, so that all values are as before', async () => {
    await onServer(['import', 'employees', fileOf(`employeeNumber,lastName\n${lines((n) => `Name ${n}`)}\n`)])
    const before = await employees()
    const path = fileOf(`employeeNumber,lastName\n${lines((n) => (n % 3 === 0 ? `Other ${n}` : `Name ${n}`))}\nNew,New\n`)
    const words = ['import', 'employees', path, '--match', 'EmployeeNumber']
    // The first write creates the new row.
    expect(await killedAt(8, when, words)).toBe(true)
    expect((await onServer(['import', '--undo', path])).stdout).toContain('1 row of Employees was deleted')
    expect(await employees()).toEqual(before)
  })

  test('an import is completed by the next run, and one undo takes back all runs', async () => {
    await onServer(['import', 'employees', fileOf(`employeeNumber,lastName\n${lines((n) => `Name ${n}`)}\n`)])
    const before = await employees()
    const path = fileOf(`employeeNumber,lastName\n${lines((n) => `Other ${n}`)}\nNew,New\n`)
    const words = ['import', 'employees', path, '--match', 'EmployeeNumber']
    expect(await killedAt(1, when, words)).toBe(true)
    expect(await killedAt(8, when, words)).toBe(true)
    expect((await onServer(words)).code).toBe(0)
    expect(await numbers()).toEqual(['Old', ...all, 'New'])
    expect((await onServer(['import', '--undo', path])).code).toBe(0)
    expect(await employees()).toEqual(before)
  })
})

test('an undo is refused while the import still runs in another process', async () => {
  const path = fileOf(`employeeNumber,lastName\n${lines((n) => `Name ${n}`)}\n`)
  const other = { undone: null as Promise<{ stderr: string }> | null }
  const held = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      // A write waits until the undo has ended.
      if (request.method === 'POST') await (other.undone ??= roster(['import', '--undo', path], settings()))
      const { pathname, search } = new URL(request.url)
      const body = request.method === 'GET' ? null : await request.bytes()
      return fetch(proxy.url.origin + pathname + search, {
        method: request.method,
        headers: request.headers,
        body,
        decompress: false,
      })
    },
  })
  const { code } = await roster(['import', 'employees', path, '--url', held.url.origin], settings())
  await held.stop(true)
  expect(code).toBe(0)
  expect((await other.undone)?.stderr).toContain('this import runs already in another process')
  expect(await numbers()).toEqual(['Old', ...all])
})

test('an import and its undo continue when the server is killed and starts again, with no row twice or missing', async () => {
  const first = await startProcess({ WORKERS: '1' })
  let { server: running } = first
  const { port } = new URL(first.url)
  const total = async () => Number((await first.ask('GET', '/Employees?PageSize=5')).headers.get('x-total-count'))
  const before = await total()
  /** A proxy whose server is killed when it has done the nth write of a method, so that the answer is lost. */
  const failingAt = (fatal: string, nth: number) => {
    let count = 0
    let again: Promise<void> | null = null
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        const { method, headers } = request
        const body = method === 'GET' ? null : await request.bytes()
        const pass = () => fetch(first.url + pathname + search, { method, headers, body, decompress: false })
        const isFatal = method === fatal && ++count === nth
        if (!isFatal) return pass().catch(() => new Response(null, { status: 502 }))
        await pass()
        running.killGroup('SIGKILL')
        await running.ended
        again = startProcess({ WORKERS: '1', PORT: port, DATA_DIR: first.dataDir }).then((started) => {
          running = started.server
        })
        return new Response(null, { status: 502 })
      },
    })
    const stop = async () => {
      await proxy.stop(true)
      expect(again).not.toBeNull()
      await again
    }
    return { url: proxy.url.origin, stop }
  }
  const path = fileOf(`employeeNumber,lastName\n${lines((n) => `Name ${n}`)}\n`)
  const importing = failingAt('POST', 2)
  const imported = await roster(['import', 'employees', path, '--piece', '20', '--url', importing.url], settings())
  await importing.stop()
  expect([imported.code, imported.stdout]).toEqual([0, `${ROWS} rows of Employees were created.\n`])
  expect(await total()).toBe(before + ROWS)
  // The address that the import knew is gone.
  const byFile = await roster(['import', '--undo', path, '--url', first.url], settings())
  expect(byFile.stderr).toContain(`If ${first.url} is the same server, name the import by its id`)
  const [name = ''] = readdirSync(join(dataHome, 'roster/imports'))
  // Each of the three requests deletes rows of another version, which a refusal names first.
  const undoing = failingAt('DELETE', 4)
  const undone = await roster(['import', '--undo', name.replace('.ndjson', ''), '--url', undoing.url], settings())
  await undoing.stop()
  // The answer was lost, and is repeated.
  expect([undone.code, undone.stdout]).toEqual([0, `${ROWS} rows of Employees were deleted, 0 changed back.\n`])
  expect(await total()).toBe(before)
})

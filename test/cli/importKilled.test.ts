import { beforeEach, describe, expect, test } from 'bun:test'
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

/** Passes requests on to the server. `kills` says of the nth write whether to end the client before or after it was done. */
function proxyThat(kills: (nth: number) => 'before' | 'after' | null, end: () => void) {
  let writes = 0
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      const body = method === 'GET' ? null : await request.bytes()
      const when = method === 'GET' ? null : kills(++writes)
      if (when === 'before') end()
      const answer =
        when === 'before' ? null : await fetch(server.url + pathname + search, { method, headers, body, decompress: false })
      if (when === 'after') end()
      return answer ?? new Response(null, { status: 503 })
    },
  })
}

/** Runs a command until a write at which it is killed by SIGKILL; false if it ended by itself. */
async function killedAt(nth: number, when: 'before' | 'after', words: readonly string[]): Promise<boolean> {
  let child: ReturnType<typeof Bun.spawn> | null = null
  const proxy = proxyThat(
    (at) => (at === nth ? when : null),
    () => child?.kill('SIGKILL'),
  )
  child = Bun.spawn([process.execPath, '--no-env-file', 'src/main.ts', ...words, '--url', proxy.url.origin], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', ...settings() },
    stdout: 'ignore',
    stderr: 'ignore',
  })
  await child.exited
  await proxy.stop(true)
  return child.signalCode === 'SIGKILL'
}

const onServer = (words: readonly string[]) => roster([...words, '--url', server.url], settings())
const lines = (name: (n: number) => string) => Array.from({ length: ROWS }, (_, n) => `N${n},${name(n)}`).join('\n')
const all = Array.from({ length: ROWS }, (_, n) => `N${n}`)

describe.each(['before', 'after'] as const)('an import that was killed %s a piece was created', (when) => {
  test('continues: nothing is doubled or lost; its undo is whole', async () => {
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

  test('is undone without being continued', async () => {
    const before = await employees()
    const path = fileOf(`employeeNumber,lastName\n${lines((n) => `Name ${n}`)}\n`)
    expect(await killedAt(2, when, ['import', 'employees', path, '--piece', '20'])).toBe(true)
    expect((await onServer(['import', '--undo', path])).code).toBe(0)
    expect(await employees()).toEqual(before)
    expect((await onServer(['import', 'employees', path])).stdout).toBe(`${ROWS} rows of Employees were created.\n`)
    expect(await numbers()).toEqual(['Old', ...all])
  })

  test('is continued after its undo was killed, too', async () => {
    const before = await employees()
    const path = fileOf(`employeeNumber,lastName\n${lines((n) => `Name ${n}`)}\n`)
    await onServer(['import', 'employees', path])
    for (const nth of [1, 7]) {
      expect(await killedAt(nth, when, ['import', '--undo', path])).toBe(true)
      expect((await numbers()).length).toBeGreaterThan(1)
    }
    const { stdout } = await onServer(['import', '--undo', path])
    expect(stdout).toContain('as before already')
    expect(await employees()).toEqual(before)
  })
})

describe.each(['before', 'after'] as const)('an import with --match that was killed %s a change', (when) => {
  test('is undone whole: values are as before', async () => {
    await onServer(['import', 'employees', fileOf(`employeeNumber,lastName\n${lines((n) => `Name ${n}`)}\n`)])
    const before = await employees()
    const path = fileOf(`employeeNumber,lastName\n${lines((n) => (n % 3 === 0 ? `Other ${n}` : `Name ${n}`))}\nNew,New\n`)
    const words = ['import', 'employees', path, '--match', 'EmployeeNumber']
    // The first write creates the new row.
    expect(await killedAt(8, when, words)).toBe(true)
    expect((await onServer(['import', '--undo', path])).stdout).toContain('1 row of Employees was deleted')
    expect(await employees()).toEqual(before)
  })

  test('goes on in the next run, and one undo takes back both', async () => {
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

test('an import that runs cannot be undone by another process', async () => {
  const path = fileOf(`employeeNumber,lastName\n${lines((n) => `Name ${n}`)}\n`)
  const other = { ended: null as Promise<{ stderr: string }> | null }
  const proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      const body = method === 'GET' ? null : await request.bytes()
      if (method === 'POST') await (other.ended ??= onServer(['import', '--undo', path]))
      return fetch(server.url + pathname + search, { method, headers, body, decompress: false })
    },
  })
  const { code } = await roster(['import', 'employees', path, '--url', proxy.url.origin], settings())
  await proxy.stop(true)
  expect(code).toBe(0)
  expect((await other.ended)?.stderr).toContain('this import runs already in another process')
  expect(await numbers()).toEqual(['Old', ...all])
})

test('an import whose server is killed and starts again goes on: nothing is doubled or lost', async () => {
  const first = await startProcess({ WORKERS: '1' })
  const { port } = new URL(first.url)
  const total = async () => Number((await first.ask('GET', '/Employees?PageSize=5')).headers.get('x-total-count'))
  const before = await total()
  let again: Promise<unknown> | null = null
  let writes = 0
  const proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      const body = method === 'GET' ? null : await request.bytes()
      const pass = () => fetch(first.url + pathname + search, { method, headers, body, decompress: false })
      const isSecond = method === 'POST' && ++writes === 2
      if (!isSecond) return pass().catch(() => new Response(null, { status: 502 }))
      // Done, but the answer is lost with the server.
      await pass()
      first.server.killGroup('SIGKILL')
      await first.server.ended
      again = startProcess({ WORKERS: '1', PORT: port, DATA_DIR: first.dataDir })
      return new Response(null, { status: 502 })
    },
  })
  const path = fileOf(`employeeNumber,lastName\n${lines((n) => `Name ${n}`)}\n`)
  const imported = await roster(['import', 'employees', path, '--piece', '20', '--url', proxy.url.origin], settings())
  await proxy.stop(true)
  await again
  expect([imported.code, imported.stdout]).toEqual([0, `${ROWS} rows of Employees were created.\n`])
  expect(await total()).toBe(before + ROWS)
  const undone = await roster(['import', '--undo', path, '--url', first.url], settings())
  expect(undone.stdout).toBe(`${ROWS} rows of Employees were deleted, 0 changed back.\n`)
  expect(await total()).toBe(before)
})

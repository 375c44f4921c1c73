import { afterEach, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, createDatabase } from '../support/postgres.ts'
import { endPrograms, run, runMain, temporaryFolder, until } from '../support/process.ts'
import { KEY } from '../support/server.ts'

const ROOT = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const PAGE = read('docs/operations.md')

/** What differs from line to line is `${...}` in the source and `<...>` on the page; a break there is a space here. */
const fromSource = (text: string) => text.replace(/\$\{[^}]*\}/g, '<>').replace(/\\n/g, ' ')
const fromPage = (text: string) => text.replace(/<[^<>]*>/g, '<>')

const sources = new Map([...new Bun.Glob('src/**/*.{ts,mjs}').scanSync(ROOT)].map((path) => [path, read(path)] as const))

/** The texts that follow `before` in files whose paths match, as literals; null for what is none. */
function textsAfter(before: RegExp, paths: RegExp): (string | null)[] {
  const call = new RegExp(`(?:${before.source})\\s*(?:(['"\`])((?:\\\\.|(?!\\1).)*)\\1)?`, 'gs')
  return [...sources]
    .filter(([path]) => paths.test(path))
    .flatMap(([, text]) => [...text.matchAll(call)].map(([, , literal]) => literal ?? null))
}

function literalsAfter(before: RegExp, paths: RegExp): string[] {
  const literals = textsAfter(before, paths).filter((text) => text !== null)
  return [...new Set(literals.map(fromSource))].sort()
}

/** The first cells of the tables in the part of the page between two headings. */
function listed(from: string, to: string): string[] {
  const start = PAGE.indexOf(`\n${from}\n`)
  const end = to === '' ? PAGE.length : PAGE.indexOf(`\n${to}\n`)
  if (start === -1 || end === -1) throw new Error(`docs/operations.md has no part ${from}`)
  return [...PAGE.slice(start, end).matchAll(/^\| `([^`]+)` \|/gm)].map(([, text = '']) => fromPage(text)).sort()
}

describe('the page has every line of the log', () => {
  const levels = /\blog\??\.(?:debug|info|warn|error)\(|\btoLine\('warn',/

  test('and no other', () => {
    const lines = literalsAfter(levels, /./)
    expect(lines).toContain('listening')
    // An error's code is the one line that is no literal.
    expect(listed('### Requests', '### What stops a start')).toEqual([...lines, '<>'].sort())
  })

  test('of which one is not a literal', () => {
    const calls = [...sources.values()].flatMap((text) => [
      ...text.matchAll(/\blog\??\.(?:debug|info|warn|error)\((?!\s*['"`])(\S+?),/g),
    ])
    expect(calls.map(([, argument]) => argument)).toEqual(['error.code'])
  })
})

describe('the page has what stops a start', () => {
  const there = listed('### What stops a start', '')

  test('of all that is thrown on the way', () => {
    const paths = /^src\/(processes|postgres|keys)\/|^src\/os\/folder\./
    const thrown = literalsAfter(/\bnew (?:StartError|DataDirInUse|WorkerFailed|Error)\(/, paths)
    expect(thrown).toContain('the table cursor_secret is empty')
    // What stands before and after the colon has a row of its own.
    expect(thrown.filter((text) => text !== '<>: <>' && !there.includes(text))).toEqual([])
  })

  test('and nothing that the source does not say', () => {
    const said = [...sources.values()].map(fromSource).join('\n')
    const parts = there.flatMap((text) => text.split('<>').map((part) => part.replace(/^: |: ?$/g, '').trim()))
    expect(parts.filter((part) => !said.includes(part))).toEqual([])
    expect(parts.length).toBeGreaterThan(20)
  })
})

describe('tests that are named as `path`: "title" are there', () => {
  const namedBy = (text: string) => [...text.matchAll(/`(test\/[\w/]+\.test\.ts)`: "([^"]+)"/g)]
  const absentOf = (text: string) =>
    namedBy(text).filter(([, path = '', title = '']) => !existsSync(join(ROOT, path)) || !read(path).includes(title))

  test('by the table of failures', () => {
    expect(absentOf(PAGE)).toEqual([])
    expect(namedBy(PAGE).length).toBeGreaterThan(15)
  })

  test('by each promise', () => {
    const promises = read('docs/promises.md')
    // The table of figures has more columns.
    const rows = promises.match(/^\| (?!promise \|)[^|]+\| [^|]+\|$/gm) ?? []
    expect(rows.filter((row) => namedBy(row).length !== 1)).toEqual([])
    expect(absentOf(promises)).toEqual([])
    expect(rows.length).toBeGreaterThan(30)
  })
})

describe('the rights that the page grants', () => {
  afterEach(endPrograms)

  test('are enough to serve, to write along with all copies, to keep tables in memory, and to make keys', async () => {
    const role = `roster_app_${process.pid}`
    const url = await createDatabase()
    const sql = connect(url)
    const folder = temporaryFolder()
    const [, grants = ''] = /```sql\n(grant [\s\S]*?)```/.exec(PAGE) ?? []
    await sql.unsafe(`create role ${role} login password 'p'`)
    await sql.unsafe(grants.replaceAll('roster_app', role))
    const own = new URL(url)
    own.username = role
    own.password = 'p'
    try {
      const DATABASE_URL = own.href
      const server = runMain({ DATA_DIR: folder.path, DATABASE_URL, BOOTSTRAP_API_KEY: KEY, WORKERS: '1' })
      const [, address = ''] = await server.waitFor(/listens on (http:\S+?),/)
      const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
      const ask = async (method: string, path: string, body?: string) =>
        fetch(address + path, { method, headers, ...(body ? { body } : {}) })
      const company = (await (await ask('POST', '/Companies', '{"Name":"a"}')).json()) as { id: number }
      const row = await (await ask('POST', '/Employees', `{"FirstName":"e","CompanyId":${company.id}}`)).json()
      expect((await ask('PATCH', `/Companies/${company.id}`, '{"Name":"b"}')).status).toBe(200)
      const employee = `/Employees/${(row as { id: number }).id}`
      expect(await (await ask('GET', employee)).json()).toMatchObject({ company: 'b' })
      expect((await ask('DELETE', employee)).status).toBe(204)
      expect((await ask('GET', '/Absences')).status).toBe(200)
      const history = (await (await ask('GET', `${employee}/Changes`)).json()) as { changes: unknown[] }
      expect([history.changes.length, (await ask('GET', '/Changes')).status]).toEqual([3, 200])
      await until(() => server.output().includes('a table is in memory'))
      for (const words of [['create', '--rights', '*:read'], ['rotate'], ['revoke']]) {
        const [command = '', ...more] = words
        const keys = ['--no-env-file', 'src/main.ts', 'keys', command, '--name', 'a', ...more]
        expect(await run([process.execPath, ...keys], { DATABASE_URL }).ended).toBe(0)
      }
      server.kill('SIGTERM')
      expect(await server.ended).toBe(0)
      expect(server.output()).not.toMatch(/permission denied/)
    } finally {
      await sql.unsafe(`drop owned by ${role}; drop role ${role}`)
      await sql.end()
      folder.remove()
    }
  })
})

import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { outputOf } from '../cli/roster.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { startProcess } from '../support/start.ts'

const ROOT = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const FAILURES = read('docs/operations/failures.md')
const LOG = read('docs/operations/log.md')

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

/** The first cells of the tables on a page. */
function listed(page: string): string[] {
  return [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, text = '']) => fromPage(text)).sort()
}

describe('docs/operations/log.md', () => {
  const levels = /\blog\??\.(?:debug|info|warn|error)\(|\btoLine\('warn',/

  test('lists every message that src logs, and no other', () => {
    const lines = literalsAfter(levels, /./)
    expect(lines).toContain('listening')
    // An error's code is the one line that is no literal.
    expect(listed(LOG)).toEqual([...lines, '<>'].sort())
  })

  test('can list all messages: all are literals, except for error.code', () => {
    const calls = [...sources.values()].flatMap((text) => [
      ...text.matchAll(/\blog\??\.(?:debug|info|warn|error)\((?!\s*['"`])(\S+?),/g),
    ])
    expect(calls.map(([, argument]) => argument)).toEqual(['error.code'])
  })
})

describe('docs/operations/failures.md', () => {
  const there = listed(FAILURES)

  test('lists the message of each error that can stop a start', () => {
    const paths = /^src\/(processes|postgres|keys)\/|^src\/os\/folder\./
    const thrown = literalsAfter(/\bnew (?:StartError|DataDirInUse|Error)\(/, paths)
    expect(thrown).toContain('the table cursor_secret is empty')
    // What stands before and after the colon has a row of its own.
    expect(thrown.filter((text) => text !== '<>: <>' && !there.includes(text))).toEqual([])
  })

  test('lists no message that src does not have', () => {
    const said = [...sources.values()].map(fromSource).join('\n')
    const parts = there.flatMap((text) => text.split('<>').map((part) => part.replace(/^: |: ?$/g, '').trim()))
    expect(parts.filter((part) => !said.includes(part))).toEqual([])
    expect(parts.length).toBeGreaterThan(20)
  })
})

describe('each test that a page quotes as `path`: "title" exists:', () => {
  const namedBy = (text: string) => [...text.matchAll(/`(test\/[\w/]+\.test\.ts)`: "([^"]+)"/g)]
  const absentOf = (text: string) =>
    namedBy(text).filter(([, path = '', title = '']) => !existsSync(join(ROOT, path)) || !read(path).includes(title))

  test('each test in the table of failures', () => {
    expect(absentOf(FAILURES)).toEqual([])
    expect(namedBy(FAILURES).length).toBeGreaterThan(15)
  })

  test('each test in docs/promises.md, one for each promise', () => {
    const promises = read('docs/promises.md')
    // The table of figures has more columns.
    const rows = promises.match(/^\| (?!promise \|)[^|]+\| [^|]+\|$/gm) ?? []
    expect(rows.filter((row) => namedBy(row).length !== 1)).toEqual([])
    expect(absentOf(promises)).toEqual([])
    expect(rows.length).toBeGreaterThan(30)
  })
})

describe('the rights that roster migrate --grant gives', () => {
  test('are enough to serve requests, to write rows and their copies, to keep tables in memory, and to create keys', async () => {
    const role = `roster_app_${process.pid}`
    const url = await createDatabase()
    const sql = connect(url)
    await sql.unsafe(`create role ${role} login password 'p'`)
    await outputOf({ DATABASE_URL: url }, 'migrate', '--grant', role)
    const DATABASE_URL = Object.assign(new URL(url), { username: role, password: 'p' }).href
    try {
      const { server, ask } = await startProcess({ DATABASE_URL, WORKERS: '1', LOG_LEVEL: 'info' })
      const company = `/Companies/${(await ask('POST', '/Companies', { Name: 'a' })).body.id}`
      const own = { FirstName: 'e', CompanyId: Number(company.split('/')[2]) }
      const employee = `/Employees/${(await ask('POST', '/Employees', own)).body.id}`
      expect((await ask('PATCH', company, { Name: 'b' })).status).toBe(200)
      expect((await ask('GET', employee)).body).toMatchObject({ company: 'b' })
      expect((await ask('DELETE', employee)).status).toBe(204)
      expect((await ask('GET', '/Absences')).status).toBe(200)
      const { changes } = (await ask('GET', `${employee}/Changes`)).body
      expect([changes.length, (await ask('GET', '/Changes')).status]).toEqual([3, 200])
      await until(() => server.output().includes('a table is in memory'))
      for (const [command, ...more] of [['create', '--rights', '*:read'] as const, ['rotate'] as const, ['revoke'] as const])
        await outputOf({ DATABASE_URL }, 'keys', command, '--name', 'a', ...more)
      expect(await server.stop()).toBe(0)
      expect(server.output()).not.toMatch(/permission denied/)
    } finally {
      await sql.unsafe(`drop owned by ${role}; drop role ${role}`)
      await sql.end()
    }
  })
})

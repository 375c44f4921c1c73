import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const PAGE = read('docs/security.md')

test('docs/security.md has a row for each risk of the OWASP API Security Top 10, with a measure and a test', () => {
  const rows = [...PAGE.matchAll(/^\| (API\d+) [^|]+ \| ([^|]+) \| ([^|]+) \|$/gm)]
  expect(rows.map(([, risk]) => risk)).toEqual(Array.from({ length: 10 }, (_, index) => `API${index + 1}`))
  for (const [row, , measure = '', tests = ''] of rows)
    expect([row, measure.length > 50, tests.includes('.test.ts`')]).toEqual([row, true, true])
})

test('each test file that docs/security.md names exists', () => {
  const named = [...PAGE.matchAll(/`(test\/[^`]*)`/g)].map(([, path = '']) => path)
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('only the code for the database, webhooks, the token issuer, clients, pages, export and import opens connections', () => {
  const opening = /\bfetch\(|\bBun\.connect\(|\bnew WebSocket\(|from 'node:(?:https?|dgram|tls)'|\bcreateConnection\(/
  const paths = [...new Bun.Glob('src/**/*.{ts,mjs}').scanSync(ROOT)].filter((path) => opening.test(read(path)))
  // They run elsewhere: in a program of a client, in a browser, and as a client of the server that a user names; the
  // database is asked for TLS at the start.
  expect(paths.filter((path) => !/^src\/(client|describe|pages)\//.test(path)).sort()).toEqual([
    'src/cli/export.ts',
    'src/cli/request.ts',
    'src/execute/connect.ts',
    'src/hooks/delivery.ts',
    'src/tokens/discovery.ts',
  ])
})

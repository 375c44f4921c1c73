import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { testsNamedBy } from './namedTests.ts'

const PAGE = readFileSync(join(import.meta.dir, '../../docs/promises.md'), 'utf8')

test('each promise names a test that is there', () => {
  // The table of figures has more columns.
  const rows = PAGE.match(/^\| (?!promise \|)[^|]+\| [^|]+\|$/gm) ?? []
  const without = rows.filter((row) => testsNamedBy(row).named.length !== 1)
  expect({ without, absent: testsNamedBy(PAGE).absent }).toEqual({ without: [], absent: [] })
  expect(rows.length).toBeGreaterThan(30)
})

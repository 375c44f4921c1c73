import { expect, onTestFinished, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientFile } from '../../src/client/clientFile.ts'
import { loadEntities } from '../../src/registry.ts'
import { temporaryFolder } from '../support/process.ts'
import { roster, rosterHere } from './roster.ts'

test('roster generate client prints the client and nothing else, without a database', async () => {
  // A database that nothing could reach, and a setting that would stop a start.
  const settings = { DATABASE_URL: 'postgres://127.0.0.1:1/none', PORT: 'wrong' }
  const stdout = clientFile(await loadEntities())
  expect(await roster(['generate', 'client'], settings)).toEqual({ code: 0, stderr: '', stdout })
})

test('D105: roster generate client prints types for the views of ROLES_FILE, and names the line of its fault', async () => {
  const { path, remove } = temporaryFolder()
  onTestFinished(remove)
  const ROLES_FILE = join(path, 'roles.txt')
  writeFileSync(ROLES_FILE, 'view Directory Employees?fields=DisplayName')
  const { code, stdout, stderr } = await rosterHere(['generate', 'client'], { ROLES_FILE, PORT: 'wrong' })
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain('readonly directory: RosterView<Directory, DirectoryFilter, ')
  writeFileSync(ROLES_FILE, 'view Directory Employees?fields=DisplayNmae')
  const refused = await rosterHere(['generate', 'client'], { ROLES_FILE })
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain('line 1: ')
  expect(refused.stderr).toContain('Did you mean DisplayName?')
})

test.each([
  [
    'roster generate suggests the nearest name for a misspelled one',
    ['clinet'],
    "unknown command 'clinet'\n(Did you mean client?)",
  ],
  ['roster generate without a name lists the names', [], 'client'],
  ['roster generate refuses extra arguments', ['client', 'roster.ts'], 'too many arguments'],
])('%s', async (_, words, said) => {
  const { code, stdout, stderr } = await rosterHere(['generate', ...words])
  expect([code, stdout + stderr]).toEqual([2, expect.stringContaining(said)])
})

test('roster generate migration requires MIGRATIONS_DIR, so that it does not write into the folder of the package', async () => {
  const { code, stderr } = await rosterHere(['generate', 'migration'], { ENTITIES_DIR: 'entities' })
  expect([code, stderr]).toEqual([1, expect.stringContaining('set MIGRATIONS_DIR to a folder')])
})

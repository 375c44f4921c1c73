import { expect, test } from 'bun:test'
import { clientFile } from '../../src/client/clientFile.ts'
import { loadEntities } from '../../src/registry.ts'
import { roster, rosterHere } from './roster.ts'

test('roster generate client prints the client and nothing else, without a database', async () => {
  // A database that nothing could reach, and a setting that would stop a start.
  const settings = { DATABASE_URL: 'postgres://127.0.0.1:1/none', PORT: 'wrong' }
  const stdout = clientFile(await loadEntities())
  expect(await roster(['generate', 'client'], settings)).toEqual({ code: 0, stderr: '', stdout })
})

test.each([
  ['a misspelt name is answered with the nearest', ['clinet'], "unknown command 'clinet'\n(Did you mean client?)"],
  ['no name is answered with those there are', [], 'client'],
  ['more than the name is refused', ['client', 'roster.ts'], 'too many arguments'],
])('%s', async (_, words, said) => {
  const { code, stdout, stderr } = await rosterHere(['generate', ...words])
  expect([code, stdout + stderr]).toEqual([2, expect.stringContaining(said)])
})

test('a migration of a project has a folder of the project, never that of the package', async () => {
  const { code, stderr } = await rosterHere(['generate', 'migration'], { ENTITIES_DIR: 'entities' })
  expect([code, stderr]).toEqual([1, expect.stringContaining('set MIGRATIONS_DIR to a folder')])
})

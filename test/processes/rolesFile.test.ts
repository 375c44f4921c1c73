// The roles file of a server: read at the start and at SIGUSR2. D102
import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { outputOf } from '../cli/roster.ts'
import { useDatabase } from '../support/database.ts'
import { temporaryFolder, until, workersOf } from '../support/process.ts'
import { keyIn, statusesOf } from '../support/requests.ts'
import { dataFolder, launchProcess, startProcess } from '../support/start.ts'

const { url: DATABASE_URL } = useDatabase('empty')
const BLOCK = 'key payroll\n  read Companies\n'

/** Writes a roles file, which a test may write again. */
function fileWith(text: string) {
  const path = join(temporaryFolder().path, 'roles.txt')
  const write = (next: string) => writeFileSync(path, next)
  write(text)
  return { path, write }
}

test('At SIGUSR2 all workers follow the new roles file; if it is faulty, they keep the old one, and the log says so', async () => {
  const { path, write } = fileWith(BLOCK)
  const settings = { DATABASE_URL, ROLES_FILE: path, LOG_LEVEL: 'info' }
  const { url, server } = await startProcess({ ...settings, BOOTSTRAP_API_KEY: '' })
  const made = await outputOf({ ...settings, DATA_DIR: dataFolder() }, 'keys', 'create', '--name', 'x', '--role', 'payroll')
  const key = keyIn(made)
  const statuses = async () => [await statusesOf(`${url}/Companies`, key), await statusesOf(`${url}/Absences`, key)]
  expect(await statuses()).toEqual([[200], [403]])

  write('key payroll\n  read Companies\n  read Absences?Secret=42\n')
  server.kill('SIGUSR2')
  const givenUp = 'restart given up: a new worker cannot start'
  await until(() => server.output().includes(givenUp))
  expect(server.output()).toContain('ROLES_FILE has faults, which roster roles check explains, in the lines 3')
  expect(server.output()).not.toContain('Secret')
  expect(await statuses()).toEqual([[200], [403]])

  write('key payroll\n  read Absences\n')
  server.kill('SIGUSR2')
  await until(() => server.output().includes('restart done: all workers are new'))
  expect(await statuses()).toEqual([[403], [200]])
})

test('A worker that replaces a killed one follows the roles file as it was read, even if the file has changed since', async () => {
  const { path, write } = fileWith(BLOCK)
  const settings = { DATABASE_URL, ROLES_FILE: path, LOG_LEVEL: 'info', WORKERS: '1' }
  const { url, server } = await startProcess({ ...settings, BOOTSTRAP_API_KEY: '' })
  const key = keyIn(await outputOf({ ...settings, DATA_DIR: dataFolder() }, 'keys', 'create', '--name', 'y', '--role', 'payroll'))
  write('key payroll\n  red Companies\n')
  expect(await statusesOf(`${url}/Companies`, key)).toEqual([200])
  const [worker] = workersOf(server.pid)
  process.kill(worker as number, 'SIGKILL')
  await until(() => server.output().includes('a worker ended: it is replaced'))
  await until(async () => Bun.deepEquals(await statusesOf(`${url}/Companies`, key).catch(() => null), [200]))
})

test.each([
  [
    'faults',
    'role a\n  read Absencs\nkey b\n  read Absences?Satus=A\n',
    [
      'has faults:',
      'line 2: "read Absencs": there is no collection "Absencs". Did you mean Absences?',
      'line 4: "read Absences?Satus=A"',
    ],
  ],
  ['bytes that are no UTF-8', '\ud800', ['it is no text in UTF-8']],
])('A start is refused for a roles file with %s', async (_what, text, messages) => {
  const { path } = fileWith('')
  writeFileSync(path, text === '\ud800' ? new Uint8Array([0xff]) : text)
  const server = launchProcess({ DATABASE_URL, ROLES_FILE: path })
  expect(await server.ended).toBe(1)
  for (const message of messages) expect(server.output()).toContain(message)
})

test('A start is refused for a roles file that does not exist', async () => {
  const server = launchProcess({ DATABASE_URL, ROLES_FILE: '/nowhere/roles.txt' })
  expect(await server.ended).toBe(1)
  expect(server.output()).toContain('roster: ROLES_FILE: the roles file /nowhere/roles.txt cannot be read: ENOENT')
})

test('A start without OIDC_ISSUER says that nobody can sign in, if the roles file has roles of persons', async () => {
  const lineFor = async (text: string) => {
    const { server } = await startProcess({ DATABASE_URL, ROLES_FILE: fileWith(text).path, LOG_LEVEL: 'info', WORKERS: '1' })
    return server.output().includes('OIDC_ISSUER is not set: nobody can sign in')
  }
  expect([await lineFor(BLOCK), await lineFor('role all\n  read Companies\n')]).toEqual([false, true])
})

test('A start warns of a key whose block is not in the roles file', async () => {
  const { path } = fileWith(BLOCK)
  const settings = { DATABASE_URL, DATA_DIR: dataFolder() }
  await outputOf({ ...settings, ROLES_FILE: path }, 'keys', 'create', '--name', 'z', '--role', 'payroll')
  const { server } = await startProcess({ DATABASE_URL, ROLES_FILE: fileWith('').path, LOG_LEVEL: 'info' })
  expect(server.output()).toContain('the rights of a key do not fit the entities: it has none')
})

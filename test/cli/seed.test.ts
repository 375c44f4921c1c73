import { beforeAll, expect, test } from 'bun:test'
import { ENTITIES_DIR } from '../support/entities.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { startProcess } from '../support/start.ts'
import { roster, rosterHere } from './roster.ts'

let url: string
beforeAll(async () => {
  url = await createDatabase()
})

const seed = (...words: string[]) => seedBy(rosterHere, words)

async function seedBy(run: typeof roster, words: readonly string[]) {
  const { code, stdout, stderr } = await run(['seed', ...words], { DATABASE_URL: url, ENTITIES_DIR })
  return { code, stdout, output: stdout + stderr }
}

test('roster seed fills the database of a running server, and fills it again only with --add', async () => {
  const { ask } = await startProcess({ DATABASE_URL: url, ENTITIES_DIR, WORKERS: '1' })
  const total = async (plural: string) => Number((await ask('GET', `/${plural}`)).headers.get('x-total-count'))
  expect([await total('Companies'), await total('Absences')]).toEqual([0, 0])

  const first = await seedBy(roster, ['--rows', '620', '--seed', '42'])
  expect([first.code, first.stdout]).toEqual([0, expect.stringContaining('Made 620 rows by seed 42: ')])
  expect(first.stdout).toContain(': 20 of Companies, 100 of Employees, 500 of Absences.\n')
  expect(first.output).toContain('620 of 620 rows\n')
  await until(async () => (await total('Companies')) === 20 && (await total('Absences')) === 500)

  expect(await seed('--rows', '62')).toMatchObject({
    code: 1,
    output: 'roster: there are rows already, of Absences, Companies, Employees: --add makes more beside them\n',
  })
  const { stdout } = await seed('--rows', '62', '--add')
  expect(stdout).toBe('Made 62 rows by seed 1: 2 of Companies, 10 of Employees, 50 of Absences.\n')
  await until(async () => (await total('Companies')) === 22 && (await total('Absences')) === 550)
})

test('roster seed refuses numbers out of bounds as wrong usage, with exit code 2', async () => {
  for (const words of ['--rows 0', '--rows 10000001', '--seed -1', '--rows 1e3']) {
    const { code, output } = await seed(...words.split(' '))
    expect(code).toBe(2)
    expect(output).toMatch(/^error: option '--(rows|seed) <number>' argument '.+' is invalid. It is a number from/)
  }
})

test('roster seed creates the tables of an empty database, and refuses one with pending migrations', async () => {
  url = await createDatabase('empty')
  expect((await seed('--rows', '3')).output).toContain('Made 3 rows by seed 1')
  const sql = connect(url)
  await sql`delete from migration where file = (select max(file) from migration)`
  await sql.end()
  const { code, output } = await seed('--add')
  expect(code).toBe(1)
  expect(output).toMatch(/^roster: the database cannot be used: \d{4}_\w+\.sql not applied: .+, first\n$/)
})

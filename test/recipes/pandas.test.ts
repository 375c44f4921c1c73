import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { pythonPrograms } from '../python/environment.ts'
import { exchangesOf, readPage, SHOWN_URL } from '../support/documents.ts'
import { leaveOut, run } from '../support/process.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// test/house/docs.test.ts checks that the recipe prints what the page shows; these tests have groups that the sample lacks.

const { bin, lack } = await pythonPrograms()
const server = useServer()
/** 17 days, of which 12 have no type, or one that pandas may read as missing. */
beforeAll(async () => {
  for (const [type, month, days] of [
    ['Holiday', '01', 5],
    [null, '01', 2],
    ['', '02', 1],
    ['NA', '02', 4],
    ['null', '03', 3],
    ['None', '03', 2],
  ])
    await server.post('/Absences', { Type: type, Start: `2026-${month}-05T09:00:00Z`, Period: { Days: days } })
})

/** Runs the programs of the page before and with pandas, and then `ending`; returns their output. */
async function outputOf(ending: string, change = (program: string) => program): Promise<string> {
  const programs = exchangesOf(readPage('docs/recipes/python.md')).filter(({ program }) => program === 'python')
  const [first, recipe] = [programs[0], programs.find(({ command }) => command.includes('import pandas'))]
  const program = change(`${first?.command}\n${recipe?.command}\n${ending}`)
  const connect = join(import.meta.dir, '../python/connect')
  const ran = run([`${bin}/python`, '-c', program], {
    ROSTER_URL: SHOWN_URL,
    ROSTER_KEY: KEY,
    PYTHONPATH: connect,
    CONNECT_PORT: new URL(server.url).port,
  })
  expect(await ran.ended).toBe(0)
  return ran.output()
}

test('the pandas recipe has every group: without a type, of the empty type, and of types called NA, null and None', async () => {
  if (bin === null) return leaveOut('CI_REQUIRES_PYTHON', lack)
  const output = await outputOf(`table = days.groupby(['month', 'type'], dropna=False)['sum.period.days'].sum()
print('TOTAL', days['sum.period.days'].sum(), len(days), sorted(str(label) for label in set(days['type'])))`)
  expect(output).toContain("TOTAL 17.0 6 ['', 'Holiday', 'NA', 'None', 'nan', 'null']")
  // The output has the months, and a column for each of the types.
  const rows = [...output.matchAll(/^2026-0\d +(.*)$/gm)].map(([, cells]) => (cells as string).split(/ +/).map(Number))
  expect(rows.map(({ length }) => length)).toEqual([6, 6, 6])
  expect(rows.flat().reduce((sum, cell) => sum + cell, 0)).toBe(17)
})

test('the pandas recipe has the groups without a start, unless a filter excludes them', async () => {
  if (bin === null) return leaveOut('CI_REQUIRES_PYTHON', lack)
  await server.post('/Absences', { Type: 'Holiday', Period: { Days: 10 } })
  await server.post('/Absences', { Type: 'Training' })
  const output = await outputOf('', (program) => program.replace(/, 'Start': \[.*?\]\}/, '}'))
  expect(output).toMatch(/^NaN /m)
  const rows = [...output.matchAll(/^(?:2026-0\d|NaN) +(.*)$/gm)].map(([, cells]) => (cells as string).split(/ +/).map(Number))
  expect(rows.flat().reduce((sum, cell) => sum + cell, 0)).toBe(27)
})

test('the page’s way to read CSV with pandas keeps types called NA and null, and missing sums', async () => {
  if (bin === null) return leaveOut('CI_REQUIRES_PYTHON', lack)
  const [, options] = /`(keep_default_na=False, .*)`/.exec(readPage('docs/recipes/python.md')) ?? []
  const output = await outputOf(
    `import io
frame = pandas.read_csv(io.StringIO(answer.text), ${options})
print('CSV', sorted(set(frame['type'])), frame['sum.period.days'].sum(), frame['sum.period.days'].dtype)`,
    (program) => program.replace(/days = pandas[\s\S]*?(?=import io)/, '').replace('application/x-ndjson', 'text/csv'),
  )
  expect(output).toContain("CSV ['', 'Holiday', 'NA', 'None', 'null'] 17.0 float64")
})

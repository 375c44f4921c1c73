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
const approved = { Status: 'Approved' }
/** 23 days, of which 18 have no department, or one that pandas may read as missing, and 6 of these no employee. */
beforeAll(async () => {
  for (const [department, month, days] of [
    ['Sales', '01', 5],
    [null, '01', 2],
    ['', '02', 1],
    ['NA', '02', 4],
    ['null', '03', 3],
    ['None', '03', 2],
  ] as const) {
    const { body } = await server.post('/Employees', { Department: department })
    await server.post('/Absences', {
      ...approved,
      EmployeeId: body.id,
      Start: `2026-${month}-05T09:00:00Z`,
      Period: { Days: days },
    })
  }
  await server.post('/Absences', { ...approved, Start: '2026-03-05T09:00:00Z', Period: { Days: 6 } })
})

/** Returns the program of the page that has this text. */
function programWith(text: string): string {
  const programs = exchangesOf(readPage('docs/recipes/python.md')).filter(({ program }) => program === 'python')
  return programs.find(({ command }) => command.includes(text))?.command as string
}

/** Runs the programs of the page before and with pandas, and then `ending`; returns their output. */
function outputOf(ending: string, change = (program: string) => program): Promise<string> {
  return runPython(change(`${programWith('import os')}\n${programWith('import pandas')}\n${ending}`))
}

async function runPython(program: string): Promise<string> {
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

/** The cells of the table that the recipe prints, by department. */
function rowsIn(output: string): Map<string, number[]> {
  const lines = output.split('\n').slice(output.split('\n').findIndex((line) => line.startsWith('employeeId.department')) + 1)
  const cells = lines.flatMap((line): [string, number[]][] => {
    const [, department = '', rest = ''] = /^(\S*) +((?:\d+\.\d *)+)$/.exec(line) ?? []
    return rest === '' ? [] : [[department, rest.trim().split(/ +/).map(Number)]]
  })
  return new Map(cells)
}

test('the pandas recipe has every group: without a department, without an employee, and with the texts "", NA, null and None', async () => {
  if (bin === null) return leaveOut('CI_REQUIRES_PYTHON', lack)
  const output = await outputOf(`labels = sorted(str(label) for label in set(days['employeeId.department']))
print('TOTAL', days['sum.period.days'].sum(), len(days), labels)`)
  // The absence without an employee and that of an employee without a department are of two months.
  expect(output).toContain("TOTAL 23.0 7 ['', 'NA', 'None', 'Sales', 'nan', 'null']")
  const rows = rowsIn(output)
  expect(Object.fromEntries(rows)).toEqual({
    ...{ '': [0, 1, 0], NA: [0, 4, 0], None: [0, 0, 2], Sales: [5, 0, 0], null: [0, 0, 3], NaN: [2, 0, 6] },
  })
})

test('the pandas recipe would lose groups without dropna=False', async () => {
  if (bin === null) return leaveOut('CI_REQUIRES_PYTHON', lack)
  const output = await outputOf('', (program) => program.replace(', dropna=False', ''))
  expect([...rowsIn(output).keys()].sort()).toEqual(['', 'NA', 'None', 'Sales', 'null'])
})

test('the pandas recipe has the groups of absences without a start, unless a filter excludes them', async () => {
  if (bin === null) return leaveOut('CI_REQUIRES_PYTHON', lack)
  await server.post('/Absences', { ...approved, EmployeeId: 1, Period: { Days: 10 } })
  await server.post('/Absences', { ...approved, EmployeeId: 3 })
  const output = await outputOf('', (program) => program.replace(/,\s*'Start': \[.*?\],/, ','))
  const rows = [...rowsIn(output).values()]
  expect(rows.map(({ length }) => length)).toEqual(rows.map(() => 4))
  expect(rows.flat().reduce((sum, cell) => sum + cell, 0)).toBe(33)
})

test('the options for CSV in docs/recipes/python.md keep departments called NA and null, and missing sums', async () => {
  if (bin === null) return leaveOut('CI_REQUIRES_PYTHON', lack)
  const [, options] = /`(keep_default_na=False, .*?)`/.exec(readPage('docs/recipes/python.md')) ?? []
  const output = await outputOf(
    `import io
frame = pandas.read_csv(io.StringIO(answer.text), ${options})
print('CSV', sorted(set(frame['employeeId.department'])), frame['sum.period.days'].sum(), frame['sum.period.days'].dtype)`,
    (program) => program.replace(/days = pandas[\s\S]*?(?=import io)/, '').replace('application/x-ndjson', 'text/csv'),
  )
  expect(output).toContain("CSV ['', 'NA', 'None', 'Sales', 'null'] 23.0 float64")
})

test('the recipe for days by month splits an absence where a month ends in Amsterdam, and counts its first and last day', async () => {
  if (bin === null) return leaveOut('CI_REQUIRES_PYTHON', lack)
  for (const [Start, End, Type] of [
    ['2026-01-28T08:00:00Z', '2026-02-03T16:00:00Z', 'Week'],
    // February in Amsterdam.
    ['2026-01-31T23:30:00Z', '2026-02-01T00:30:00Z', 'Night'],
    ['2026-03-28T23:30:00Z', '2026-03-29T21:30:00Z', 'Short'],
    ['2025-12-30T09:00:00Z', '2026-01-01T09:00:00Z', 'Year'],
  ])
    await server.post('/Absences', { ...approved, Start, End, Type })
  const ending = "print('SPLIT', split.groupby(['type', split['day'].dt.strftime('%Y-%m')]).size().to_dict())"
  const output = await runPython(
    [programWith('import os'), 'import pandas', programWith('def every'), programWith('.explode('), ending].join('\n'),
  )
  expect(output).toContain(
    "SPLIT {('Night', '2026-02'): 1, ('Short', '2026-03'): 1, ('Week', '2026-01'): 4, ('Week', '2026-02'): 3, ('Year', '2025-12'): 2, ('Year', '2026-01'): 1}",
  )
})

import { beforeEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { temporaryFolder } from '../support/process.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { filesIn, rosterHere } from './roster.ts'

const folder = temporaryFolder()
const server = useServer()
beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
})

const fileOf = filesIn(folder.path)
/** Runs the command with `--url`; if `url` is null, only with the settings. */
const roster = (words: readonly string[], settings: Record<string, string> = {}, url: string | null = server.url) =>
  rosterHere([...words, ...(url === null ? [] : ['--url', url])], { ROSTER_KEY: KEY, ...settings })

/** Starts a proxy for the server; `answer` is called with a function that forwards the request. */
function proxyOf(answer: (pass: () => Promise<Response>, request: Request) => Promise<Response>) {
  const fetchBy = async (request: Request) => {
    const { pathname, search } = new URL(request.url)
    const { method, headers } = request
    const body = method === 'GET' ? undefined : await request.text()
    return answer(() => fetch(server.url + pathname + search, { method, headers, body, decompress: false }), request)
  }
  return Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: fetchBy })
}

const people = [
  { employeeNumber: 'E1', lastName: 'Byron', started: '2026-01-01T00:00:00Z' },
  { employeeNumber: 'E2', lastName: 'Müller, "M"', department: 'Sales' },
  { employeeNumber: 'E3', lastName: 'Öberg' },
]
const employees = () =>
  server.sql`select id::int, employee_number as number, last_name as name, department from employee order by id`

describe('roster import --match', () => {
  test('changes rows that differ, creates new rows, and leaves equal rows as they are', async () => {
    await server.post('/Employees', people)
    const before = (await server.get('/Employees/1')).headers.get('etag')
    const csv =
      'employeeNumber,lastName,department,started\nE1,Byron,,2026-01-01\nE2,"Müller, ""M""",Finance,\nE3,Oberg,,\nE4,New,IT,\n'
    const path = fileOf(csv)
    const dry = await roster(['import', 'employees', path, '--match', 'EmployeeNumber', '--dry-run'])
    expect(dry).toMatchObject({
      code: 0,
      stdout: `line 3: department "Sales" -> "Finance"
line 4: lastName "Öberg" -> "Oberg"
2 differences: lastName in 1 row, department in 1 row
1 row of Employees would be created, 2 changed, 1 left as they are; nothing was written.
`,
    })
    expect(dry.stderr).toContain('roster: days of started are taken for date-times, at midnight UTC')
    expect(await employees()).toHaveLength(3)
    const done = await roster(['import', 'employees', path, '--match', 'employeenumber'])
    expect([done.code, done.stdout]).toEqual([0, '1 row of Employees was created, 2 changed, 1 left as they are.\n'])
    expect(await employees()).toEqual([
      { id: 1, number: 'E1', name: 'Byron', department: null },
      { id: 2, number: 'E2', name: 'Müller, "M"', department: 'Finance' },
      { id: 3, number: 'E3', name: 'Oberg', department: null },
      { id: 4, number: 'E4', name: 'New', department: 'IT' },
    ] as never)
    expect((await server.get('/Employees/1')).headers.get('etag')).toBe(before)
    const again = await roster(['import', 'employees', path, '--match', 'EmployeeNumber'])
    expect(again.stdout).toBe('0 rows of Employees were created, 0 changed, 4 left as they are.\n')
    await server.sql`truncate employee cascade`
    expect((await roster(['import', 'employees', path, '--match', 'EmployeeNumber'])).stdout).toStartWith('4 rows of Employees')
    expect(await employees()).toHaveLength(4)
  })

  test.each([
    ['another property', { department: 'Theirs' }, { lastName: 'Mine', department: 'Theirs' }, ''],
    [
      'the same property',
      { lastName: 'Theirs' },
      { lastName: 'Theirs' },
      'line 2: LastName of row 1 was changed by another meanwhile.',
    ],
  ])('a concurrent change of %s is not lost', async (_, theirs, then, message) => {
    await server.post('/Employees', [{ employeeNumber: 'E1', lastName: 'Byron', department: 'Sales' }])
    let isTheirs = true
    const proxy = proxyOf(async (pass, { method }) => {
      if (method === 'PATCH' && isTheirs) await server.patch('/Employees/1', theirs)
      if (method === 'PATCH') isTheirs = false
      return pass()
    })
    const path = fileOf('employeeNumber,lastName,department\nE1,Mine,Sales\n')
    const { stderr } = await roster(['import', 'employees', path, '--match', 'EmployeeNumber'], {}, proxy.url.origin)
    await proxy.stop(true)
    expect(stderr).toContain(message)
    expect((await server.get('/Employees/1')).body).toMatchObject(then)
  })

  test('changes a row also through a proxy that makes ETags weak', async () => {
    await server.post('/Employees', [{ employeeNumber: 'E1', lastName: 'Byron' }])
    const proxy = proxyOf(async (pass) => {
      const answer = await pass()
      const headers = new Headers(answer.headers)
      headers.set('ETag', headers.get('etag')?.replace(/^"/, 'W/"') ?? '')
      return new Response(answer.body, { status: answer.status, headers })
    })
    const path = fileOf('employeeNumber,lastName\nE1,Mine\n')
    const { stdout } = await roster(['import', 'employees', path, '--match', 'EmployeeNumber'], {}, proxy.url.origin)
    await proxy.stop(true)
    expect(stdout).toContain('1 changed')
  })

  test('replaces a stored value that is too long for clients to write, and reports no fault of the file', async () => {
    await server.sql`insert into employee (employee_number, last_name) values ('E1', ${'x'.repeat(9_999)})`
    const path = fileOf('employeeNumber,lastName\nE1,Byron\n')
    expect((await roster(['import', 'employees', path, '--match', 'EmployeeNumber'])).stdout).toContain('1 changed')
    expect(await employees()).toMatchObject([{ name: 'Byron' }])
  })

  test('changes the rows of an edited export, found by id, also in parts of objects and in decimals', async () => {
    await server.post('/Absences', [{ period: { days: 2.5, hours: 18.75 }, reason: 'x' }, { period: { days: 1 } }, {}])
    const exported = (await roster(['export', 'absences', '--fields', 'Id,Reason,Period'])).stdout
    expect(exported).toContain('2.50000000')
    const path = fileOf(exported.replace('2.50000000', '3').replace('x', 'y').replace('1.00000000', '1'))
    const dry = await roster(['import', 'absences', path, '--match', 'Id', '--dry-run'])
    expect(dry.stdout).toBe(`line 2: reason "x" -> "y"
line 2: period.days "2.50000000" -> "3.00000000"
2 differences: reason in 1 row, period.days in 1 row
0 rows of Absences would be created, 1 changed, 2 left as they are; nothing was written.
`)
    await roster(['import', 'absences', path, '--match', 'Id'])
    expect((await server.get('/Absences/1')).body).toMatchObject({ reason: 'y', period: { days: 3, hours: 18.75 } })
    const unknown = await roster(['import', 'absences', fileOf('id,reason\n77,x\n'), '--match', 'Id'])
    expect(unknown.stderr).toContain(', line 2: There is no Absence with id 77.\n')
  })

  test('compares 5,000 rows by many requests, and changes those that differ', async () => {
    await server.sql`insert into employee (employee_number, last_name) select 'N' || n, 'Name ' || n from generate_series(1, 5000) n`
    const lines = Array.from({ length: 5_010 }, (_, index) => `N${index + 1},Name ${index % 1_000 === 0 ? 'new' : index + 1}`)
    const path = fileOf(`EmployeeNumber;LastName\n${lines.join('\n').replaceAll(',', ';')}\n`)
    const { code, stdout } = await roster(['import', 'employees', path, '--match', 'EmployeeNumber'])
    expect([code, stdout]).toEqual([0, '10 rows of Employees were created, 5 changed, 4995 left as they are.\n'])
    const [found] = await server.sql`select count(*)::int as rows, count(distinct employee_number)::int as numbers from employee`
    expect(found).toEqual({ rows: 5_010, numbers: 5_010 })
  })

  test('a dry run counts all differences by property, also those that it does not show, or prints no count if there are none', async () => {
    await server.sql`insert into employee (employee_number, last_name, department)
      select 'N' || n, 'Name ' || n, 'Sales' from generate_series(1, 1200) n`
    const lines = Array.from({ length: 1_200 }, (_, index) => `N${index + 1},New ${index + 1},${index < 7 ? 'IT' : 'Sales'}`)
    const path = fileOf(`employeeNumber,lastName,department\n${lines.join('\n')}\n`)
    const { stdout } = await roster(['import', 'employees', path, '--match', 'EmployeeNumber', '--dry-run'])
    const shown = stdout.trimEnd().split('\n')
    expect(shown.slice(0, 3)).toEqual([
      'line 2: lastName "Name 1" -> "New 1"',
      'line 2: department "Sales" -> "IT"',
      'line 3: lastName "Name 2" -> "New 2"',
    ])
    expect(shown.slice(10)).toEqual([
      '1207 differences, of which the first 10 are shown (all with --output <file>): lastName in 1200 rows, department in 7 rows',
      '0 rows of Employees would be created, 1200 changed, 0 left as they are; nothing was written.',
    ])
    await roster(['import', 'employees', path, '--match', 'EmployeeNumber'])
    const none = await roster(['import', 'employees', path, '--match', 'EmployeeNumber', '--dry-run'])
    expect(none.stdout).toBe('0 rows of Employees would be created, 0 changed, 1200 left as they are; nothing was written.\n')
  })

  test.each([
    ['employeeNumber,lastName\nE1,A\nE1,B\n', ', line 3: EmployeeNumber E1 is also in line 2.\n'],
    ['employeeNumber,lastName\n,A\n', ', line 2: The row has no EmployeeNumber by which to find it.\n'],
    ['lastName\nA\n', ', line 2: The row has no EmployeeNumber by which to find it.\n'],
    ['employeeNumber,lastName\nTwice,A\n', ', line 2: EmployeeNumber Twice is in several rows: 4, 5.\n'],
    ['employeeNumber,started\nE1,soon\n', ', line 2: Started must be a date-time like '],
  ])('the file %j is refused with its line, and nothing is written', async (csv, message) => {
    await server.post('/Employees', [...people, { employeeNumber: 'Twice' }, { employeeNumber: 'Twice' }])
    const { code, stderr } = await roster(['import', 'employees', fileOf(csv), '--match', 'EmployeeNumber'])
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
    expect(stderr).toContain('Nothing was written.')
    expect(await employees()).toHaveLength(5)
  })

  test.each([
    ['Employeenumbr', 'Did you mean EmployeeNumber?'],
    ['Email', 'Did you mean WorkEmail?'],
    ['Started', 'There are Id, EmployeeNumber, '],
    ['DisplayName', '"DisplayName".'],
  ])('refuses %s, which is no property by which rows can be found, with a hint', async (name, hint) => {
    const { code, stderr } = await roster(['import', 'employees', fileOf('lastName\nA\n'), '--match', name])
    expect([code, stderr]).toEqual([1, expect.stringContaining(hint)])
  })

  test('stops at a change that the server refuses, names its line, and continues in the next run', async () => {
    await server.post('/Employees', people)
    const path = fileOf('employeeNumber,lastName,companyId\nE1,Changed,\nE2,x,77\nE3,y,\n')
    const { code, stderr } = await roster(['import', 'employees', path, '--match', 'EmployeeNumber'])
    expect(code).toBe(1)
    expect(stderr).toContain(`${path}, line 3: CompanyId names no Company: there is none with id 77.\n`)
    expect(stderr).toContain('0 created, 1 changed so far: mend it, and run it again.')
    writeFileSync(path, 'employeeNumber,lastName,companyId\nE1,Changed,\nE2,x,\nE3,y,\n')
    const { stdout } = await roster(['import', 'employees', path, '--match', 'EmployeeNumber'])
    expect(stdout).toBe('0 rows of Employees were created, 2 changed, 1 left as they are.\n')
  })
})

describe('roster import of a file that was imported before', () => {
  const rows = (names: readonly string[]) => `name\n${names.join('\n')}\n`
  const countOf = async () => (await server.sql`select from company`).count

  test.each([
    ['a value has changed', ['A', 'B', 'X']],
    ['a row is added', ['A', 'B', 'C', 'D']],
    ['a row was removed', ['A', 'B']],
    ['a row was inserted before the others', ['New', 'A', 'B', 'C']],
  ])('is refused as another version if %s, and is imported with --again', async (_, names) => {
    const path = fileOf(rows(['A', 'B', 'C']))
    expect((await roster(['import', 'companies', path])).code).toBe(0)
    writeFileSync(path, rows(names))
    const { code, stderr } = await roster(['import', 'companies', path])
    expect([code, await countOf()]).toEqual([1, 3])
    expect(stderr).toContain('This file was imported within the last day in another version')
    expect(stderr).toContain('To change the rows that are there, and create the others: --match <property>.')
    const again = await roster(['import', 'companies', path, '--again'])
    expect([again.code, await countOf()]).toEqual([0, 3 + names.length])
    // A second run of it continues, as every import does.
    expect((await roster(['import', 'companies', path, '--again'])).stdout).toContain('by an earlier run over this file')
    expect(await countOf()).toBe(3 + names.length)
  })

  test('is refused as another version if it has an additional last row, and not reported as imported in part', async () => {
    const path = fileOf(rows(['A', 'B', 'C']))
    await roster(['import', 'companies', path, '--piece', '2'])
    writeFileSync(path, rows(['A', 'B', 'C', 'D']))
    const { stderr } = await roster(['import', 'companies', path, '--piece', '2'])
    expect(stderr).toContain('in another version')
    expect(stderr).not.toContain('run it again')
  })
})

describe('the URL of the server for roster import and export', () => {
  test.each([
    ['PUBLIC_URL', (url: string) => ({ PUBLIC_URL: url, PORT: '1' })],
    ['HOST and PORT', (url: string) => ({ HOST: '0.0.0.0', PORT: new URL(url).port })],
  ])('is by default that of the settings %s', async (_, settings) => {
    const local = server.url.replace('127.0.0.1', 'localhost')
    const imported = await roster(['import', 'companies', fileOf('name\nA\n')], settings(local), null)
    expect([imported.code, imported.stdout]).toEqual([0, '1 row of Companies was created.\n'])
    expect((await roster(['export', 'companies', '--fields', 'Name'], settings(local), null)).stdout).toBe('name\r\nA\r\n')
  })

  test('can be set by --url, which the error names if no server answers', async () => {
    for (const words of [
      ['export', 'companies'],
      ['import', 'companies', fileOf('name\nA\n')],
    ])
      expect((await roster(words, { PORT: '1' }, null)).stderr).toContain('(--url names the server)')
    expect((await roster(['export', 'companies'], { PORT: '0' }, null)).stderr).toContain('PORT is 0')
  })
})

test('a CSV of export --locale "de" has semicolons and decimal commas, and can be imported', async () => {
  await server.post('/Absences', [{ period: { days: 2.5 }, reason: 'a;b,c' }, { reason: '' }])
  const { stdout } = await roster(['export', 'absences', '--locale', 'de', '--fields', 'Reason,Period.Days'])
  expect(stdout).toBe('reason;period.days\r\n"a;b,c";2,50000000\r\n"";\r\n')
  expect((await roster(['import', 'absences', fileOf(stdout), '--again'])).code).toBe(0)
  const all = await server.sql`select reason, period_days::text as days from absence order by id`
  expect([...all.slice(2)]).toEqual([...all.slice(0, 2)])
  const days = (await roster(['export', 'absences', '--locale', 'de', '--fields', 'Period.Days'])).stdout
  expect((await roster(['import', 'absences', fileOf(days)])).code).toBe(0)
  expect((await server.sql`select from absence where period_days = 2.5`).count).toBe(4)
  const wrong = await roster(['export', 'absences', '--locale', 'deutsch!'])
  expect(wrong.stderr).toContain('locale is a language with decimal points or commas, such as de, fr-CA or en.')
})

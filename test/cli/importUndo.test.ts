import { beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/process.ts'
import { keyWith } from '../support/rights.ts'
import { KEY, makeKey } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'
import { filesIn, rosterHere } from './roster.ts'

const few = makeKey({ name: 'few', limits: '3/1s' })
const many = makeKey({ name: 'many', limits: '10000/1h' })
const folder = temporaryFolder()
const sales = keyWith('read Employees', 'delete Employees?Department=Sales')
const reading = keyWith('read Employees')
const keys = [few, many, sales, reading].map(({ record }) => record)
const server = useServer({ keys, environment: { RATE_LIMIT_CLIENTS: '9' } })
/** The user's data folder, a new one for each test. */
let dataHome = ''
beforeEach(async () => {
  dataHome = temporaryFolder().path
  await server.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
})

const fileOf = filesIn(folder.path)
const roster = (words: readonly string[], { key = KEY, url = server.url as string | null } = {}) =>
  rosterHere([...words, ...(url === null ? [] : ['--url', url])], { ROSTER_KEY: key, XDG_DATA_HOME: dataHome })
const importOf = (entity: string, file: string, ...options: readonly string[]) => roster(['import', entity, file, ...options])
const undo = (word: string, ...options: readonly string[]) => roster(['import', '--undo', word, ...options], { url: null })
/** All rows of all tables with data. */
const tables = async () => ({
  companies: [...(await server.sql`select * from company order by id`)],
  employees: [...(await server.sql`select * from employee order by id`)],
  absences: [...(await server.sql`select * from absence order by id`)],
})
const records = () => readdirSync(join(dataHome, 'roster/imports'))

describe('roster import --undo', () => {
  test('deletes all rows that an import created, so that the tables are as before', async () => {
    await server.post('/Employees', [{ employeeNumber: 'Old', lastName: 'Before' }])
    const before = await tables()
    const path = fileOf('employeeNumber,lastName,managerId\nE1,A,1\nE2,B,1\n')
    const done = await importOf('employees', path)
    expect(done.stderr).toContain(`to undo it within 30 days: --undo ${path} (recorded in ${dataHome}/roster/imports/`)
    const undone = await undo(path)
    expect(undone).toMatchObject({ code: 0, stdout: '2 rows of Employees were deleted, 0 changed back.\n' })
    expect(await tables()).toEqual(before)
    expect((await undo(path)).stderr).toContain('was undone already')
  })

  test('restores the table after 2,000 people were imported, corrected and imported again', async () => {
    await server.post('/Companies', [{ name: 'Acme' }])
    await server.sql`insert into employee (employee_number, last_name, started)
      select 'N' || n, 'Name ' || n, '2020-01-01'::timestamptz + n * interval '1 day 1 ms' from generate_series(1, 50) n`
    const start = await tables()
    const line = (n: number, name: string) => `N${n};${name};Acme;0${(n % 9) + 1}.09.2026`
    const csvOf = (name: (n: number) => string) =>
      `EmployeeNumber;LastName;Company;Started\n${Array.from({ length: 2_000 }, (_, n) => line(n + 51, name(n))).join('\n')}\n`
    const options = ['--locale', 'de', '--lookup', 'Company=Name']
    const path = fileOf(csvOf((n) => `Name ${n}`))
    expect((await importOf('employees', path, ...options)).stdout).toBe('2000 rows of Employees were created.\n')
    const imported = await tables()
    const corrected = fileOf(
      `${csvOf((n) => (n % 40 === 0 ? `Corrected ${n}` : `Name ${n}`))}N1;First;Acme;01.09.2026\nNew;New;Acme;01.09.2026\n`,
    )
    expect((await importOf('employees', corrected, ...options)).code).toBe(1)
    const second = await importOf('employees', corrected, ...options, '--match', 'EmployeeNumber')
    expect(second.stdout).toBe('1 row of Employees was created, 51 changed, 1950 left as they are.\n')
    expect((await undo(corrected)).stdout).toBe('1 row of Employees was deleted, 51 changed back.\n')
    expect(await tables()).toEqual(imported)
    expect((await undo(path)).stdout).toBe('2000 rows of Employees were deleted, 0 changed back.\n')
    expect(await tables()).toEqual(start)
  })

  test('leaves and lists values that were changed since, and rows that were deleted or that other rows refer to', async () => {
    await server.post('/Employees', [
      { employeeNumber: 'E1', lastName: 'A', department: 'Sales' },
      { employeeNumber: 'E2', lastName: 'B' },
      { employeeNumber: 'E3', lastName: 'C' },
    ])
    const path = fileOf('employeeNumber,lastName,department\nE1,A2,IT\nE2,B2,\nE3,C2,\nN1,new,\nN2,new,\nN3,new,\nN4,new,\n')
    await importOf('employees', path, '--match', 'EmployeeNumber')
    await server.patch('/Employees/1', { department: 'Theirs' })
    await server.remove('/Employees/3')
    await server.patch('/Employees/4', { lastName: 'Theirs' })
    await server.remove('/Employees/5')
    await server.post('/Absences', { employeeId: 6 })
    const { code, stdout } = await undo(path)
    expect(code).toBe(0)
    expect(stdout.split('\n')).toEqual([
      'Row 3 was deleted since.',
      'Row 1: Department was changed since: it is "Theirs", the import had written "IT" over "Sales".',
      'Row 4: LastName was changed since: it is "Theirs".',
      expect.stringMatching(/^Row 6: .*Absences/),
      '1 row of Employees was deleted, 2 changed back, 1 was as before already; 4 left as they are.',
      '',
    ])
    expect(await server.sql`select id::int, last_name, department from employee order by id`).toMatchObject([
      { id: 1, last_name: 'A', department: 'Theirs' },
      { id: 2, last_name: 'B' },
      { id: 4, last_name: 'Theirs' },
      { id: 6 },
    ])
    await server.remove('/Absences/1')
    expect((await undo(path)).stdout).toContain('1 row of Employees was deleted, 0 changed back')
  })

  test('deletes imported people although their company, whose name they copy, was renamed since', async () => {
    await server.post('/Companies', [{ name: 'Acme' }])
    const path = fileOf('employeeNumber,companyId\nE1,1\nE2,1\n')
    await importOf('employees', path)
    await server.patch('/Companies/1', { name: 'Renamed' })
    expect((await undo(path)).stdout).toBe('2 rows of Employees were deleted, 0 changed back.\n')
  })

  test('needs fewer than 20 requests for 500 rows, and leaves rows that were changed or that other rows refer to', async () => {
    const path = fileOf(`employeeNumber,lastName\n${Array.from({ length: 500 }, (_, n) => `N${n},Name`).join('\n')}\n`)
    const leftNow = async () => Number((await server.get('/Companies/1', many.headers)).headers.get('x-ratelimit-remaining'))
    const undoCounted = async () => {
      const before = await leftNow()
      const undone = await roster(['import', '--undo', path], { key: many.text, url: null })
      return { ...undone, requests: before - (await leftNow()) - 1 }
    }
    await roster(['import', 'employees', path], { key: many.text })
    const whole = await undoCounted()
    expect(whole).toMatchObject({ code: 0, stdout: '500 rows of Employees were deleted, 0 changed back.\n' })
    expect(whole.requests).toBeLessThan(20)
    await roster(['import', 'employees', path], { key: many.text })
    const id = async (number: string) =>
      Number((await server.sql`select id from employee where employee_number = ${number}`)[0]?.id)
    const [changed, rewritten, referred] = [await id('N7'), await id('N200'), await id('N450')]
    await server.patch(`/Employees/${changed}`, { lastName: 'Theirs' })
    // Another version, and the same values.
    await server.patch(`/Employees/${rewritten}`, { lastName: 'Name' })
    await server.post('/Absences', { employeeId: referred })
    const { stdout, requests } = await undoCounted()
    expect(stdout.split('\n')).toEqual([
      `Row ${changed}: LastName was changed since: it is "Theirs".`,
      expect.stringMatching(new RegExp(`^Row ${referred}: .*Absences`)),
      '498 rows of Employees were deleted, 0 changed back; 2 left as they are.',
      '',
    ])
    expect((await server.sql`select id::int from employee order by id`).map((row) => row.id)).toEqual([changed, referred])
    expect(requests).toBeLessThan(50)
  })

  test('leaves a row that somebody changes between its comparison and its deletion', async () => {
    const path = fileOf('employeeNumber,lastName\nE1,A\nE2,B\nE3,C\n')
    let deletions = 0
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        const { method, headers } = request
        // The first one only learns the version.
        if (method === 'DELETE' && ++deletions === 2) await server.patch('/Employees/2', { lastName: 'Theirs' })
        const body = method === 'GET' ? null : await request.bytes()
        return fetch(server.url + pathname + search, { method, headers, body, decompress: false })
      },
    })
    await roster(['import', 'employees', path], { url: proxy.url.origin })
    const { stdout } = await undo(path)
    await proxy.stop(true)
    expect(stdout).toStartWith('Row 2: LastName was changed since: it is "Theirs".\n2 rows of Employees were deleted')
    expect(await server.sql`select id::int, last_name from employee`).toMatchObject([{ id: 2, last_name: 'Theirs' }])
  })

  test('leaves rows that the key may not delete, says why, and deletes the other rows', async () => {
    const path = fileOf('employeeNumber,department\nE1,Legal\nE2,Sales\nE3,Legal\nE4,Sales\n')
    await importOf('employees', path)
    const { stdout } = await roster(['import', '--undo', path], { key: sales.text, url: null })
    expect(stdout.split('\n')).toEqual([
      'Row 3: You may only delete Employees with Department=Sales.',
      'Row 1: You may only delete Employees with Department=Sales.',
      '2 rows of Employees were deleted, 0 changed back; 2 left as they are.',
      '',
    ])
    expect(await server.sql`select employee_number from employee order by id`).toMatchObject([
      { employee_number: 'E1' },
      { employee_number: 'E3' },
    ])
  })

  test('fails at the first row if the key has no right to delete', async () => {
    const path = fileOf('employeeNumber\nE1\nE2\n')
    await importOf('employees', path)
    const { code, stderr } = await roster(['import', '--undo', path], { key: reading.text, url: null })
    expect([code, stderr.split('\n').at(-2)]).toEqual([1, 'roster: The key does not have the right delete Employees.'])
    expect((await server.sql`select from employee`).count).toBe(2)
  })

  test('deletes rows that refer to each other', async () => {
    const path = fileOf('employeeNumber\nE1\nE2\nE3\n')
    await importOf('employees', path)
    await server.patch('/Employees/1', { managerId: 3 })
    const id = records()[0]?.replace('.ndjson', '') as string
    // As if the file had said so.
    const record = join(dataHome, 'roster/imports', `${id}.ndjson`)
    writeFileSync(record, readFileSync(record, 'utf8').replace(/("id":1,.*?"managerId":)null/, '$13'))
    expect((await undo(id)).stdout).toBe('3 rows of Employees were deleted, 0 changed back.\n')
    expect((await server.sql`select from employee`).count).toBe(0)
  })

  test('can be repeated when the same file is imported again', async () => {
    const path = fileOf('employeeNumber\nE1\nE2\n')
    for (let round = 0; round < 3; round++) {
      expect((await importOf('employees', path)).stdout).toBe('2 rows of Employees were created.\n')
      expect((await undo(path)).stdout).toBe('2 rows of Employees were deleted, 0 changed back.\n')
    }
    expect((await server.sql`select from employee`).count).toBe(0)
  })

  test('waits when the rate limit of its key is reached, and then deletes all rows', async () => {
    const path = fileOf(`employeeNumber\n${Array.from({ length: 60 }, (_, n) => `N${n}`).join('\n')}\n`)
    await roster(['import', 'employees', path], { key: few.text })
    const { code, stdout, stderr } = await roster(['import', '--undo', path], { key: few.text, url: null })
    expect([code, stdout]).toEqual([0, '60 rows of Employees were deleted, 0 changed back.\n'])
    expect(stderr).toContain('waits 1 s:')
  })

  test('with the URL of one server does not delete the rows of another server that got the same file', async () => {
    const path = fileOf('employeeNumber,lastName\nE1,A\nE2,B\n')
    await importOf('employees', path)
    const other = await startServer({ keys: [] })
    expect((await roster(['import', 'employees', path], { url: other.url })).stdout).toBe('2 rows of Employees were created.\n')
    expect((await roster(['import', '--undo', path], { url: server.url })).stdout).toContain('2 rows of Employees were deleted')
    expect((await other.sql`select from employee`).count).toBe(2)
    expect((await roster(['import', '--undo', path], { url: other.url })).stdout).toContain('2 rows of Employees were deleted')
    expect((await other.sql`select from employee`).count).toBe(0)
    const nowhere = await roster(['import', '--undo', path], { url: 'http://127.0.0.1:1' })
    expect(nowhere.stderr).toContain('name the import by its id: --undo 2')
  })

  test('without a file and without a key lists the imports that can be undone, with ids to give instead of a file', async () => {
    expect((await rosterHere(['import', '--undo'], { XDG_DATA_HOME: dataHome })).code).toBe(0)
    expect((await roster(['import', '--undo'], { url: null })).stdout).toBe(
      'There is no import of the last 30 days that can be undone.\n',
    )
    const path = fileOf('name\nA\n')
    await importOf('companies', path)
    const { stdout } = await roster(['import', '--undo'], { url: null })
    const [, id = ''] = /^(\S+) +\d{4}-\d\d-\d\d \d\d:\d\d UTC +Companies +\S+rows\d+\.csv +http/m.exec(stdout) ?? []
    expect((await undo(id)).stdout).toBe('1 row of Companies was deleted, 0 changed back.\n')
    expect((await undo('nothing.csv')).stderr).toContain('nothing.csv was not imported by you on this machine within 30 days')
  })

  test('stores records that only the user can read, without the key, and deletes them after 30 days', async () => {
    await importOf('companies', fileOf('name\nA\n'))
    const [name = ''] = records()
    const path = join(dataHome, 'roster/imports', name)
    expect([statSync(path).mode & 0o777, statSync(join(path, '..')).mode & 0o777]).toEqual([0o600, 0o700])
    expect(readFileSync(path, 'utf8')).not.toContain(KEY)
    const old = Date.now() / 1_000 - 31 * 86_400
    utimesSync(path, old, old)
    await roster(['import', '--undo'], { url: null })
    expect(records()).toEqual([])
  })

  test('is impossible if the import could not write its record, which the import says', async () => {
    const file = fileOf('')
    const words = ['import', 'companies', fileOf('name\nA\n'), '--url', server.url]
    const { code, stderr } = await rosterHere(words, { ROSTER_KEY: KEY, XDG_DATA_HOME: file })
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('this import cannot be undone: the record for --undo cannot be written'),
    ])
    expect((await server.sql`select from company`).count).toBe(1)
  })

  test('ignores a dry run before the import, and deletes a row whose decimal has 18 digits', async () => {
    const path = fileOf('period.days,reason\n1234567890.12345678,A1\n')
    await importOf('absences', path, '--dry-run')
    expect(() => records()).toThrow()
    await importOf('absences', path)
    expect((await undo(path)).stdout).toBe('1 row of Absences was deleted, 0 changed back.\n')
  })
})

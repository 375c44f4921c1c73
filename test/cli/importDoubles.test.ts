import { beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/process.ts'
import { KEY, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { filesIn, rosterHere } from './roster.ts'

const folder = temporaryFolder()
const writer = makeKey({ name: 'writer', rights: '*:write' })
const slow = makeKey({ name: 'slow', limits: '2/1s' })
const server = useServer({ keys: [writer.record, slow.record], environment: { RATE_LIMIT_CLIENTS: '9' } })
beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
})

const fileOf = filesIn(folder.path)
const importOf = (entity: string, file: string, ...options: readonly string[]) =>
  rosterHere(['import', entity, file, ...options, '--url', server.url], { ROSTER_KEY: KEY })
const numbers = async () =>
  (await server.sql`select employee_number as number from employee order by id`).map(({ number }) => number)

describe('an import without --match', () => {
  test('of a corrected copy of an imported file creates nothing, and names the options --match and --again', async () => {
    await importOf('employees', fileOf('employeeNumber,lastName\nE1,A\nE2,B\nE3,C\n'))
    const { code, stderr } = await importOf('employees', fileOf('employeeNumber,lastName\nE1,A\nE2,Corrected\nE3,C\nE4,D\n'))
    expect([code, await numbers()]).toEqual([1, ['E1', 'E2', 'E3']])
    expect(stderr).toContain(
      'EmployeeNumber differs in each row of the file, and Employees have 3 of its 4 values already (line 2: "E1" is row 1)',
    )
    expect(stderr).toContain('--match EmployeeNumber. To create all rows all the same: --again.')
  })

  test.each([
    ['employeeNumber,lastName\nE7,Z\nE8,Y\ne 01,X\n', 'line 4: "e 01" is row 1 with "E1"'],
    [
      'workEmail,lastName\nz@x.org,Z\nA@x.org,Y\n',
      'WorkEmail differs in each row of the file, and Employees have 1 of its 2 values',
    ],
    ['lastName\nA\nB\nC\nX\nY\nZ\n', 'LastName differs in each row of the file, and Employees have 3 of its 6 values'],
    ['lastName\nA\n', 'LastName differs in each row of the file, and Employees have 1 of its 1 value'],
  ])('of %j creates nothing, since the table already has some of its people', async (csv, message) => {
    const people = ['A', 'B', 'C'].map((name, index) => ({
      employeeNumber: `E${index + 1}`,
      lastName: name,
      workEmail: `${name}@x.org`,
    }))
    await server.post('/Employees', people)
    const { code, stderr } = await importOf('employees', fileOf(csv))
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
    expect(await numbers()).toHaveLength(3)
    expect((await importOf('employees', fileOf(csv), '--again')).code).toBe(0)
  })

  test.each([
    ['new numbers, although their names are in the table', 'employeeNumber,lastName\nE7,A\nE8,B\nE9,C\n'],
    ['fewer than half of the names', 'lastName\nA\nV\nW\nX\nY\nZ\n'],
    ['a value that no two rows of the file share, but several rows of the table do', 'jobLevel,lastName\nL3,V\nL4,W\n'],
    ['a column in which two rows have the same value', 'employeeNumber,lastName\nE1,V\nE1,W\n'],
  ])('creates rows with %s', async (_, csv) => {
    await server.post('/Employees', [
      { employeeNumber: 'E1', lastName: 'A', jobLevel: 'L3' },
      { employeeNumber: 'E2', lastName: 'B', jobLevel: 'L3' },
      { employeeNumber: 'E3', lastName: 'C', jobLevel: 'L3' },
    ])
    expect(await importOf('employees', fileOf(csv))).toMatchObject({ code: 0 })
  })

  test('with a key that may not read creates the rows, and says that the table perhaps has them already', async () => {
    await server.post('/Employees', [{ employeeNumber: 'E1' }])
    const path = fileOf('employeeNumber\nE1\n')
    const words = ['import', 'employees', path, '--url', server.url]
    const { code, stderr } = await rosterHere(words, { ROSTER_KEY: writer.text })
    expect([code, await numbers()]).toEqual([0, ['E1', 'E1']])
    expect(stderr).toContain('whether the table has these rows already is not known: ')
  })

  test('waits when the rate limit is reached while it reads the table, and then compares the remaining rows', async () => {
    await server.sql`insert into employee (employee_number) select 'N' || n from generate_series(1, 3500) n`
    const words = ['import', 'employees', fileOf('employeeNumber\nX1\nN3456\n'), '--url', server.url]
    const { stderr } = await rosterHere(words, { ROSTER_KEY: slow.text })
    expect(stderr).toContain('roster: waits 1 s: ')
    expect(stderr).toContain('have 1 of its 2 values already (line 3: "N3456" is row 3456)')
  })

  test('into a table that is too large to read looks for the values of the file by filters', async () => {
    await server.sql`insert into employee (employee_number) select 'N' || n from generate_series(1, 50100) n`
    const { stderr } = await importOf('employees', fileOf('employeeNumber\nX1\nN50007\nX2\n'))
    expect(stderr).toContain('have 1 of its 3 values already (line 3: "N50007" is row 50007)')
  })
})

describe('roster import --match', () => {
  beforeEach(async () => {
    const people = [{ employeeNumber: 'E001' }, { employeeNumber: 'Öz 7' }, { employeeNumber: 'E2', lastName: 'B' }]
    await server.post('/Employees', people)
  })
  const csv = 'employeeNumber,lastName\ne1,A\noz7,B\nE2,C\nE9,D\n'
  const near = ['line 2: EmployeeNumber "e1" is nearly "E001" of row 1', 'line 3: EmployeeNumber "oz7" is nearly "Öz 7" of row 2']

  test('names rows of the file that nearly match rows of the table, and creates them only with --again', async () => {
    const path = fileOf(csv)
    const dry = await importOf('employees', path, '--match', 'EmployeeNumber', '--dry-run')
    expect([dry.code, dry.stdout.split('\n').slice(2, 4)]).toEqual([0, near])
    const refused = await importOf('employees', path, '--match', 'EmployeeNumber')
    expect(refused.code).toBe(1)
    for (const line of near) expect(refused.stderr).toContain(line)
    expect(refused.stderr).toContain('Nothing was written: these rows would be created beside the others.')
    expect(await numbers()).toEqual(['E001', 'Öz 7', 'E2'])
    await importOf('employees', path, '--match', 'EmployeeNumber', '--again')
    expect(await numbers()).toEqual(['E001', 'Öz 7', 'E2', 'e1', 'oz7', 'E9'])
  })

  test('with --no-create, only changes the matching rows, and names the lines that match no row', async () => {
    const { code, stdout } = await importOf('employees', fileOf(csv), '--match', 'EmployeeNumber', '--no-create')
    expect([code, stdout]).toEqual([
      0,
      'not found: line 2, line 3, line 5\n0 rows of Employees were created, 1 changed, 0 left as they are, 3 not found.\n',
    ])
    expect(await server.sql`select last_name from employee order by id`).toMatchObject([{}, {}, { last_name: 'C' }])
    expect(await numbers()).toHaveLength(3)
  })

  test('writes all differences of a dry run into a CSV that only the user can read', async () => {
    await server.sql`truncate employee cascade`
    await server.sql`insert into employee (employee_number, last_name) select 'N' || n, 'Name' from generate_series(1, 30) n`
    const lines = Array.from({ length: 30 }, (_, index) => `N${index + 1},"=${index}, ""x"""`)
    const output = join(folder.path, 'differences.csv')
    const path = fileOf(`employeeNumber,lastName\n${lines.join('\n')}\n`)
    const { stdout } = await importOf('employees', path, '--match', 'EmployeeNumber', '--dry-run', '--output', output)
    expect(stdout).toContain(`30 differences, of which the first 10 are shown (all are in ${output}): lastName in 30 rows`)
    const written = readFileSync(output, 'utf8').split('\r\n')
    expect([written.length, written[0], written[1]]).toEqual([
      32,
      '\ufeffplace,id,EmployeeNumber,property,before,after',
      expect.stringMatching(/^line 2,\d+,N1,LastName,Name,"'=0, ""x"""$/),
    ])
    expect(statSync(output).mode & 0o777).toBe(0o600)
    const nowhere = join(folder.path, 'no/such/folder.csv')
    const failed = await importOf('employees', path, '--match', 'EmployeeNumber', '--dry-run', '--output', nowhere)
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('could not be written')])
    expect(existsSync(nowhere)).toBe(false)
  })
})

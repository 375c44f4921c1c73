// Keys with rights by row and property, on the command line.
import { beforeEach, describe, expect, test } from 'bun:test'
import { idOf } from '../../src/admit/apiKey.ts'
import { useDatabase } from '../support/database.ts'
import { rosterHere } from './roster.ts'

const { url: DATABASE_URL, sql } = useDatabase()
const keys = (...words: string[]) => rosterHere(['keys', ...words], { DATABASE_URL })
const create = (name: string, ...more: string[]) => keys('create', '--name', name, ...more)
const lastLine = (text: string) => text.trimEnd().split('\n').at(-1) ?? ''
const stored = async () =>
  (await sql`select name, rights, addresses, limits from api_key order by created`).map((row) => ({ ...row }))
const PAYROLL = 'read Absences?Status=Approved&fields=Id,EmployeeId,Start,End'

beforeEach(async () => {
  await sql`delete from api_key`
})

describe('keys create --right', () => {
  test('stores rights in canonical form, and shows them', async () => {
    const made = await create(
      'payroll',
      '--right',
      'read absences?status=Approved&fields=employeeid,start,end',
      '--right',
      'Write Companies',
    )
    const id = idOf(lastLine(made.stdout))
    const lines = [PAYROLL, 'create Companies', 'update Companies', 'delete Companies']
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect(made.stdout).toStartWith(
      `Made the key "payroll" (${id}) with these rights:\n${lines.map((line) => `  ${line}\n`).join('')}This is`,
    )
    expect(await stored()).toEqual([{ name: 'payroll', rights: '', addresses: lines.join('\n'), limits: null }])
  })

  test('--json prints all rights of a key as one text, one right per line', async () => {
    const { stdout } = await create('payroll', '--right', PAYROLL, '--right', 'read Companies', '--json')
    const rights = `${PAYROLL}\nread Companies`
    expect(JSON.parse(stdout)).toMatchObject({ rights, ends: null })
    const valuesOf = async (...words: string[]) => JSON.parse((await keys(...words, '--name', 'payroll', '--json')).stdout)
    const [listed] = JSON.parse((await keys('list', '--json')).stdout)
    const rotated = await valuesOf('rotate')
    const {
      changed: [changed],
    } = await valuesOf('change', '--expires', '1d')
    for (const value of [listed, rotated, changed]) expect([value.rights, value.addresses]).toEqual([rights, undefined])
  })

  test('--expires "14d" makes a key valid for 14 days', async () => {
    const { stdout } = await create('payroll', '--rights', '*:read', '--expires', '14d')
    expect(stdout).toMatch(
      /^Made the key "payroll" \(\w{10}\), valid until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, with the rights \*:read\.\n/,
    )
    const [row] = await sql`select ends - created as lifetime from api_key`
    expect(row?.lifetime).toMatch(/^14 days|^336:0\d/)
  })

  test('--expires "never" makes a key valid without an end time', async () => {
    expect(await create('payroll', '--rights', '*:read', '--expires', 'never')).toMatchObject({ code: 0, stderr: '' })
    expect((await sql`select ends from api_key`).map(({ ends }) => ends)).toEqual([null])
  })

  test.each([
    [['--right', PAYROLL, '--rights', '*:read'], 'error: give one of --rights <list>, --right <right> and --role <name>'],
    [
      ['--right', 'read Absences?Statsu=x'],
      `error: option '--right' is invalid. "read Absences?Statsu=x": Absences has no parameter "Statsu". Did you mean Status?`,
    ],
    [['--right', 'read Absnces'], 'there is no collection "Absnces". Did you mean Absences?'],
    [['--right', 'raed Absences'], 'a right begins with read, create, update, delete or write. Did you mean read?'],
    [['--right', 'read Absences', '--right', 'read Absences?Status=A'], 'there is another right to read Absences'],
    [['--right', 'update Absences?fields=End'], 'End must not be before Start, so who may change one must be able to read both'],
    [['--right', 'Absences:read'], 'give rights of this form to --rights.'],
    ...['14', '0d', '3651d', 'tomorrow', '1y'].map(
      (time) =>
        [['--right', PAYROLL, '--expires', time], 'It is a time like 14d (s, m, h, d), up to 3650d, or never.'] as [
          string[],
          string,
        ],
    ),
  ])('fails as wrong usage, and creates no key, with %j', async (words, message) => {
    expect(await create('ci', ...words)).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
    expect(await stored()).toEqual([])
  })
})

describe('keys change', () => {
  test('changes the rights of all valid keys of the name', async () => {
    await create('payroll', '--rights', '*:read', '--limits', '9/1m')
    await keys('rotate', '--name', 'payroll')
    const changed = await keys('change', '--name', 'payroll', '--right', 'read companies')
    const lines = Array<string>(2).fill(
      'Changed "payroll" \\(\\w{10}\\) with these rights and the limits 9/1m:\\n  read Companies\\n',
    )
    expect(changed).toEqual({ code: 0, stdout: expect.stringMatching(new RegExp(`^${lines.join('')}$`)), stderr: '' })
    const row = { name: 'payroll', rights: '', addresses: 'read Companies', limits: '9/1m' }
    expect(await stored()).toEqual([row, row])
  })

  test('gives a key rights in the form of --rights, the limits of the server, and no end time', async () => {
    await create('payroll', '--right', PAYROLL, '--limits', '9/1m', '--expires', '1d')
    const { stdout, stderr } = await keys(
      'change',
      '--name',
      'payroll',
      '--rights',
      '*:read',
      '--limits',
      'default',
      '--expires',
      'never',
      '--json',
    )
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({
      name: 'payroll',
      changed: [{ id: expect.any(String), rights: '*:read', role: null, limits: null, ends: null }],
    })
    expect(await stored()).toEqual([{ name: 'payroll', rights: '*:read', addresses: null, limits: null }])
  })

  test.each([
    [
      ['--name', 'payroll'],
      2,
      'error: nothing to change: give --right <right>, --rights <list>, --role <name>, --limits or --expires',
    ],
    [['--right', PAYROLL], 2, "error: required option '--name <name>' not specified"],
    [['--name', 'payroll', '--right', 'read Absences?fields=Strat'], 2, 'Did you mean Start?'],
    [['--name', 'payrol', '--expires', '1d'], 1, 'roster: there is no valid key named "payrol". Did you mean payroll?'],
  ])('refuses %j, and changes nothing', async (words, code, message) => {
    await create('payroll', '--right', PAYROLL)
    const before = await stored()
    expect(await keys('change', ...words)).toEqual({ code, stdout: '', stderr: expect.stringContaining(message) })
    expect(await stored()).toEqual(before)
  })
})

describe('keys list', () => {
  test('prints the rights of a key below its line', async () => {
    await create('ci', '--rights', 'Companies:read,Absences:write')
    await create('payroll', '--right', PAYROLL, '--right', 'read Companies', '--expires', '2d')
    const { stdout } = await keys('list')
    expect(stdout).toMatch(
      new RegExp(
        `^NAME .*\\nci +\\w{10}  Companies:read,Absences:write  .*active\\n` +
          `payroll +\\w{10}  2 rights: +default .* expires \\S+Z\\n  ${PAYROLL.replace('?', '\\?')}\\n  read Companies\\n$`,
      ),
    )
  })

  test('names a right that does not fit the entities, unless its key is revoked', async () => {
    await create('payroll', '--right', PAYROLL, '--right', 'read Companies')
    await sql`update api_key set addresses = 'read Companies' || chr(10) || 'read Absences?Gone=1'`
    const fault = '"read Absences?Gone=1": Absences has no parameter "Gone".'
    expect((await keys('list')).stdout).toContain(`\n  read Absences?Gone=1\n  None of them holds: ${fault}`)
    const [key] = JSON.parse((await keys('list', '--json')).stdout)
    expect(key).toMatchObject({ rights: 'read Companies\nread Absences?Gone=1', fault: expect.stringContaining(fault) })
    await keys('revoke', '--name', 'payroll')
    expect((await keys('list')).stdout).not.toContain('None of them holds')
    expect(JSON.parse((await keys('list', '--json')).stdout)).toMatchObject([{ state: 'revoked', fault: null }])
  })
})

describe('keys try', () => {
  beforeEach(async () => {
    await sql`truncate company, employee, absence restart identity cascade`
    await sql`insert into employee (known_as) values ('Ann'), ('Bo')`
    await sql`
      insert into absence (employee_id, employee_key, status, reason, period_days)
      select n, k.display_name_key, case n when 1 then 'Approved' else 'Requested' end, 'Flu', 1.5
      from generate_series(1, 2) as n join employee as k on k.id = n`
  })

  test('shows the filters and properties that apply, the total, and the rows that a request with the key would get', async () => {
    await create('payroll', '--right', 'read Absences?Status=Approved&fields=Id,EmployeeId,Period.Days')
    expect(await keys('try', '--name', 'payroll', 'GET /Absences?sort=-Id')).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        'right: read Absences?Status=Approved&fields=Id,EmployeeId,Period.Days',
        'filters: Status=Approved',
        'properties: Id, EmployeeId, Period.Days',
        'total: 1',
        '{"id":1,"employeeId":1,"period":{"days":1.50000000}}\n',
      ].join('\n'),
    })
  })

  test('--json prints the body that a request with the key would get', async () => {
    await create('payroll', '--right', 'read Absences?Status=Approved&fields=Id,Period.Days')
    const { stdout } = await keys('try', '--name', 'payroll', '/Absences', '--json')
    expect(stdout).toEndWith('"status":200,"total":1,"body":[{"id":1,"period":{"days":1.50000000}}]}\n')
    expect(JSON.parse(stdout)).toMatchObject({ filters: ['Status=Approved'], properties: ['Id', 'Period.Days'] })
  })

  test('tries rights that no key has yet', async () => {
    const { stdout } = await keys('try', '--right', 'read Absences', 'GET /Absences/2?fields=Reason')
    expect(stdout).toBe('right: read Absences\nfilters: none\nproperties: all\nanswer: 200\n{"reason":"Flu"}\n')
    expect((await keys('try', '--rights', 'Absences:read', '/absences?PageSize=5')).stdout).toContain('\ntotal: 2\n{"id":1,')
    expect(await stored()).toEqual([])
  })

  test('D95: refuses a request for a related property that the key may not read; a filter of its right may use one', async () => {
    const narrow = ['--right', 'read Absences?employeeId.knownAs=Ann&fields=Id,EmployeeId']
    const path = '/Absences?fields=EmployeeId.DisplayName'
    expect((await keys('try', ...narrow, path)).stdout).toBe(
      [
        'right: read Absences?EmployeeId.KnownAs=Ann&fields=Id,EmployeeId',
        'filters: EmployeeId.KnownAs=Ann',
        'properties: Id, EmployeeId',
        'answer: 400 InvalidFields: Absences have no "EmployeeId.DisplayName". You may not read Employees, to which EmployeeId leads.\n',
      ].join('\n'),
    )
    const { stdout } = await keys('try', ...narrow, '--right', 'read Employees?fields=DisplayName', path)
    expect(stdout).toEndWith('total: 1\n{"employeeId.displayName":"Ann"}\n')
  })

  test('answers a request by id and a summary', async () => {
    const narrow = ['--right', 'read Absences?Status=Approved&fields=Id,Status']
    expect((await keys('try', ...narrow, '/Absences/1')).stdout).toEndWith('answer: 200\n{"id":1,"status":"Approved"}\n')
    expect((await keys('try', ...narrow, '/Absences/2')).stdout).toContain('\nanswer: 404 NotFound: ')
    expect((await keys('try', ...narrow, '/Absences/Summary?groupBy=Status')).stdout).toContain('{"status":"Approved"')
  })

  test('answers a HEAD request like a GET, but without rows', async () => {
    const narrow = ['--right', 'read Absences?Status=Approved&fields=Id']
    const head = 'right: read Absences?Status=Approved&fields=Id\nfilters: Status=Approved\nproperties: Id\n'
    expect((await keys('try', ...narrow, 'HEAD /Absences')).stdout).toBe(`${head}total: 1\n`)
    expect((await keys('try', ...narrow, 'head /Absences/1')).stdout).toBe(`${head}answer: 200\n`)
    expect((await keys('try', ...narrow, 'HEAD /Absences/2')).stdout).toContain('\nanswer: 404 NotFound: ')
    const { total, body, status } = JSON.parse((await keys('try', ...narrow, '--json', 'HEAD /Absences')).stdout)
    expect([total, body, status]).toEqual([1, null, 200])
  })

  test('shows the error that a request with the key would get', async () => {
    const narrow = ['--right', 'read Absences?fields=Id,Status']
    expect((await keys('try', ...narrow, '/Absences?Reason=Flu')).stdout).toContain(
      '\nanswer: 400 UnknownParameter: Absences has no parameter "Reason"',
    )
    expect((await keys('try', ...narrow, '/Companies')).stdout).toBe(
      'answer: 403 Forbidden: The key does not have the right read Companies.\n',
    )
    expect((await keys('try', ...narrow, '/Absnces')).stdout).toBe(
      'answer: 404 NotFound: There is nothing at this path. Did you mean Absences?\n',
    )
  })

  test.each([
    ...['DELETE', 'patch', 'Put', 'POST'].map(
      (method) =>
        [['--right', 'read Absences', `${method} /Absences/1`], 1, `${method.toUpperCase()} may change rows`] as [
          string[],
          number,
          string,
        ],
    ),
    [['--right', 'read Absences', 'read Absences'], 1, '"read" is no method that reads: write GET or HEAD, and a path'],
    [['--right', 'read Absences', 'OPTIONS /Absences'], 1, '"OPTIONS" is no method that reads'],
    [['--right', 'read Absences', '/docs'], 1, 'there is nothing at /docs that rights decide about.'],
    [['--name', 'payrol', '/Absences'], 1, 'there is no valid key named "payrol".'],
    [['/Absences'], 2, 'error: give either --name <name>, or --right <right>, --rights <list> or --role <name>'],
    [['--name', 'a', '--right', 'read Absences', '/Absences'], 2, 'error: give either --name <name>, or --right <right>'],
    [['--name', 'a'], 2, "error: missing required argument 'request'"],
  ])('refuses %j', async (words, code, message) => {
    expect(await keys('try', ...words)).toEqual({ code, stdout: '', stderr: expect.stringContaining(message) })
  })

  test('says if the rights of a key do not fit the entities', async () => {
    await create('payroll', '--right', 'read Absences')
    await sql`update api_key set addresses = 'read Absences?Gone=1'`
    const stderr = expect.stringContaining('the rights do not fit the entities, so none of them holds: "read Absences?Gone=1"')
    expect(await keys('try', '--name', 'payroll', '/Absences')).toEqual({ code: 1, stdout: '', stderr })
  })
})

// The roles file on the command line: checked, tried, and followed by keys.
import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { idOf } from '../../src/admit/apiKey.ts'
import { useDatabase } from '../support/database.ts'
import { temporaryFolder } from '../support/process.ts'
import { ROLES_FILE as EXAMPLE } from '../support/rolesFile.ts'
import { filesIn, rosterHere } from './roster.ts'

const { url: DATABASE_URL, sql } = useDatabase()
const fileOf = filesIn(temporaryFolder().path)
const roles = (text: string, ...words: string[]) =>
  rosterHere(['roles', ...words], { DATABASE_URL, ROLES_FILE: fileOf(text, 'txt') })
const keys = (text: string, ...words: string[]) =>
  rosterHere(['keys', ...words], { DATABASE_URL, ROLES_FILE: fileOf(text, 'txt') })
const FAULTY = 'role a\n  read Absencs\nkey b\n  read Absences?Satus=A\n'

describe('roles check', () => {
  test('lists the roles, views, keys and claims of a file without faults', async () => {
    const file = fileOf(EXAMPLE, 'txt')
    expect(await rosterHere(['roles', 'check', file])).toEqual({
      code: 0,
      stderr: '',
      stdout: `${file} has no faults.
me: Employees?WorkEmail={email}
claims: email, groups
view Directory Employees?EmploymentEnd=&fields=Id,DisplayName,WorkEmail,Department,Location,JobTitle,Manager
role employee: 5 rights, everybody
role manager: 2 rights, when Employees?ManagerId={me.Id}
role hr: 7 rights, when {groups} has hr
key payroll: 2 rights
`,
    })
  })

  test('says that an empty file has no roles, and lists each claim of another file once', async () => {
    const shown = async (text: string) => (await roles(text, 'check')).stdout.replace(/^.*(?= has no )/, 'It')
    for (const text of ['', '# role all\n'])
      expect(await shown(text)).toBe('It has no roles, views or keys.\nme: no row is needed\n')
    expect(await shown('me Employees?WorkEmail={email}')).toBe(
      'It has no roles, views or keys.\nme: Employees?WorkEmail={email}\nclaims: email\n',
    )
    const file = `me Employees?KnownAs={name}&WorkEmail={email}
role a when {groups} has hr
  read Companies?Id={unit}
  read Employees?Started=<={today}
  update Absences?EmployeeId={me.Id}&fields=Status becomes Status={state}
role b when Employees?CompanyId[]={units}
  read Absences?EmployeeId={me.Id}
role c when {grops} has hr
  read Companies?Name={name}`
    expect(await shown(file)).toContain('\nclaims: name, email, units, unit, state, groups, grops\n')
    expect(JSON.parse((await roles(file, 'check', '--json')).stdout).claims).toHaveLength(7)
  })

  test('lists all faults of ROLES_FILE with their lines, and fails with exit code 1', async () => {
    const { code, stdout, stderr } = await roles(FAULTY, 'check')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^roster: \S+ has 2 faults\n$/)
    const [first, second, ...more] = stdout.trimEnd().split('\n')
    expect(first).toBe('line 2: "read Absencs": there is no collection "Absencs". Did you mean Absences?')
    expect(second).toStartWith('line 4: "read Absences?Satus=A": Absences has no parameter "Satus".')
    expect(more).toEqual([])
  })

  test('--json prints the faults and the content of the file as JSON', async () => {
    const faulty = await roles(FAULTY, 'check', '--json')
    expect(faulty.code).toBe(1)
    expect(JSON.parse(faulty.stdout)).toMatchObject({ faults: [{ line: 2 }, { line: 4 }], me: null, roles: [] })
    const { faults, me, roles: found, keys } = JSON.parse((await roles(EXAMPLE, 'check', '--json')).stdout)
    expect({ faults, me, keys }).toEqual({
      faults: [],
      me: 'Employees?WorkEmail={email}',
      keys: [
        {
          name: 'payroll',
          rights: [
            'read Absences?Status=Approved&fields=Id,EmployeeId,Start,End,Period.Prefered,Period.Days,Period.Hours',
            'read Employees?fields=Id,EmployeeNumber,CompanyId',
          ],
        },
      ],
    })
    expect(found).toContainEqual({
      name: 'manager',
      when: 'Employees?ManagerId={me.Id}',
      rights: [
        'read Absences?EmployeeId.ManagerId={me.Id}',
        'update Absences?EmployeeId.ManagerId={me.Id}&EmployeeId=!={me.Id}&Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined',
      ],
    })
  })

  test.each([
    [['check'], {}, 'roster: name a file, or set ROLES_FILE\n'],
    [['check', '/nowhere'], {}, 'roster: the roles file /nowhere cannot be read: ENOENT'],
    [['check', import.meta.dir], {}, 'roster: the roles file '],
    [['check'], { ROLES_FILE: fileOf(new Uint8Array([0xff, 0xfe]), 'txt') }, 'cannot be read: it is no text in UTF-8'],
    [['check'], { ROLES_FILE: fileOf('x'.repeat(3_000_000), 'txt') }, 'it has 3000000 bytes, more than any roles file'],
  ] as const)('%j is refused', async (words, settings, message) => {
    expect(await rosterHere(['roles', ...words], settings)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
  })
})

describe('roles try', () => {
  beforeAll(async () => {
    await sql`insert into employee (known_as, work_email, department) values ('Ann', 'ann@example.com', 'IT'), ('Bob', '', 'IT'), ('Cat', null, 'HR')`
    await sql`
      insert into absence (employee_id, employee_key, status)
      select id, display_name_key, kind from employee, unnest(array['Approved', 'Requested']) as kind order by id`
  })

  test('says who the person is, which roles she has and why she lacks others, and what her request would get', async () => {
    const file = `me Employees?WorkEmail={email}
role all
  read Absences?EmployeeId={me.Id}
  read Companies?Id={unit}
role manager when Employees?ManagerId={me.Id}
  read Employees
role hr when {groups} has hr
  read Employees`
    expect(await roles(file, 'try', '--as', 'ann@example.com', 'GET /Absences?sort=-Id&fields=Id,EmployeeId')).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        'me: Employees/1, by the claim email',
        'role all',
        '  without read Companies?Id={unit}: the token has no claim unit',
        'not manager: no row is in Employees?ManagerId={me.Id}',
        'not hr: the token has no claim groups',
        'right: read Absences?EmployeeId=1',
        'filters: EmployeeId=1',
        'properties: all',
        'total: 2',
        '{"id":2,"employeeId":1}',
        '{"id":1,"employeeId":1}\n',
      ].join('\n'),
    })
  })

  test('shows each of several rights to read a collection, and the right to a view', async () => {
    const file = `me Employees?WorkEmail={email}
view Team Employees?fields=Id,KnownAs
role a
  read Absences?EmployeeId={me.Id}
role b when {groups} has b
  read Absences?Status=Approved
  read Team?Department={me.Department}`
    const ann = ['--as', 'ann@example.com']
    const claims = [...ann, '--claim', 'groups=a', '--claim', 'groups=b']
    expect((await roles(file, 'try', ...claims, '/Absences?fields=Id')).stdout).toEndWith(
      [
        'right: read Absences?EmployeeId=1',
        'filters: EmployeeId=1',
        'right: read Absences?Status=Approved',
        'filters: Status=Approved',
        'properties: all',
        'total: 4',
        '{"id":1}\n{"id":2}\n{"id":3}\n{"id":5}\n',
      ].join('\n'),
    )
    expect((await roles(file, 'try', ...claims, '/Team')).stdout).toEndWith(
      'right: read Team?Department=IT\nfilters: Department=IT\nproperties: Id, KnownAs\ntotal: 2\n{"id":1,"knownAs":"Ann"}\n{"id":2,"knownAs":"Bob"}\n',
    )
    expect((await roles(file, 'try', ...ann, '/Team')).stdout).toEndWith(
      'not b: the token has no claim groups\nanswer: 404 NotFound: There is nothing at this path.\n',
    )
  })

  test('--json prints the person, her roles and the answer as JSON', async () => {
    const { stdout } = await roles(EXAMPLE, 'try', '--as', 'ann@example.com', '--json', '/Employees/1?fields=Id')
    expect(JSON.parse(stdout)).toMatchObject({
      me: 'Employees/1',
      claims: ['email'],
      reason: null,
      roles: [
        { name: 'employee', applies: true, missing: [] },
        { name: 'manager', applies: false },
        { name: 'hr', applies: false, reason: 'the token has no claim groups' },
      ],
      rights: expect.arrayContaining(['read Employees?Id=1']),
      properties: null,
      status: 200,
      body: { id: 1 },
    })
  })

  test('says that no row of the person is found, also if rows with an empty address exist', async () => {
    const refused = 'no row of Employees is yours by the roles file, or several are'
    for (const path of ['/Absences', '/Directory', '/Absnces']) {
      const { stdout } = await roles(EXAMPLE, 'try', '--as', 'nobody@example.com', path)
      expect(stdout).toBe(`no role applies: ${refused}\nanswer: 403 Forbidden: You have no rights: ${refused}.\n`)
    }
    const empty = await roles(EXAMPLE, 'try', '--as', '', '/Absences')
    expect(empty.stdout).toStartWith('no role applies: the claim email is an empty text\nanswer: 403')
    const none = await roles(EXAMPLE, 'try', '--claim', 'groups=["hr"]', '/Absences')
    expect(none.stdout).toStartWith('no role applies: the token has no claim email\nanswer: 403')
  })

  test('uses the value of --as for the only claim that the "me" of the roles file has', async () => {
    const file = 'me Employees?KnownAs={given_name}\nrole all\n  read Employees?Id={me.Id}'
    const { stdout } = await roles(file, 'try', '--as', 'Bob', '/Employees?fields=Id')
    expect(stdout).toEndWith('total: 1\n{"id":2}\n')
  })

  test('names the claims by which the row of the person was found', async () => {
    const first = async (line: string, ...words: string[]) =>
      (await roles(`${line}\nrole all\n  read Employees?Id={me.Id}`, 'try', ...words, '/Employees')).stdout.split('\n')[0]
    expect(await first('me Employees?WorkEmail={emial}', '--as', 'ann@example.com')).toBe('me: Employees/1, by the claim emial')
    const claims = ['--claim', 'name=Ann', '--claim', 'unit=IT']
    expect(await first('me Employees?KnownAs={name}&Department={unit}', ...claims)).toBe(
      'me: Employees/1, by the claims name and unit',
    )
  })

  test.each<[verified: string | null, trusts: string, isFound: boolean]>([
    [null, '0', true],
    ['true', '0', true],
    ['false', '0', false],
    ['yes', '0', false],
    ['false', '1', true],
  ])('finds a row by an address with email_verified %p and OIDC_TRUST_EMAIL=%s: %j', async (verified, trusts, isFound) => {
    const settings = { DATABASE_URL, ROLES_FILE: fileOf(EXAMPLE, 'txt'), OIDC_TRUST_EMAIL: trusts }
    const words = verified === null ? [] : ['--claim', `email_verified=${verified}`]
    const { stdout } = await rosterHere(['roles', 'try', '--as', 'ann@example.com', ...words, '/Absences'], settings)
    expect(stdout).toStartWith(
      isFound
        ? 'me: Employees/1, by the claim email\n'
        : 'no role applies: the claim email is not verified\nanswer: 403 Forbidden: You have no rights: your e-mail address is not verified.\n',
    )
  })

  test.each<[string[], number, string]>([
    [['/Absences'], 2, 'Say who it is: --as ann@example.com'],
    [['--as', 'a@b.c'], 2, "missing required argument 'request'"],
    [['--claim', 'groups', '/Absences'], 2, '"groups" is no claim: write name=value, as groups=hr.'],
    [['--claim', 'groups=[hr]', '/Absences'], 2, 'The value of groups begins like JSON, and is none.'],
    [['--as', 'a@b.c', 'PATCH /Absences/1'], 1, 'PATCH may change rows'],
    [['--as', 'a@b.c', '/docs'], 1, 'there is nothing at /docs that rights decide about.'],
  ])('refuses %j', async (words, code, message) => {
    expect(await roles(EXAMPLE, 'try', ...words)).toEqual({ code, stdout: '', stderr: expect.stringContaining(message) })
  })

  test('fails with exit code 1 if the roles file is faulty or missing', async () => {
    const faulty = await roles(FAULTY, 'try', '--as', 'a@b.c', '/Absences')
    expect(faulty).toMatchObject({ code: 1, stderr: expect.stringContaining('roster: line 2: ') })
    const without = await rosterHere(['roles', 'try', '--as', 'a@b.c', '/Absences'], { DATABASE_URL })
    expect(without).toEqual({ code: 1, stdout: '', stderr: 'roster: there are no roles: set ROLES_FILE\n' })
  })
})

describe('keys that follow a block of the roles file', () => {
  const BLOCK =
    'role hr when {groups} has hr\n  read Employees\nkey payroll\n  read Absences?Status=Approved&Start=<={now}&fields=EmployeeId,Start\n'
  const stored = async () =>
    (await sql`select name, rights, addresses, role from api_key order by created`).map((row) => ({ ...row }))
  const lastLine = (text: string) => text.trimEnd().split('\n').at(-1) ?? ''

  beforeEach(async () => {
    await sql`delete from api_key`
  })

  test('are stored without rights, so that a server of an earlier version gives them none', async () => {
    const made = await keys(BLOCK, 'create', '--name', 'x', '--role', 'payroll')
    expect(made.stdout).toStartWith(
      `Made the key "x" (${idOf(lastLine(made.stdout))}) with the rights of "key payroll" in the roles file.\n`,
    )
    expect(await stored()).toEqual([{ name: 'x', rights: '', addresses: null, role: 'payroll' }])
    expect(sql`update api_key set rights = '*:read'`).rejects.toThrow('api_key_role_alone')
  })

  test('are listed with the rights of the block, also by --json', async () => {
    await keys(BLOCK, 'create', '--name', 'x', '--role', 'payroll')
    const text = 'read Absences?Status=Approved&Start=<={now}&fields=Id,EmployeeId,Start'
    expect((await keys(BLOCK, 'list')).stdout).toMatch(
      /^NAME .*\nx {2,}\w{10} {2,}role payroll: .*\n {2}read Absences\?Status=Approved&Start=<=\{now\}&fields=Id,EmployeeId,Start\n$/,
    )
    expect(JSON.parse((await keys(BLOCK, 'list', '--json')).stdout)).toMatchObject([
      { name: 'x', rights: text, role: 'payroll', fault: null },
    ])
  })

  test('keep the block when they are rotated, and lose it when they are changed to other rights', async () => {
    await keys(BLOCK, 'create', '--name', 'x', '--role', 'payroll')
    const rotated = JSON.parse((await keys(BLOCK, 'rotate', '--name', 'x', '--json')).stdout)
    expect(rotated).toMatchObject({ rights: '', role: 'payroll' })
    await keys(BLOCK, 'change', '--name', 'x', '--rights', '*:read')
    expect((await stored()).map(({ rights, role }) => ({ rights, role }))).toEqual([
      { rights: '*:read', role: null },
      { rights: '*:read', role: null },
    ])
    const changed = await keys(BLOCK, 'change', '--name', 'x', '--role', 'payroll')
    expect(changed.stdout).toContain('with the rights of "key payroll" in the roles file.\n')
    expect((await stored()).map(({ rights, role }) => ({ rights, role }))).toEqual([
      { rights: '', role: 'payroll' },
      { rights: '', role: 'payroll' },
    ])
  })

  test('can be tried by keys try, also a block that no key follows yet', async () => {
    await keys(BLOCK, 'create', '--name', 'x', '--role', 'payroll')
    for (const words of [
      ['--name', 'x'],
      ['--role', 'payroll'],
    ]) {
      const { stdout } = await keys(BLOCK, 'try', ...words, '/Absences?PageSize=5')
      expect(stdout).toMatch(
        /^right: read Absences\?Status=Approved&Start=<=\d{4}-\d\d-\d\dT\d\d:\d\d:00Z&fields=Id,EmployeeId,Start\nfilters: .*\nproperties: Id, EmployeeId, Start\ntotal: \d+\n/,
      )
    }
  })

  test('have no rights if the file no longer has the block; keys list and keys try say so', async () => {
    await keys(BLOCK, 'create', '--name', 'x', '--role', 'payroll')
    const gone = 'role hr\n  read Employees'
    expect((await keys(gone, 'list')).stdout).toEndWith(
      '  None of them holds, by the file on disk: the roles file has no block "key payroll".\n',
    )
    const without = await rosterHere(['keys', 'list'], { DATABASE_URL })
    expect(without.stdout).toContain(
      'None of them holds: its rights are those of the block "key payroll" of a roles file, and ROLES_FILE names none.',
    )
    expect(await keys(gone, 'try', '--name', 'x', '/Absences')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'roster: the key has no rights: the roles file has no block "key payroll".\n',
    })
  })

  test('are listed as unusable while the file is faulty, like keys with a right to a view of the file', async () => {
    const views = `${BLOCK}view Team Employees?fields=Id,DisplayName\n`
    await keys(views, 'create', '--name', 'x', '--role', 'payroll')
    await keys(views, 'create', '--name', 'y', '--right', 'read Team')
    await keys(views, 'create', '--name', 'z', '--right', 'read Companies')
    const unusable =
      'The roles file on disk cannot be used, as roster roles check explains. A running server goes on with the one that it has.'
    const { stdout } = await keys(FAULTY, 'list')
    expect(stdout.replace(/^([xyz]) .*/gm, '$1')).toEndWith(
      `\nx\n  ${unusable}\ny\n  read Team\n  ${unusable}\nz\n  read Companies\n`,
    )
    expect(JSON.parse((await keys(FAULTY, 'list', '--json')).stdout).map(({ fault }: { fault: string }) => fault)).toEqual([
      unusable,
      unusable,
      null,
    ])
  })

  test.each<[string[], number, string]>([
    [['--role', 'payrol'], 2, 'The roles file has no block "key payrol". Did you mean payroll?'],
    [['--role', 'hr'], 2, 'hr is a role of persons: write a block "key hr" with the rights of the key.'],
    [['--role', 'payroll', '--rights', '*:read'], 2, 'error: give one of --rights <list>, --right <right> and --role <name>'],
    [[], 2, "error: required option '--rights <list>', '--right <right>' or '--role <name>' not specified"],
  ])('are not created by keys create with the arguments %j', async (words, code, message) => {
    expect(await keys(BLOCK, 'create', '--name', 'x', ...words)).toEqual({
      code,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
    expect(await stored()).toEqual([])
  })

  test('are refused by keys create --role without a roles file', async () => {
    const { code, stderr } = await rosterHere(['keys', 'create', '--name', 'x', '--role', 'payroll'], { DATABASE_URL })
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('It is the name of a block of the roles file, and ROLES_FILE names none.'),
    ])
  })

  test('a key can have a right to a view of the roles file, and has no rights if the file lacks the view', async () => {
    const file = 'view Team Employees?fields=Id,DisplayName'
    expect(await keys(file, 'create', '--name', 'x', '--right', 'read Team')).toMatchObject({ code: 0, stderr: '' })
    expect((await keys(file, 'try', '--name', 'x', '/Team?PageSize=5')).stdout).toStartWith('right: read Team\n')
    expect((await keys('', 'list')).stdout).toContain('None of them holds: "read Team": there is no collection "Team".')
  })
})

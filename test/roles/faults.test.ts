// Faults for which a roles file is refused, each with its line. D100
import { describe, expect, test } from 'bun:test'
import type { RolesFault } from '../../src/roles/faults.ts'
import { parseRoles, RolesError } from '../../src/roles/roles.ts'
import { readPage } from '../support/documents.ts'
import { entities } from '../support/entities.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'

function faultsOf(text: string): readonly RolesFault[] {
  try {
    parseRoles(text, entities)
    return []
  } catch (error) {
    if (error instanceof RolesError) return error.faults
    throw error
  }
}

const ME = 'me Employees?WorkEmail={email}\n'

test('docs/persons.md shows docs/roles.txt as it is', () => {
  expect(readPage('docs/persons.md')).toContain(`\`\`\`text\n${ROLES_FILE}\`\`\``)
})

describe('a roles file that is accepted', () => {
  test.each([
    ['nothing', ''],
    ['comments and empty lines', '# nobody may do anything\n\n   # yet\n'],
    ['the file of the docs', ROLES_FILE],
    ['that file with Windows line ends', ROLES_FILE.replaceAll('\n', '\r\n')],
    ['roles without "me"', 'role hr when {groups} has hr\n  read Employees\nrole all\n read Companies\n'],
    ['tabs in place of spaces', 'role\thr\twhen\t{groups}\thas\thr\n\tread\tEmployees\n'],
    ['a line separator in comments', 'role hr # people\u2028of staff\n read Companies # all\u2029of them\n#\u2028\n'],
    ['a # within a value', 'role hr\n read Companies?Name=A#1\n'],
    ['a value with spaces', 'role hr\n read Companies?Name=A B\n'],
    ['braces that are percent-encoded', 'role hr\n read Companies?Name=%7Bx%7D\n'],
    [
      'a claim whose name is an address',
      'role hr when {https://acme.example/groups} has HR Team\n read Companies?Name={https://acme.example/unit}\n',
    ],
    [
      'a variable behind each operator',
      `${ME}role a\n read Employees?Id=!={me.Id}&Started=>={today}&Started=<{now}&Department[]={units}&LastName[begins]={initial}&ManagerId[under]={me.Id}\n`,
    ],
    [
      'a variable behind a path',
      `${ME}role a\n read Absences?EmployeeId.ManagerId={me.Id}&EmployeeId.CompanyId={me.CompanyId}\n`,
    ],
    ['several rights of one verb in a role', `${ME}role a\n read Absences?EmployeeId={me.Id}\n read Absences?Status=Approved\n`],
    ['a condition by a property of the own row', `${ME}role hr when {me.Department} has HR\n read Employees\n`],
    ['a time in "me"', 'me Employees?WorkEmail={email}&EmploymentEnd=>={today}\n'],
    ['a time in a right of a key', 'key recent\n read Absences?Start=>={today}\n'],
    [
      'the same fields in another order',
      `role a\n read Absences?fields=Start,End\nrole b\n read Absences?Status=A&fields=End,Start,Id\n`,
    ],
    ['other fields of a key than of roles', 'role a\n read Absences\nkey b\n read Absences?fields=Start\n'],
    ['a role and a key of one name', 'role a\n read Absences\nkey a\n read Absences\n'],
  ])('such as: %s', (_name, text) => expect(faultsOf(text)).toEqual([]))
})

describe('the faults of a roles file name their lines and what is allowed', () => {
  test.each<[text: string, line: number, message: string]>([
    // Lines
    ['rol hr\n', 1, '"rol" begins no statement: a line begins with me, view, role or key, or is indented. Did you mean role?'],
    ['Role hr\n', 1, '"Role" begins no statement'],
    ['# x\n\nread Employees\n', 3, 'a right is indented, below its role or key'],
    ['  read Employees\n', 1, 'an indented line is a right, and stands below a role or a key'],
    [`${ME}  read Employees\n`, 2, 'an indented line is a right, and stands below a role or a key'],
    [`${ME}${ME}`, 2, '"me" stands in line 1 already'],
    ['role\n', 1, 'it is not of the form role <name>'],
    ['role hr if {groups} has hr\n', 1, 'it is not of the form role <name>, or role <name> when <condition>.'],
    ['role 1a\n', 1, '"1a" cannot be a name: it begins with a letter'],
    ['role hr\nrole HR\n', 2, 'there is a role hr in line 1: write its rights below that.'],
    ['key a\nkey a\n', 2, 'there is a key a in line 1'],
    ['key a when {groups} has a\n', 1, 'it is not of the form key <name>. A key has no condition.'],
    ['rol\u2028e hr\n', 1, '"rol" begins no statement'],
    ['role a if\u2028b\n', 1, 'it is not of the form role <name>, or role <name> when <condition>.'],
    ['view Directory Employes\u2028x\n', 1, 'a view is a name and the address of a list, such as'],
    ['view\n', 1, 'a view is a name and the address of a list'],
    ['view Directory\n', 1, 'a view is a name and the address of a list'],
    // Names
    ['role hr\n  read Absencs\n', 2, '"read Absencs": there is no collection "Absencs". Did you mean Absences?'],
    ['role hr\n  raed Absences\n', 2, 'a right begins with read, create, update, delete or write. Did you mean read?'],
    ['role hr\n  read Absences?Satus=A\n', 2, 'Absences has no parameter "Satus". Did you mean Status?'],
    ['role hr\n  read Absences?fields=Strat\n', 2, 'Absences have no property "Strat". Did you mean Start?'],
    ['role hr when Employes?ManagerId=1\n', 1, 'there is no collection "Employes". Did you mean Employees?'],
    ['me Employes?WorkEmail={email}\n', 1, 'there is no collection "Employes". Did you mean Employees?'],
    ['view Directory Employes?Id=1\n', 1, 'there is no collection "Employes". Did you mean Employees?'],
    ['view employees Companies\n', 1, '"employees" cannot be the name of a view'],
    ['view Changes Companies\n', 1, 'the server has a path /changes of its own'],
    ['view Directory Employees\nrole a\n  write Directory\n', 3, 'Directory is read-only, since it is a view'],
    ['view Directory Employees\nrole a\n  read Directry\n', 3, 'there is no collection "Directry". Did you mean Directory?'],
    // Variables
    [`${ME}role a\n  read Employees?Id={me.ID2}\n`, 3, 'Employees have no property "ID2".'],
    [`${ME}role a\n  read Employees?Id={me.Managr}\n`, 3, 'Did you mean Manager?'],
    [`${ME}role a\n  read Employees?Id={me}\n`, 3, '{me} is a row: write {me.Id}, or another property of Employees.'],
    [
      'role a\n  read Employees?Id={me.Id}\n',
      2,
      '{me.Id} has no value here: the file has no line such as me Employees?WorkEmail={email}',
    ],
    [`${ME}role a\n  read Employees?Started=>{Today}\n`, 3, 'there is no variable {Today}: write {today}.'],
    [
      'role a\n  read Companies?Name=x{name}\n',
      2,
      '{ and } stand around the name of a variable, which is the whole value of Name. In a text write %7B and %7D.',
    ],
    ['role a\n  read Companies?Name={name}x\n', 2, 'In a text write %7B and %7D.'],
    ['role a\n  read Companies?Name={}\n', 2, 'In a text write %7B and %7D.'],
    ['role a\n  read Companies?Name={na me}\n', 2, 'In a text write %7B and %7D.'],
    ['role a\n  read Companies?Name=%7Bname}\n', 2, 'In a text write %7B and %7D.'],
    ['role a\n  read Companies?Name=!{name}\n', 2, 'In a text write %7B and %7D.'],
    ['role a\n  read Companies?Name[]={names}&Name[]=A\n', 2, 'Name[] with a variable can stand only once'],
    [`${ME}role a\n  read Companies?Id={me.Id}\n`, 3, '{me.Id} is the id of an Employee, and Id the id of a Company.'],
    [
      `${ME}role a\n  read Employees?CompanyId={me.Id}\n`,
      3,
      '{me.Id} is the id of an Employee, and CompanyId the id of a Company.',
    ],
    [
      `${ME}role a\n  read Absences?EmployeeId.CompanyId={me.ManagerId}\n`,
      3,
      '{me.ManagerId} is the id of an Employee, and EmployeeId.CompanyId the id of a Company.',
    ],
    [
      `${ME}role a\n  read Employees?ManagerId[under]={me.CompanyId}\n`,
      3,
      '{me.CompanyId} is the id of a Company, and ManagerId[under] the id of an Employee.',
    ],
    [`${ME}role a\n  read Employees?ManagerId={me.WorkEmail}\n`, 3, '{me.WorkEmail} is a text of at most'],
    [`${ME}role a\n  read Employees?LastName={me.Started}\n`, 3, '{me.Started} is a date-time like'],
    [`${ME}role a\n  read Employees?LastName={today}\n`, 3, '{today} is a date, and LastName must be a text'],
    [`${ME}role a\n  read Employees?ManagerId[]={now}\n`, 3, '{now} is a date-time, and ManagerId must be an integer'],
    [
      'view Directory Employees?CompanyId={company}\n',
      1,
      'a view has no variables: put the condition into the rights to read it.',
    ],
    ['key a\n  read Employees?CompanyId={company}\n', 2, '{company} has no value here: a key is no person.'],
    [`${ME}key a\n  read Employees?Id={me.Id}\n`, 3, '{me.Id} has no value here: a key is no person.'],
    // me
    ['me\n', 1, '"me" is the address of a list, such as me Employees?WorkEmail={email}'],
    ['me Employees\n', 1, '"me" finds the row of a person by a claim, such as me Employees?WorkEmail={email}'],
    ['me Employees?WorkEmail=ann@example.com\n', 1, '"me" finds the row of a person by a claim'],
    ['me Employees?WorkEmail=!={email}\n', 1, '"me" finds the row of a person by a claim'],
    ['me Employees?WorkEmail[begins]={email}\n', 1, '"me" finds the row of a person by a claim'],
    ['me Employees?Id={me.ManagerId}\n', 1, '{me.ManagerId} has no value here: this line finds the row of {me}, by claims.'],
    ['me Employees?WorkEmail={email}&fields=Id\n', 1, 'it asks for rows, and shows none: leave fields out.'],
    ['me Employees?WorkEmail={email}&sort=Id\n', 1, 'a right has filters and fields; sort has no meaning in it.'],
    // Conditions
    ['role a when {groups}\n', 1, '"{groups}" is no condition: write {groups} has hr, or the address of a list that has a row.'],
    ['role a when groups has hr\n', 1, '"groups has hr" is no condition: braces stand around a name. Write {groups} has hr.'],
    [`${ME}role a when me.Department has HR\n`, 2, 'Write {me.Department} has HR.'],
    ['role a when {groups} is hr\n', 1, '"{groups} is hr" is no condition'],
    ['role a when {now} has 2026\n', 1, '{now} is a time, and has no value such as 2026'],
    ['role a when Employees\n', 1, 'a condition without filters says nothing about a person'],
    ['role a when Employees?ManagerId=1&fields=Id\n', 1, 'it asks for rows, and shows none: leave fields out.'],
    ['role a when {groups} has 100%\n', 1, 'has a percent escape that means nothing: write %25 for %.'],
    // Rights that could not do what they say, or would reveal too much
    ['role a\n  create Absences?Employee=Ann\n', 2, 'A new row is checked before it is stored, and Employee is read-only'],
    ['role a\n  read Absences?Status=A&Status=B\n', 2, 'Status=A and Status=B contradict each other'],
    [
      'role a\n  update Absences?Status=A&fields=Reason becomes Status=B\n',
      2,
      '"becomes" names Status, which the right cannot set',
    ],
    [
      'key a\n  read Absences\n  read Absences?Status=A\n',
      3,
      'there is another right to read Absences: a key has one for each verb and collection.',
    ],
  ])('%j has a fault in line %i', (text, line, message) => {
    const [first, ...others] = faultsOf(text)
    expect(first).toMatchObject({ line, message: expect.stringContaining(message) })
    expect(others).toEqual(others.filter((other) => other.line === line))
  })

  test('all faults are reported, in the order of their lines', () => {
    const text = 'role a\n  read Absencs\nrole b when {x\n  read Employees?Id={me.Id}\nfoo\n'
    expect(faultsOf(text).map(({ line }) => line)).toEqual([2, 3, 4, 5])
  })

  test.each<[what: string, lines: string[], faults: [line: number, message: string][]]>([
    [
      'a faulty "me", and a view of an entity that is not known',
      [
        'me Employees?WorkEmail=x',
        'view Directory Employes',
        'role a when {me.Department} has HR',
        '  read Employees?Id={me.Id}',
        '  read Directory?x=y',
      ],
      [
        [1, '"me" finds'],
        [2, 'there is no collection "Employes"'],
      ],
    ],
    [
      'a view with a faulty filter, property or name',
      [
        'view Directory Employees?Departmnt=IT&fields=DisplayName',
        'view Colleagues Employees?fields=Nmae',
        'view team Employees',
        'role a',
        '  read Directory?Department=IT&fields=DisplayName',
        '  read Colleagues',
        '  read Colleagues?Department=IT&fields=JobTitle',
        '  read team?ManagerId=7',
      ],
      [
        [1, 'Departmnt'],
        [2, 'Nmae'],
        [3, '"team" cannot be the name of a view'],
      ],
    ],
  ])('lines that fail only because of %s are not reported themselves', (_what, lines, faults) => {
    expect(faultsOf(lines.join('\n'))).toEqual(
      faults.map(([line, message]) => ({ line, message: expect.stringContaining(message) })),
    )
  })

  test('other faults are reported together with a faulty "me" and faulty views', () => {
    const lines = [
      'me Employees?WorkEmial={email}',
      'view Directory Employees?fields=Id,JobTitel',
      'view Persons Employes',
      'role a when Employees?ManagerId={me.Id}&Departmnt=HR',
      '  raed Directory',
      '  write Directory?Department=IT',
      '  read Directory?Departmnt=IT',
      '  read Directry',
      '  raed Persons?x=y',
      '  read Absences?EmployeeId={me.Id}&Satus=A',
      '  read Companies',
      'role b',
      '  read Companies?fields=Name',
      'key c',
      '  read Companies',
      '  read Companies?Name=A',
    ]
    const faults: [line: number, message: string][] = [
      [1, 'Did you mean WorkEmail?'],
      [2, 'Did you mean JobTitle?'],
      [3, 'Did you mean Employees?'],
      [4, 'Did you mean Department?'],
      [5, '"raed Directory": a right begins with read, create, update, delete or write. Did you mean read?'],
      [6, 'Directory is read-only, since it is a view: give a right to write Employees.'],
      [7, 'Did you mean Department?'],
      [8, 'there is no collection "Directry". Did you mean Directory?'],
      [9, '"raed Persons?x=y": a right begins with'],
      [10, 'Did you mean Status?'],
      [13, 'it reads other properties of Companies than the right in line 11.'],
      [16, 'there is another right to read Companies'],
    ]
    const found = faultsOf(lines.join('\n'))
    expect(found.map(({ line }) => line)).toEqual(faults.map(([line]) => line))
    for (const [line, message] of faults) expect(found.find((one) => one.line === line)?.message).toContain(message)
  })
})

describe('a roles file is refused if it exceeds the limit', () => {
  const rights = (count: number) => Array.from({ length: count }, (_, id) => `  read Absences?Id=${id + 1}`).join('\n')
  test.each([
    ['characters', '#'.repeat(500_001), 'a roles file has up to 500000 characters, and this one has 500001.'],
    ['roles', Array.from({ length: 101 }, (_, index) => `role r${index}`).join('\n'), 'a file has up to 100 roles.'],
    ['keys', Array.from({ length: 201 }, (_, index) => `key k${index}`).join('\n'), 'a file has up to 200 keys.'],
    ['views', Array.from({ length: 51 }, (_, index) => `view V${index}x Companies`).join('\n'), 'a file has up to 50 views.'],
    ['rights of roles', `role a\n${rights(500)}\nrole b\n  read Absences`, 'a file has up to 500 rights of roles.'],
    ['rights of a key', `key a\n${rights(101)}`, 'a file has up to 100 rights of the key a.'],
    ['a right', `role a\n  read Companies?Name=${'x'.repeat(4_000)}`, 'a right has up to 4000 characters.'],
  ])('of %s', (_what, text, message) => {
    expect(faultsOf(text).map((fault) => fault.message)).toContainEqual(expect.stringContaining(message))
  })
})

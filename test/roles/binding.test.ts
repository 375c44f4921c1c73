// Claims are values, never operators, and a claim without a usable value gives no right. D100
import { describe, expect, setSystemTime, test } from 'bun:test'
import type { GrantedRights, Right } from '../../src/model/access.ts'
import type { Filter } from '../../src/model/query.ts'
import { type Claims, parseRoles } from '../../src/roles/roles.ts'
import { entities } from '../support/entities.ts'
import { entityNamed, RoleRows } from '../support/roleRows.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'

const ANN = {
  Id: '7',
  WorkEmail: 'ann@example.com',
  FirstName: 'Ann',
  CompanyId: '5',
  ManagerId: '9',
  Started: '2024-01-31 09:00:00+00',
}
const EVE = { Id: '8', WorkEmail: '', FirstName: 'Eve' }
const MAX = { Id: '9', WorkEmail: 'max@example.com', FirstName: 'Max' }
const rowsOf = () => new RoleRows({ Employees: [ANN, EVE, MAX] })

async function rightsOf(text: string, claims: Claims, { rows = rowsOf(), isEmailVerified = true } = {}): Promise<GrantedRights> {
  return parseRoles(text, entities).rightsOf(claims, rows, isEmailVerified)
}

const textsOf = async (...args: Parameters<typeof rightsOf>) => (await rightsOf(...args)).text.split('\n').filter(Boolean)
/** The only right of a role with one right to read employees. */
const bound = (filter: string, claims: Claims) => textsOf(`role a\n  read Employees?${filter}`, claims)

describe('a value of a claim', () => {
  test.each<[filter: string, claim: unknown, text: string]>([
    // Operators and syntax are texts.
    ['LastName={x}', '!=', 'LastName==!='],
    ['LastName={x}', '!=Doe', 'LastName==!=Doe'],
    ['LastName={x}', '>5', 'LastName==>5'],
    ['LastName={x}', '*', 'LastName=*'],
    ['LastName={x}', '=', 'LastName==='],
    ['LastName={x}', ' ', 'LastName=%20'],
    ['LastName={x}', '%', 'LastName=%25'],
    ['LastName={x}', '%3E%3D5', 'LastName=%253E%253D5'],
    ['LastName={x}', 'A&fields=Id', 'LastName=A%26fields=Id'],
    ['LastName={x}', "'; drop table employee; --", "LastName=';%20drop%20table%20employee;%20--"],
    ['LastName={x}', '{me.Id}', 'LastName=%7Bme.Id%7D'],
    ['LastName={x}', 'A\nread Companies', 'LastName=A%0Aread%20Companies'],
    ['LastName=!={x}', '=Doe', 'LastName=!==Doe'],
    ['LastName=>={x}', '>', 'LastName=>=>'],
    ['LastName[contains]={x}', '>x', 'LastName[contains]=>x'],
    // Types
    ['Id={x}', 7, 'Id=7'],
    ['Id={x}', '7', 'Id=7'],
    ['Id={x}', '007', 'Id=7'],
    ['Started=>={x}', '2024-01-31T10:00:00+01:00', 'Started=>=2024-01-31T09:00:00Z'],
    // Lists
    ['LastName[]={x}', ['Doe', '!=', 'Doe'], 'LastName[]=!=&LastName[]=Doe'],
    ['LastName[]={x}', 'Doe', 'LastName[]=Doe'],
    ['Id[]={x}', [7, '8'], 'Id[]=7&Id[]=8'],
    ['ManagerId[under]={x}', '7', 'ManagerId[under]=7'],
  ])('%s with x = %j becomes %s', async (filter, x, text) =>
    expect(await bound(filter, { x })).toEqual([`read Employees?${text}`]),
  )

  test.each<[filter: string, claim: unknown]>([
    ['LastName={x}', undefined],
    ['LastName={x}', null],
    ['LastName={x}', ''],
    ['LastName=!={x}', ''],
    ['LastName[]={x}', ''],
    ['LastName[]={x}', []],
    ['LastName[]={x}', ['Doe', '']],
    ['LastName[]={x}', ['Doe', null]],
    ['LastName[]={x}', ['Doe', ['Roe']]],
    ['LastName[]={x}', ['Doe', {}]],
    ['LastName={x}', ['Doe']],
    ['LastName={x}', { '=': 'Doe' }],
    ['LastName={x}', {}],
    ['LastName={x}', 5],
    ['LastName={x}', true],
    ['LastName={x}', 'A\0'],
    ['LastName={x}', '\ud800'],
    ['LastName[begins]={x}', '\u0301'],
    ['Id={x}', 'abc'],
    ['Id={x}', '7 or 1=1'],
    ['Id={x}', 1.5],
    ['Id={x}', 2 ** 53],
    ['Id={x}', true],
    ['Id[]={x}', [7, 'abc']],
    ['Started=>={x}', 1706691600],
    ['Started=>={x}', '2024-01-31'],
    ['ManagerId[under]={x}', [7]],
  ])('%s with x = %j gives no right', async (filter, x) => {
    expect(await bound(filter, { x })).toEqual([])
    expect((await rightsOf(`role a\n  read Employees?${filter}`, { x })).accessTo(entityNamed('Employees')).read).toBeNull()
  })

  test('that is a list gives no right if it has more than 1,000 values', async () => {
    const list = (length: number) => Array.from({ length }, (_, index) => index)
    const values = list(1_000).map(String).sort()
    expect(await bound('Id[]={x}', { x: list(1_000) })).toEqual([`read Employees?${values.map((id) => `Id[]=${id}`).join('&')}`])
    expect(await bound('Id[]={x}', { x: list(1_001) })).toEqual([])
  })

  test('that is too long for a property gives no right to create rows with it', async () => {
    const text = 'role a\n  create Absences?Reason={x}&fields=Type\n  read Absences?Reason={x}'
    expect(await textsOf(text, { x: 'y'.repeat(100_000) })).toEqual([`read Absences?Reason=${'y'.repeat(100_000)}`])
  })
})

describe('two values for one property of a new row', () => {
  const file = 'me Employees?WorkEmail={email}\nrole a\n  create Absences?EmployeeId={me.Id}&EmployeeId={x}&fields=Reason'
  test.each<[x: unknown, texts: string[]]>([
    [8, []],
    ['7', ['create Absences?EmployeeId=7&EmployeeId=7&fields=Reason']],
    [undefined, []],
  ])('give no right to create the row unless they are equal: 7 and %p', async (x, texts) =>
    expect(await textsOf(file, { email: ANN.WorkEmail, x })).toEqual(texts),
  )
})

describe('the claim that a variable names', () => {
  test.each<[name: string, claims: Claims, value: string | null]>([
    ['a.b', { 'a.b': 'one', a: { b: 'two' } }, 'one'],
    ['a.b', { a: { b: 'two' } }, 'two'],
    ['a.b.c', { a: { b: { c: 'three' } } }, 'three'],
    ['a.b.c', { 'a.b': { c: 'outer' }, a: { 'b.c': 'inner' } }, 'outer'],
    ['a.b.c', { a: { 'b.c': 'inner' } }, 'inner'],
    ['https://acme.example/unit', { 'https://acme.example/unit': 'IT' }, 'IT'],
    ['a.b', { a: 'text' }, null],
    ['a.0', { a: ['x'] }, null],
    ['a.length', { a: 'text' }, null],
    ['A', { a: 'text' }, null],
    ['constructor', {}, null],
    ['__proto__', {}, null],
    ['toString', {}, null],
    ['constructor.name', {}, null],
  ])('{%s} with the claims %j has the value %j', async (name, claims, value) => {
    expect(await bound(`LastName={${name}}`, claims)).toEqual(value === null ? [] : [`read Employees?LastName=${value}`])
  })
})

describe('the own row of a person ("me")', () => {
  const text = 'me Employees?WorkEmail={email}\nrole a\n  read Employees?Id={me.Id}'

  test('is found by the claim of "me"', async () =>
    expect(await textsOf(text, { email: 'ann@example.com' })).toEqual(['read Employees?Id=7']))

  const UNKNOWN = 'no row of Employees is yours by the roles file, or several are'
  const UNUSABLE = 'the claim email of your token has no value that could be used'
  const NOT_VERIFIED = 'your e-mail address is not verified'
  test.each<[string, Claims, string]>([
    ['an address that nobody has', { email: 'bob@example.com' }, UNKNOWN],
    ['an address in another case', { email: 'Ann@example.com' }, UNKNOWN],
    ['an empty address, although the address of a row is empty', { email: '' }, 'the claim email of your token is empty'],
    ['a missing address, although the address of a row is empty', {}, 'your token has no claim email'],
    ['an address that is not verified', { email: 'ann@example.com' }, NOT_VERIFIED],
    ['an operator', { email: '!=x' }, UNKNOWN],
    ['a list', { email: ['ann@example.com'] }, UNUSABLE],
    ['an object', { email: { '=': 'ann@example.com' } }, UNUSABLE],
  ])('is not found by %s: the person has no rights, and every refusal says why', async (_name, claims, why) => {
    const rights = await rightsOf(text, claims, { isEmailVerified: why !== NOT_VERIFIED })
    expect(rights.text).toBe('')
    expect(rights.refusalOfAll).toBe(`You have no rights: ${why}.`)
    expect(rights.refusal(entityNamed('Absences'), 'read')).toBe(`You have no rights: ${why}.`)
  })

  test('gives no rights if two rows match, not even rights that depend only on a claim', async () => {
    const rows = new RoleRows({ Employees: [ANN, { ...MAX, WorkEmail: ANN.WorkEmail }] })
    const file = `${text}\nrole hr when {groups} has hr\n  read Companies`
    expect(await textsOf(file, { email: ANN.WorkEmail, groups: ['hr'] }, { rows })).toEqual([])
  })

  test.each([
    ['Id={me.Id}', 'Id=7'],
    ['Id={me.ManagerId}', 'Id=9'],
    ['FirstName={me.firstname}', 'FirstName=Ann'],
    ['Started=<={me.Started}', 'Started=<=2024-01-31T09:00:00Z'],
    ['CompanyId={me.CompanyId}&WorkEmail={me.WorkEmail}', 'CompanyId=5&WorkEmail=ann@example.com'],
  ])('provides the values of %s: %s', async (filter, expected) => {
    const file = `me Employees?WorkEmail={email}\nrole a\n  read Employees?${filter}`
    expect(await textsOf(file, { email: 'ann@example.com' })).toEqual([`read Employees?${expected}`])
  })

  test('has no value for an empty property: the person lacks the right that needs it, and has her other rights', async () => {
    const file = `${text}\n  read Companies?Id={me.CompanyId}`
    expect(await textsOf(file, { email: 'max@example.com' })).toEqual(['read Employees?Id=9'])
  })

  test('is read again each time, so that a change counts immediately', async () => {
    const rows = new RoleRows({ Employees: [{ ...ANN }] })
    const roles = parseRoles('me Employees?WorkEmail={email}\nrole a\n  read Companies?Id={me.CompanyId}', entities)
    const claims = { email: ANN.WorkEmail }
    const texts = async () => (await roles.rightsOf(claims, rows, true)).text
    expect(await texts()).toBe('read Companies?Id=5')
    rows.rows.Employees = [{ ...ANN, CompanyId: '6' }]
    expect(await texts()).toBe('read Companies?Id=6')
    rows.rows.Employees = []
    expect(await texts()).toBe('')
  })
})

describe('a role applies', () => {
  test.each<[condition: string, claims: Claims, applies: boolean]>([
    ['{groups} has hr', { groups: ['it', 'hr'] }, true],
    ['{groups} has hr', { groups: 'hr' }, true],
    ['{groups} has HR Team', { groups: ['HR Team'] }, true],
    ['{groups} has a%20%23b', { groups: ['a #b'] }, true],
    ['{realm_access.roles} has hr', { realm_access: { roles: ['hr'] } }, true],
    ['{me.FirstName} has Ann', {}, true],
    ['Employees?ManagerId=9', {}, false],
    ['Employees?Id={me.ManagerId}', {}, true],
    ['{groups} has hr', { groups: ['HR'] }, false],
    ['{groups} has hr', { groups: 'hr it' }, false],
    ['{groups} has hr', { groups: ['hr '] }, false],
    ['{groups} has hr', { groups: [] }, false],
    ['{groups} has hr', {}, false],
    ['{groups} has hr', { groups: { hr: true } }, false],
    ['{groups} has hr', { groups: ['hr', {}] }, false],
    ['{groups} has true', { groups: true }, false],
    ['{groups} has 5', { groups: [5] }, false],
    ['{me.Department} has IT', {}, false],
    ['Employees?ManagerId={me.Id}', {}, false],
    ['Employees?ManagerId={boss}', {}, false],
    ['Employees?ManagerId={boss}', { boss: '' }, false],
  ])('when %s, with the claims %j: %j', async (condition, claims, applies) => {
    const rows = new RoleRows({ Employees: [{ ...ANN, ManagerId: '8' }, EVE, MAX] })
    const file = `me Employees?WorkEmail={email}\nrole a when ${condition}\n  read Companies`
    const texts = await textsOf(file, { email: 'ann@example.com', ...claims }, { rows })
    expect(texts).toEqual(applies ? ['read Companies'] : [])
  })

  test.each([false, true])(
    'to a person as long as somebody reports to her (rows are found asynchronously: %j)',
    async (isLate) => {
      const rows = new RoleRows({ Employees: [ANN, MAX] }, isLate)
      const roles = parseRoles(ROLES_FILE, entities)
      const claims = { email: MAX.WorkEmail }
      const texts = async () => (await roles.rightsOf(claims, rows, true)).text
      expect(await texts()).toContain('read Absences?EmployeeId.ManagerId=9')
      rows.rows.Employees = [{ ...ANN, ManagerId: '7' }, MAX]
      expect(await texts()).not.toContain('EmployeeId.ManagerId')
    },
  )

  test('to everybody if it has no condition and the file has no "me"', async () => {
    expect(await textsOf('role a\n  read Companies', {}, { rows: new RoleRows({}) })).toEqual(['read Companies'])
  })

  test('never to a person if it is the block of a key', async () => {
    const texts = await textsOf(ROLES_FILE, { email: ANN.WorkEmail, groups: ['payroll', 'hr'] })
    expect(texts.filter((text) => text.includes('EmployeeNumber'))).toEqual([])
  })
})

describe('a time in a right', () => {
  const at = async <Result>(time: string, work: () => Promise<Result>) => {
    setSystemTime(new Date(time))
    try {
      return await work()
    } finally {
      setSystemTime()
    }
  }

  test('is in UTC, and {now} is rounded down to the minute', async () => {
    const file = 'role a\n  read Absences?Start=<={now}&End=>={today}'
    expect(await at('2026-11-29T23:59:59.999-01:00', () => textsOf(file, {}))).toEqual([
      'read Absences?Start=<=2026-11-30T00:59:00Z&End=>=2026-11-30T00:00:00Z',
    ])
  })

  test('appears as {now} in the text that signs cursors, and as a value in the key of cached answers', async () => {
    const file = 'role a\n  read Absences?Start=<={now}&Reason={x}'
    const view = (await at('2026-11-29T12:34:56Z', () => rightsOf(file, { x: '{now}' }))).accessTo(entityNamed('Absences')).read
    expect(view?.text).toBe('read Absences?Start=<=2026-11-29T12:34:00Z&Reason=%7Bnow%7D')
    expect(view?.signedText).toBe('read Absences?Start=<={now}&Reason=%7Bnow%7D')
  })

  test('gives one rights object per minute; the objects of different minutes have the same signed text', async () => {
    const roles = parseRoles('role a\n  read Absences?Start=<={now}\nkey k\n  read Absences?Start=<={now}', entities)
    const claims = {}
    const both = () => Promise.all([roles.rightsOf(claims, rowsOf(), true), roles.rightsOfKey('k')])
    const first = await at('2026-11-29T12:34:00Z', both)
    const second = await at('2026-11-29T12:34:59Z', both)
    const third = await at('2026-11-29T12:35:00Z', both)
    for (const which of [0, 1] as const) {
      expect(second[which]).toBe(first[which] as never)
      expect(third[which]).not.toBe(first[which] as never)
      expect(third[which]?.signedText).toBe(first[which]?.signedText as string)
      expect(third[which]?.text).not.toBe(first[which]?.text as string)
    }
  })

  test('voids a right to create while it would set one property to two values, and voids no other right', async () => {
    const file =
      'key k\n  read Companies\n  create Absences?Start={today}&Start={now}&fields=EmployeeId,Type,End,Status,Period,Reason'
    const roles = parseRoles(file, entities)
    const textAt = (time: string) => at(time, async () => roles.rightsOfKey('k')?.text)
    expect(await textAt('2026-11-29T12:34:00Z')).toBe('read Companies')
    expect(await textAt('2026-11-29T00:00:00Z')).toContain('create Absences?Start=2026-11-29T00:00:00Z')
  })
})

describe('rights of several roles', () => {
  const filtersOf = (filters: readonly Filter[] | undefined) => filters?.map(({ property, value }) => `${property.name}=${value}`)

  test('to read one collection give one view, whose text does not depend on the order of roles', async () => {
    const lines = ['role a\n  read Employees?Id={me.Id}', 'role b\n  read Employees?CompanyId={me.CompanyId}']
    const viewOf = async (order: readonly string[]) => {
      const file = ['me Employees?WorkEmail={email}', ...order].join('\n')
      return (await rightsOf(file, { email: ANN.WorkEmail })).accessTo(entityNamed('Employees')).read
    }
    const view = await viewOf(lines)
    expect(view?.text).toBe('read Employees?CompanyId=5 | read Employees?Id=7')
    expect((await viewOf(lines.toReversed()))?.text).toBe(view?.text as string)
    expect(view?.filters.map(({ either }) => either?.map(filtersOf))).toEqual([[['Id=7'], ['CompanyId=5']]])
  })

  test('give the whole entity if one of them does', async () => {
    const rights = await rightsOf(ROLES_FILE, { email: ANN.WorkEmail, groups: ['hr'] })
    expect(rights.accessTo(entityNamed('Employees')).read?.filters).toEqual([])
    expect(rights.accessTo(entityNamed('Employees')).read?.text).toBe('')
  })

  test('are listed in the order of the file, each once', async () => {
    const file = 'role a\n  read Companies\n  write Companies?Enabled=true\nrole b\n  read Companies\n  delete Companies'
    expect(await textsOf(file, {})).toEqual([
      'read Companies',
      'create Companies?Enabled=true',
      'update Companies?Enabled=true',
      'delete Companies?Enabled=true',
      'delete Companies',
    ])
  })

  test('name the first role that gives them, and their text in the file', async () => {
    const file = 'role a\n  write Companies?Name={x}\nrole b\n  read Companies\n  delete Companies?Name={y}'
    const { rights, origins } = await rightsOf(file, { x: 'A', y: 'A' })
    expect(rights.map((right) => [right.text, origins.get(right)?.role, origins.get(right)?.template])).toEqual([
      ['create Companies?Name=A', 'a', 'create Companies?Name={x}'],
      ['update Companies?Name=A', 'a', 'update Companies?Name={x}'],
      ['delete Companies?Name=A', 'a', 'delete Companies?Name={x}'],
      ['read Companies', 'b', 'read Companies'],
    ])
  })

  test('name the role of each person, even if persons of other roles have the same rights', async () => {
    const roles = parseRoles(
      'role a when {g} has a\n  read Companies?Name={x}\nrole b when {g} has b\n  read Companies?Name={y}\n',
      entities,
    )
    const roleOf = async (claims: Claims) => {
      const { rights, origins } = await roles.rightsOf(claims, rowsOf(), true)
      return rights.map((right) => [right.text, origins.get(right)?.role])
    }
    expect(await roleOf({ g: 'a', x: 'A' })).toEqual([['read Companies?Name=A', 'a']])
    expect(await roleOf({ g: 'b', y: 'A' })).toEqual([['read Companies?Name=A', 'b']])
  })

  test('are the same object for all persons with the same rights', async () => {
    const rows = rowsOf()
    const roles = parseRoles('role a\n  read Companies?Name={company}\n', entities)
    const [one, two, other] = await Promise.all(
      [
        { company: 'A', sub: '1' },
        { company: 'A', sub: '2' },
        { company: 'B', sub: '3' },
      ].map((claims) => roles.rightsOf(claims, rows, true)),
    )
    expect(two).toBe(one as never)
    expect(other).not.toBe(one as never)
  })

  test('are cached up to a total size: the rights of 2,500 persons in 150 groups each are not all kept', async () => {
    const roles = parseRoles('role a\n  read Companies?Name[]={groups}\n  read Absences?Id={absence}\n', entities)
    const groupsOf = (person: number) => Array.from({ length: 150 }, (_, place) => `${person}-${place}-`.padEnd(36, 'x'))
    /** The right with the groups; another absence makes other rights of the person, which share it. */
    const rightOf = async (person: number, absence: number) =>
      (await roles.rightsOf({ groups: groupsOf(person), absence }, rowsOf(), true)).rights[0] as Right
    const first = await rightOf(0, 1)
    expect(await rightOf(0, 2)).toBe(first)
    for (let person = 1; person < 2_500; person++) await rightOf(person, 1)
    const last = await rightOf(0, 3)
    expect(last.text).toBe(first.text)
    expect(last).not.toBe(first)
  })

  test('that two persons have in common give both of them the same view object', async () => {
    const file = 'me Employees?WorkEmail={email}\nrole a\n  read Companies?Enabled=true\n  read Employees?Id={me.Id}\n'
    const roles = parseRoles(file, entities)
    const [ann, max] = await Promise.all([ANN, MAX].map(({ WorkEmail: email }) => roles.rightsOf({ email }, rowsOf(), true)))
    expect(ann).not.toBe(max as never)
    expect(ann?.accessTo(entityNamed('Companies')).read).toBe(max?.accessTo(entityNamed('Companies')).read as never)
  })
})

test('rights are returned without a promise if the rows that they depend on are returned without one', () => {
  const roles = parseRoles(ROLES_FILE, entities)
  expect(roles.rightsOf({ email: ANN.WorkEmail }, rowsOf(), true)).not.toBeInstanceOf(Promise)
  expect(roles.rightsOf({ email: ANN.WorkEmail }, new RoleRows({ Employees: [ANN] }, true), true)).toBeInstanceOf(Promise)
})

test('a list that several roles have as their condition is read only once', async () => {
  const rows = rowsOf()
  const roles = parseRoles('role a when Employees?Id=7\n  read Companies\nrole b when employees?id=7\n  read Absences', entities)
  await roles.rightsOf({}, rows, true)
  expect(rows.asked).toBe(1)
})

test('finding the rights fails with the error of the database if the rows that they depend on cannot be read', async () => {
  const failure = new Error('the database is away')
  const questions = { only: () => Promise.reject(failure), some: () => Promise.reject(failure) }
  expect(parseRoles(ROLES_FILE, entities).rightsOf({ email: 'ann@example.com' }, questions, true)).rejects.toBe(failure)
})

test('a right that lacks the value of its claim changes the text that signs cursors, but not the text of the rights', async () => {
  const role = (when: string) =>
    `role all\n  create Absences?fields=EmployeeId\nrole team${when}\n  read Employees?Department={team}`
  const lacking = await rightsOf(role(''), {})
  const without = await rightsOf(role(' when {team} has Sales'), {})
  expect(lacking.text).toBe(without.text)
  expect(lacking.signedText).not.toBe(without.signedText)
})

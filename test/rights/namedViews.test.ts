import { describe, expect, test } from 'bun:test'
import type { Entity, Property } from '../../src/model/entity.ts'
import type { Filter } from '../../src/model/query.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { parseRights } from '../../src/rights/checks.ts'
import { parseRight, RightError } from '../../src/rights/grammar.ts'
import { parseNamedView } from '../../src/rights/namedViews.ts'
import { RightsReader } from '../../src/rights/reader.ts'
import { entities } from '../support/entities.ts'

const entity = (plural: string) => entities.find((one) => one.plural === plural) as Entity
const [absences, employees] = [entity('Absences'), entity('Employees')]
const names = (properties: readonly Property[] | undefined) => properties?.map(({ name }) => name)
const texts = (filters: readonly Filter[] | undefined) =>
  filters?.map(({ property, operator, value }) => `${property.name}${operator.sign}${value ?? ''}`)

const directory = parseNamedView(
  'Directory',
  'Employees?EmploymentEnd=&fields=DisplayName,Department,ManagerId,Manager,JobTitle',
  entities,
)
const team = parseNamedView('Team', 'Employees?CompanyId.Name=Acme', [...entities, directory])
const views = [directory, team]
const collections = [...entities, ...views]
const reader = new RightsReader(entities, views)
const read = (...rights: string[]) => reader.read({ rights: '', addresses: rights.join('\n') })
const list = (rights: string) => reader.read({ rights, addresses: null })

describe('a named view (D105)', () => {
  test('has its own name and path, and properties and conditions of the entity whose rows it shows', () => {
    expect(directory).toMatchObject({ name: 'Directory', plural: 'Directory', table: 'employee', base: employees })
    expect(names(directory.properties)).toEqual(['Id', 'DisplayName', 'Department', 'JobTitle', 'ManagerId', 'Manager'])
    expect(texts(directory.filters)).toEqual(['EmploymentEnd='])
    expect(directory.text).toBe(
      'view Directory Employees?EmploymentEnd=&fields=Id,DisplayName,Department,JobTitle,ManagerId,Manager',
    )
    expect(directory.properties.every((property) => employees.properties.includes(property))).toBe(true)
  })

  test('without fields shows all properties, and its conditions can be on related properties', () => {
    expect(team.properties).toEqual(employees.properties)
    expect(texts(team.filters)).toEqual(['CompanyId.Name=Acme'])
    expect(team.text).toBe('view Team Employees?CompanyId.Name=Acme')
  })

  test.each([
    ['directory', 'Employees', 'must begin with a capital letter'],
    ['Direc-tory', 'Employees', 'must begin with a capital letter'],
    ['', 'Employees', 'must begin with a capital letter'],
    ['D'.repeat(60), 'Employees', 'up to 58 letters A to Z and digits may follow'],
    ['Changes', 'Employees', 'the server has a path /changes of its own'],
    ['RIGHTS', 'Employees', 'the server has a path /rights of its own'],
    ['Livez', 'Employees', 'the server has a path /livez of its own'],
    ['Error', 'Employees', 'the API has a type Error of its own'],
    ['KeyRight', 'Employees', 'the API has a type KeyRight of its own'],
    ['Employees', 'Employees', 'too near to that of the entity Employee, at /Employees'],
    ['EMPLOYEES', 'Employees', 'too near to that of the entity Employee'],
    ['Employee', 'Employees', 'too near to that of the entity Employee'],
    ['EmployeeField', 'Employees', 'too near to that of the entity Employee'],
    ['EmployeeChanges', 'Employees', 'too near to that of the entity Employee'],
    ['DIRECTORY', 'Employees', 'too near to that of the view Directory'],
    ['Other', 'Directory', 'a view shows rows of an entity, and Directory is a view of Employees'],
    ['Other', 'Employes', 'there is no collection "Employes". Did you mean Employees?'],
    ['Other', '', 'a view is a name and the address of a list'],
    ['Other', 'Employees ? Id=5', 'a view is a name and the address of a list'],
    ['Other', 'Employees?Departmnt=IT', 'Employees has no parameter "Departmnt". Did you mean Department?'],
    ['Other', 'Employees?fields=Id,Nmae', 'Nmae'],
    ['Other', 'Employees?sort=Id', 'sort has no meaning in it'],
    ['Other', 'Employees?page=2', 'page has no meaning in it'],
    ['Other', 'Employees?fields=CompanyId.Name', 'CompanyId.Name stands in another row'],
    ['Other', 'Employees?Department=IT&Department=HR', 'contradict each other'],
  ])('is refused as "view %s %s": %s', (name, address, message) => {
    expect(() => parseNamedView(name, address, collections)).toThrow(RightError)
    expect(() => parseNamedView(name, address, collections)).toThrow(message)
  })

  test('is refused beyond 4,000 characters', () => {
    const address = `Employees?Department=${'x'.repeat(4_000)}`
    expect(() => parseNamedView('Other', address, collections)).toThrow('a view has up to 4000 characters')
  })

  test('equals the view that is parsed from its text', () => {
    for (const view of views) {
      const [, name = '', address = ''] = view.text.split(' ')
      expect(parseNamedView(name, address, entities)).toEqual(view)
    }
  })
})

describe('a right to a named view (D105)', () => {
  test.each([
    [' READ /directory ', 'read Directory'],
    ['read DIRECTORY?department=IT&fields=jobTitle', 'read Directory?Department=IT&fields=Id,JobTitle'],
    // As in all rights, filters can be on properties that are not shown.
    ['read Directory?CompanyId.Name=Acme&WorkEmail=a', 'read Directory?CompanyId.Name=Acme&WorkEmail=a'],
  ])('is parsed like a right to an entity: "%s"', (right, text) => {
    expect(parseRight(right, collections)).toMatchObject([{ verb: 'read', collection: directory, text }])
  })

  test.each([
    ['update Directory', 'Directory is read-only, since it is a view: give a right to update Employees.'],
    ['write Directory?Id=1', 'Directory is read-only, since it is a view: give a right to write Employees.'],
    ['create Directory', 'Directory is read-only'],
    ['delete Directory', 'Directory is read-only'],
    ['read Directory?fields=WorkEmail', 'WorkEmail'],
    ['read Directory?Departmnt=IT', 'Directory has no parameter "Departmnt". Did you mean Department?'],
    ['read Directoy', 'Did you mean Directory?'],
  ])('is refused: "%s"', (right, message) => {
    expect(() => parseRight(right, collections)).toThrow(RightError)
    expect(() => parseRight(right, collections)).toThrow(message)
  })

  test('can be combined with a right to the entity, but not with a second right to the same view', () => {
    expect(parseRights(['read Directory', 'read Team', 'read Employees?Id=5'], entities, views)).toHaveLength(3)
    expect(() => parseRights(['read Directory', 'read Directory?Id=5'], entities, views)).toThrow(
      'there is another right to read Directory: a key has one for each verb and collection.',
    )
  })

  test('is refused if its filters contradict those of the view', () => {
    expect(() => parseRights(['read Directory?EmploymentEnd=2026-01-31T00:00:00Z'], entities, views)).toThrow(
      'contradict each other',
    )
  })

  test('must show the names of the rows to which a create may refer, if the key can read copies of these names', () => {
    const creates = 'create Absences?fields=EmployeeId,Type'
    const reads = 'read Absences?fields=Id,EmployeeId,Employee'
    const isRefused = (...others: string[]) => {
      try {
        return parseRights([creates, reads, ...others], entities, views).length === 0
      } catch (error) {
        expect((error as Error).message).toContain('who sets EmployeeId and sees Employee learns DisplayName of all Employees')
        return true
      }
    }
    expect(isRefused()).toBe(true)
    expect(isRefused('read Directory')).toBe(false)
    expect(isRefused('read Directory?fields=Id')).toBe(true)
    expect(isRefused('read Directory', 'read Employees?Id=5&fields=Id')).toBe(true)
    expect(isRefused('read Directory', 'read Employees?Id=5&fields=Id,DisplayName')).toBe(false)
  })
})

describe('access to a named view (D105)', () => {
  test('allows only to read it, with the conditions of the view and of the right', () => {
    const access = read('read Directory?Department=IT&fields=JobTitle').accessTo(directory)
    expect(access).toMatchObject({ whole: employees, create: null, update: null, delete: null })
    expect(access.read).toMatchObject({ name: 'Directory', plural: 'Directory', whole: employees, collection: directory })
    expect(names(access.read?.properties)).toEqual(['Id', 'JobTitle'])
    expect(texts(access.read?.filters)).toEqual(['EmploymentEnd=', 'Department=IT'])
    expect(access.read?.text).toBe(`${directory.text}\nread Directory?Department=IT&fields=Id,JobTitle`)
  })

  test('gives no access to its entity, and access to the entity gives no access to its views', () => {
    expect(read('read Directory').accessTo(employees).read).toBeNull()
    expect(read('read Employees').accessTo(directory).read).toBeNull()
    expect(read('read Team').accessTo(directory).read).toBeNull()
  })

  test('is given by the list *:read, but not by *:write, Employees:read or Directory:read', () => {
    expect(list('*:read').accessTo(directory).read).toMatchObject({
      collection: directory,
      text: `${directory.text}\nread Directory`,
    })
    expect(list('*:read').accessTo(employees).read).toBe(wholeView(employees))
    expect(list('*:read').rights.map(({ text }) => text)).toEqual([
      'read Absences',
      'read Companies',
      'read Employees',
      'read Directory',
      'read Team',
    ])
    for (const rights of ['*:write', 'Employees:read', 'Directory:read'])
      expect([rights, list(rights).accessTo(directory).read]).toEqual([rights, null])
  })

  test('ends when the view is removed: a key with a right to it has no rights any more', () => {
    const without = new RightsReader(entities, [team]).read({ rights: '', addresses: 'read Directory\nread Absences' })
    expect(without.fault).toContain('there is no collection "Directory"')
    expect(without.accessTo(absences).read).toBeNull()
  })

  test('has another text once the definition of the view has changed', () => {
    const other = parseNamedView('Directory', 'Employees?fields=DisplayName,Department,ManagerId,Manager,JobTitle', entities)
    const before = read('read Directory').accessTo(directory).read
    const after = new RightsReader(entities, [other]).read({ rights: '', addresses: 'read Directory' }).accessTo(other).read
    expect(after?.text).not.toBe(before?.text as string)
  })
})

describe('paths and chains of a named view (D105)', () => {
  const viewOf = (...rights: string[]) => read(...rights).accessTo(directory).read as NonNullable<ReturnType<typeof wholeView>>

  test('paths lead to the entity only if the key may read it', () => {
    expect(() => parseList(viewOf('read Directory'), 'ManagerId.Department=IT')).toThrow(
      'You may not read Employees, to which ManagerId leads.',
    )
    const [filter] = parseList(viewOf('read Directory', 'read Employees?Id=5'), 'ManagerId.Department=IT').filters
    expect(filter?.property.related?.view).toMatchObject({ collection: employees, text: 'read Employees?Id=5' })
  })

  test('chains ([under]) lead only through rows of the view', () => {
    for (const rights of [
      ['read Directory'],
      ['read Directory', 'read Employees?fields=Id,DisplayName'],
      ['read Directory', 'read Employees'],
    ]) {
      const view = viewOf(...rights)
      expect(parseList(view, 'ManagerId[under]=5').filters[0]?.chain).toBe(view)
    }
  })
})

import { describe, expect, test } from 'bun:test'
import type { Entity, Property } from '../../src/model/entity.ts'
import type { Filter } from '../../src/model/query.ts'
import { wholeView } from '../../src/model/view.ts'
import { RightsReader } from '../../src/rights/reader.ts'
import { entities } from '../support/entities.ts'

const reader = new RightsReader(entities)
const list = (rights: string) => reader.read({ rights, addresses: null })
const read = (...rights: string[]) => reader.read({ rights: '', addresses: rights.join('\n') })
const entity = (plural: string) => entities.find((one) => one.plural === plural) as Entity
const [absences, companies, employees] = [entity('Absences'), entity('Companies'), entity('Employees')]
const names = (properties: Iterable<Property> | undefined) => [...(properties ?? [])].map(({ name }) => name)
const texts = (filters: readonly Filter[] | undefined) =>
  filters?.map(({ property, operator, value }) => `${property.name}${operator.sign}${value ?? ''}`)

describe('rights in the form of --rights', () => {
  test('give access to all rows and properties, without guards', () => {
    const access = list('*:read,Absences:write').accessTo(absences)
    expect(access.read).toBe(wholeView(absences))
    expect(access.create?.body).toBe(absences)
    expect(access.create?.rights).toMatchObject([{ guard: null, presets: new Map() }])
    expect([access.update?.isComplete, access.update?.guardOf([])]).toEqual([true, null])
    expect(access.delete).toEqual({ guard: null, reaches: [{ filters: [], becomes: null, text: '', signedText: '' }] })
  })

  test('do not include reading in a right to write, nor writing in a right to read', () => {
    expect(list('Companies:write').accessTo(companies)).toMatchObject({ read: null, create: {}, update: {}, delete: {} })
    expect(list('Companies:read').accessTo(companies)).toMatchObject({ create: null, update: null, delete: null })
    expect(list('Companies:read').accessTo(absences).read).toBeNull()
  })

  test('are named in this form, such as Companies:write, by the message that refuses a request', () => {
    expect(list('').refusal(companies, 'update')).toBe('The key does not have the right Companies:write.')
    expect(list('').refusal(companies, 'read')).toBe('The key does not have the right Companies:read.')
  })

  test('are also listed one by one, like rights that are written as addresses', () => {
    expect(list('*:read,Companies:write').rights.map(({ text }) => text)).toEqual([
      'read Absences',
      'read Companies',
      'create Companies',
      'update Companies',
      'delete Companies',
      'read Employees',
    ])
  })

  test('to an entity that no longer exists are ignored', () => {
    expect(list('Gone:read,Companies:read').fault).toBeNull()
    expect(list('Gone:read,Companies:read').accessTo(companies).read).toBe(wholeView(companies))
  })
})

describe('the right to read', () => {
  test('gives a view with its filters and properties', () => {
    const { read: view } = read('read Absences?Status=Approved&fields=Start,Period.Days').accessTo(absences)
    expect(names(view?.properties)).toEqual(['Id', 'Start', 'Period.Days'])
    expect(texts(view?.filters)).toEqual(['Status=Approved'])
    expect(view?.text).toBe('read Absences?Status=Approved&fields=Id,Start,Period.Days')
    expect(view?.whole).toBe(absences)
  })

  test('gives the whole view if it restricts neither rows nor properties', () => {
    expect(read('read Companies').accessTo(companies).read).toBe(wholeView(companies))
    expect(read('read Companies?fields=Id,Name,Enabled').accessTo(companies).read).toBe(wholeView(companies))
  })

  test('is one object for keys with equal rights, and its view is shared by keys that differ in another right', () => {
    const text = 'read Absences?Status=Approved'
    expect(read(text)).toBe(read(text))
    expect(read(text, 'read Companies')).not.toBe(read(text))
    expect(read(text, 'read Companies').accessTo(absences).read).toBe(read(text).accessTo(absences).read as never)
  })

  test('gives no other access', () => {
    const rights = read('read Absences')
    expect(rights.accessTo(absences)).toMatchObject({ create: null, update: null, delete: null })
    expect(rights.accessTo(companies)).toMatchObject({ read: null, create: null, update: null, delete: null })
    expect(rights.refusal(companies, 'create')).toBe('The key does not have the right create Companies.')
  })
})

describe('the right to create', () => {
  test('sets the values of its = filters, and has a guard only for what a body can set', () => {
    const { create } = read('create Absences?Status=New&EmployeeId=7&fields=Reason').accessTo(absences)
    expect([...(create?.rights[0]?.presets ?? [])].map(([{ name }, value]) => [name, value])).toEqual([
      ['Status', 'New'],
      ['EmployeeId', '7'],
    ])
    expect(names(create?.settable)).toEqual(['Reason'])
    expect(create?.rights[0]?.guard).toBeNull()
  })

  test('has a guard that checks the filters on properties that a body can set', () => {
    const { create } = read('create Absences?Status=New&Reason[begins]=A&fields=Status,Reason,EmployeeId').accessTo(absences)
    expect(create?.rights[0]?.guard?.pairs.map(({ before, after }) => [texts(before), texts(after)])).toEqual([
      [[], ['Status=New', 'Reason[begins]A']],
    ])
    expect(create?.rights[0]?.guard?.readable).toBeNull()
  })

  test('lets a body name the properties that the key may set or read', () => {
    const { create } = read('read Absences?fields=Start', 'create Absences?fields=Reason,Period.Days').accessTo(absences)
    expect(names(create?.body.properties)).toEqual(['Id', 'Reason', 'Start', 'Period.Days'])
    expect(names(create?.settable)).toEqual(['Reason', 'Period.Days'])
  })

  test('without fields= lets a body name all properties that clients write or that the key reads', () => {
    const namesOf = (...rights: string[]) =>
      read(...rights)
        .accessTo(absences)
        .create?.body.properties.map(({ name }) => name)
    expect(namesOf('create Absences')).not.toContain('Employee')
    expect(namesOf('create Absences', 'read Absences?fields=Start')).toContain('Reason')
    expect(read('create Absences?EmployeeId=7', 'read Absences').accessTo(absences).create?.body).toBe(absences)
  })

  test('with a filter on a related property checks the referenced row, and does not set the property', () => {
    const { create } = read('create Absences?EmployeeId.CompanyId=5&Status=New&fields=EmployeeId').accessTo(absences)
    expect(names(create?.rights[0]?.presets.keys())).toEqual(['Status'])
    expect(create?.rights[0]?.guard?.pairs.map(({ after }) => texts(after))).toEqual([['EmployeeId.CompanyId=5']])
  })

  test('has a guard that tells whether the key may read the new row', () => {
    const { create } = read('read Companies?Enabled=true', 'create Companies').accessTo(companies)
    expect(texts(create?.rights[0]?.guard?.readable ?? [])).toEqual(['Enabled=true'])
  })
})

describe('references in a write', () => {
  const rights = ['read Absences?fields=Start,End', 'read Employees?CompanyId=5&fields=DisplayName']
  const referencesOf = (...more: string[]) => {
    const { create, update } = read(...rights, ...more).accessTo(absences)
    return [...((create ? create.rights[0]?.guard : update?.guardOf([]))?.references ?? [])].map(([{ name }, filters]) => [
      name,
      texts(filters),
    ])
  }

  test('must name rows that the key may read', () => {
    expect(referencesOf('create Absences')).toEqual([['EmployeeId', ['CompanyId=5']]])
    expect(referencesOf('update Absences?fields=EmployeeId')).toEqual([['EmployeeId', ['CompanyId=5']]])
    expect(referencesOf('create Absences?EmployeeId=!=7')).toEqual([['EmployeeId', ['CompanyId=5']]])
  })

  test('are not checked if the right itself sets them, or does not let the key set them', () => {
    expect(referencesOf('create Absences?EmployeeId=7')).toEqual([])
    expect(referencesOf('update Absences?fields=EmployeeId becomes EmployeeId=7')).toEqual([])
    expect(referencesOf('update Absences?fields=Reason')).toEqual([])
  })

  test('are not checked if the right to read the rows that they name has no filters', () => {
    const { create } = read('read Employees', 'create Absences').accessTo(absences)
    expect(create?.rights[0]?.guard).toBeNull()
  })
})

describe('the right to update', () => {
  const admittedBy = (...rights: string[]) => {
    const guard = read(...rights)
      .accessTo(employees)
      .update?.guardOf([])
    return guard?.pairs.map(({ before, after }) => ({ before: texts(before), after: texts(after) }))
  }

  test('checks all its filters before the update, and after it the filters on properties that the key may change', () => {
    expect(admittedBy('update Employees?CompanyId=5&Status=New&fields=Status,WorkPhone')).toEqual([
      { before: ['CompanyId=5', 'Status=New'], after: ['Status=New'] },
    ])
  })

  test('checks after the update also the filters on properties that `becomes` does not name', () => {
    expect(admittedBy('update Employees?CompanyId=5&Status=New&fields=CompanyId,Status becomes Status=Current')).toEqual([
      { before: ['CompanyId=5', 'Status=New'], after: ['Status=Current', 'CompanyId=5'] },
    ])
  })

  test('checks a filter on a related property after the update too, if the key may change the reference', () => {
    const admitted = (right: string) => {
      const guard = read(right).accessTo(absences).update?.guardOf([])
      return guard?.pairs.map(({ before, after }) => [texts(before), texts(after)])
    }
    const path = 'EmployeeId.CompanyId=5'
    expect(admitted(`update Absences?${path}&fields=Status`)).toEqual([[[path], []]])
    expect(admitted(`update Absences?${path}&fields=EmployeeId`)).toEqual([[[path], [path]]])
    expect(admitted(`update Absences?${path}&fields=EmployeeId becomes EmployeeId.CompanyId=6`)).toEqual([
      [[path], ['EmployeeId.CompanyId=6']],
    ])
    expect(admitted(`update Absences?${path}&fields=EmployeeId becomes EmployeeId=7`)).toEqual([[[path], ['EmployeeId=7', path]]])
  })

  test('is complete, as PUT needs it, only if the key may set all writable properties', () => {
    expect(read('update Companies').accessTo(companies).update?.isComplete).toBe(true)
    expect(read('update Companies?fields=Name,Enabled').accessTo(companies).update?.isComplete).toBe(true)
    expect(read('update Companies?fields=Name').accessTo(companies).update?.isComplete).toBe(false)
  })

  test('has a guard if the key may not read all rows, and none if it may', () => {
    expect(read('read Companies?fields=Name', 'update Companies?fields=Name').accessTo(companies).update?.guardOf([])).toBeNull()
    const guard = read('read Companies?Enabled=true', 'update Companies').accessTo(companies).update?.guardOf([])
    expect(texts(guard?.readable ?? [])).toEqual(['Enabled=true'])
  })
})

describe('the right to delete', () => {
  test('checks the row before the deletion', () => {
    const { delete: remove } = read('delete Absences?Status=Declined').accessTo(absences)
    expect(remove?.guard?.pairs.map(({ before, after }) => [texts(before), texts(after)])).toEqual([[['Status=Declined'], []]])
  })

  test('without filters has no guard', () => {
    expect(read('read Companies?Enabled=true', 'delete Companies').accessTo(companies).delete).toMatchObject({ guard: null })
  })
})

describe('the shape of a guard', () => {
  const shapeOf = (...rights: string[]) =>
    read(...rights)
      .accessTo(absences)
      .update?.guardOf([])?.shape

  test('is equal for guards that differ only in values', () => {
    expect(shapeOf('update Absences?Status=A&fields=Status')).toBe(shapeOf('update Absences?Status=B&fields=Status') as string)
  })

  test('differs if the SQL of the guards differs', () => {
    const readable = 'read Absences?Status=A&fields=Id'
    const shapes = [
      shapeOf('update Absences?Status=A&fields=Reason'),
      shapeOf('update Absences?Status=A&fields=Status'),
      shapeOf('update Absences?Status=!=A&fields=Reason'),
      shapeOf('update Absences?Status=&fields=Reason'),
      shapeOf('update Absences?Status[]=A&fields=Reason'),
      shapeOf('update Absences?Status[]=A&Status[]=&fields=Reason'),
      shapeOf('update Absences?Status=A&fields=Reason', readable),
      shapeOf('update Absences?Status=A&fields=Reason', 'read Absences?fields=Id'),
      shapeOf('update Absences?Status=A&fields=Reason,EmployeeId', 'read Employees?CompanyId=5'),
      shapeOf('update Absences?Status=A&fields=Reason,EmployeeId', 'read Employees?CompanyId=!=5'),
    ]
    expect(new Set(shapes).size).toBe(shapes.length)
  })
})

describe('paths of a key', () => {
  const reference = absences.properties.find(({ name }) => name === 'EmployeeId') as Property
  const manager = employees.properties.find(({ name }) => name === 'ManagerId') as Property
  const target = (...rights: string[]) =>
    read('read Absences', ...rights)
      .accessTo(absences)
      .read?.related(reference)

  test('lead only to rows and properties that the key may read, at each step', () => {
    const view = target('read Employees?Department=Sales&fields=Department,ManagerId')
    expect(names(view?.properties)).toEqual(['Id', 'Department', 'ManagerId'])
    expect(texts(view?.filters)).toEqual(['Department=Sales'])
    expect(view?.related(manager)).toBe(view as never)
    expect(target('read Companies')).toBeNull()
    expect(target('create Employees')).toBeNull()
    expect(target('read Employees', 'read Companies')).toBe(wholeView(employees))
  })

  test('in the filters of a right may lead to rows that the key itself may not read', () => {
    const [filter] = read('read Absences?EmployeeId.ManagerId[under]=7').accessTo(absences).read?.filters ?? []
    expect(filter?.property.related?.view).toBe(wholeView(employees))
    expect(filter?.chain).toBe(wholeView(employees))
  })

  test('give answers different cache keys if they lead to different rows or properties', () => {
    const textOf = (...rights: string[]) => read('read Absences', ...rights).accessTo(absences).read?.relatedText
    const texts = [
      textOf(),
      textOf('read Employees'),
      textOf('read Employees?fields=Department'),
      textOf('read Employees?Department=Sales'),
      textOf('read Employees?Department=Staff'),
      textOf('read Employees', 'read Companies'),
      textOf('read Employees', 'read Companies?Id=5'),
      textOf('read Employees?fields=Department', 'read Companies?Id=5'),
    ]
    expect(new Set(texts).size).toBe(texts.length)
    expect(texts[5]).toBe('')
    // Rights to rows to which no path leads make no difference.
    expect(textOf('read Companies')).toBe(textOf() as string)
    expect(textOf('update Employees?fields=Title')).toBe(textOf() as string)
  })

  test('lead to whole entities if the rights have the form of --rights', () => {
    expect(list('*:read').accessTo(absences).read).toBe(wholeView(absences))
    const view = list('Absences:read,Employees:read').accessTo(absences).read
    expect([view?.text, view?.relatedText]).toEqual(['', '-Companies'])
    expect(view?.related(reference)?.related(manager)).toBe(view?.related(reference) as never)
    expect(list('Absences:read').accessTo(absences).read?.related(reference)).toBeNull()
  })
})

describe('rights that do not fit the entities', () => {
  test.each([
    ['read Absences?EmployeeId.Gone=1', 'Employees have no property "Gone"'],
    ['read Absences?GoneId.Name=1', 'Absences has no parameter "GoneId.Name"'],
    ['read Absences?Gone=1', 'Absences has no parameter "Gone"'],
    ['read Companies\nread Planets', 'there is no collection "Planets"'],
    ['read Companies\nread Companies?Enabled=true', 'there is another right to read Companies'],
    ['', 'a right is a verb'],
  ])('%j gives no rights, and a fault says why', (text, fault) => {
    const rights = read(text)
    expect(rights.fault).toContain(fault)
    expect(rights.rights).toEqual([])
    for (const one of entities)
      expect(rights.accessTo(one)).toMatchObject({ read: null, create: null, update: null, delete: null })
  })
})

test('A list of rights is ignored if a key also has rights as addresses', () => {
  expect(reader.read({ rights: '*:read', addresses: 'read Companies' }).accessTo(absences).read).toBeNull()
})

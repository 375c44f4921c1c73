import { describe, expect, test } from 'bun:test'
import { boolean, computed, copied, defineEntity, identity, integer, reference, text } from '../../src/model/entity.ts'
import { parseRights } from '../../src/rights/checks.ts'
import { RightError } from '../../src/rights/grammar.ts'
import { entities } from '../support/entities.ts'

const accepts = (rights: string[]) => expect(() => parseRights(rights, entities)).not.toThrow()
const refuses = (rights: string[], message: string) => {
  expect(() => parseRights(rights, entities)).toThrow(RightError)
  expect(() => parseRights(rights, entities)).toThrow(message)
}

describe('rights that are accepted', () => {
  test.each<[string, string[]]>([
    ['everything', ['read Companies', 'read Employees', 'read Absences', 'write Companies', 'write Employees', 'write Absences']],
    [
      'payroll',
      [
        'read Absences?Status=Approved&fields=Id,EmployeeId,Start,End,Period',
        'read Employees?fields=Id,EmployeeNumber,CompanyId,Started,EmploymentEnd',
      ],
    ],
    ['applicants', ['create Employees?Status=New&fields=FirstName,LastName,WorkEmail,JobTitle,CompanyId,Started']],
    [
      'a desk that decides',
      [
        'read Absences',
        'update Absences?Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined',
        'read Employees',
      ],
    ],
    ['a read of a copied property', ['read Absences?Employee[begins]=A&fields=Employee']],
    ['an update by a copied property whose reference it leaves', ['update Employees?Company=Acme&fields=WorkPhone']],
    ['an update by an id', ['update Employees?Id=7&fields=WorkPhone']],
    ['a deletion by a copied property', ['delete Employees?Company=Acme']],
    [
      'a preset of a number and a date-time',
      ['create Absences?EmployeeId=7&Start=2024-01-01T00:00:00Z&Period.Days=1.5&fields=Reason'],
    ],
    ['a preset with another filter by the same property', ['create Absences?Status=New&Status=!=Old&fields=Reason']],
    ['a preset without a value', ['create Absences?Reason=&fields=EmployeeId']],
    ['a read by a path', ['read Absences?EmployeeId.Company=Acme&EmployeeId.ManagerId[under]=7&fields=Start']],
    ['a create by a path, whose reference it may set', ['create Absences?EmployeeId.CompanyId=5&fields=EmployeeId']],
    ['a create by a path, whose reference it sets', ['create Absences?EmployeeId=7&EmployeeId.EmploymentEnd=&fields=Reason']],
    ['a create by a path to a copied property of another row', ['create Absences?EmployeeId.Company=Acme']],
    ['an update by a path, whose reference it leaves', ['update Absences?EmployeeId.DisplayName[begins]=A&fields=Status']],
    ['an update by a path, whose reference it may set', ['update Absences?EmployeeId.CompanyId=5&fields=EmployeeId']],
    ['becomes by a path', ['update Absences?fields=EmployeeId becomes EmployeeId.CompanyId=5']],
    ['a deletion by a path', ['delete Absences?EmployeeId.ManagerId[under]=7']],
  ])('for %s', (_name, rights) => accepts(rights))
})

describe('a second right of one verb to one collection', () => {
  test.each([
    [['read Absences', 'read Absences?Status=Approved'], 'there is another right to read Absences'],
    [['write Absences?Status=A', 'delete Absences'], 'there is another right to delete Absences'],
  ])('%j is refused', refuses)
})

describe('filters that no row matches together', () => {
  const both = (one: string, other: string) => `${one} and ${other} contradict each other: no row matches all of them.`
  test.each([
    [['read Absences?Status=A&Status=B'], both('Status=A', 'Status=B')],
    [['create Absences?Status=A&Status=B'], both('Status=A', 'Status=B')],
    [['delete Absences?Type=x&Status=A&Status='], both('Status=A', 'Status=')],
    [['update Absences?Status=New&fields=Status becomes Status=A&Status=B'], both('Status=A', 'Status=B')],
    [['update Absences?EmployeeId=1&EmployeeId=2&fields=Status'], both('EmployeeId=1', 'EmployeeId=2')],
    [['read Absences?Status[]=A&Status[]=B&Status=C'], both('Status[]=A&Status[]=B', 'Status=C')],
    [['read Absences?Status=A&Status=!=A'], both('Status=A', 'Status=!=A')],
    [['read Absences?Status=&Status=!='], both('Status=', 'Status=!=')],
    [['read Companies?Enabled=true&Enabled=FALSE'], both('Enabled=true', 'Enabled=false')],
    [
      ['read Absences?Start=2024-01-01T00:00:00Z&Start=2024-01-01T00:00:01Z'],
      both('Start=2024-01-01T00:00:00Z', 'Start=2024-01-01T00:00:01Z'),
    ],
  ])('%j are refused', refuses)

  test.each([
    'read Absences?Status=A&Type=B',
    'read Absences?Status[]=A&Status[]=B&Status=!=A',
    'read Absences?Status=!=A&Status=!=B&Status=!=',
    'read Absences?Start=2024-01-01T00:00:00Z&Start=2024-01-01T01:00:00%2B01:00&Period.Days=1&Period.Days=1.0',
    'read Absences?Start=>2024-01-01T00:00:00Z&Start=<2025-01-01T00:00:00Z&fields=Id',
    'update Absences?Status=New&fields=Status becomes Status=Approved',
  ])('%s is accepted, since a row can match all its filters', (right) => accepts([right]))
})

describe('a right to create', () => {
  test.each([
    [
      ['create Employees?Company=Acme'],
      'A new row is checked before it is stored, and Company is read-only: filter by CompanyId.',
    ],
    [['write Employees?Company=Acme'], '"create Employees?Company=Acme": A new row is checked'],
    [
      ['create Employees?DisplayName=Ann&fields=FirstName'],
      'DisplayName is read-only: filter by FirstName, LastName or KnownAs.',
    ],
    [['create Employees?Id=5'], 'Id is read-only: leave Id out.'],
    [
      ['create Absences?Start=>=2024-01-01T00:00:00Z&fields=Reason'],
      'no new row has a value of Start: add it to fields, or set it, as in Start=<value>.',
    ],
    [['create Absences?Status[]=A&Status[]=B&fields=Reason'], 'no new row has a value of Status'],
    [
      ['create Absences?EmployeeId.CompanyId=5&fields=Reason'],
      'no new row has a value of EmployeeId: add it to fields, or set it, as in EmployeeId=<value>.',
    ],
    [['create Employees?ManagerId[under]=5&fields=FirstName'], 'no new row has a value of ManagerId'],
    [
      ['create Absences?EmployeeId.CompanyId=5&EmployeeId.CompanyId=6'],
      'EmployeeId.CompanyId=5 and EmployeeId.CompanyId=6 contradict each other: no row matches all of them.',
    ],
    [[`create Absences?Reason=${'x'.repeat(101)}`], 'it sets Reason, which must be a text of at most 100 characters.'],
    [['create Absences?Period.Days=-1'], 'it sets Period.Days, which must be a number of 0 or more'],
    [['create Companies?Enabled='], 'Enabled'],
  ])('%j is refused', refuses)

  const note = defineEntity('Note', {
    id: identity(),
    title: text({ required: true }),
    size: integer({ min: 1, max: 9, required: true }),
    done: boolean(),
  })
  const parse = (right: string) => () => parseRights([right], [note])

  test('is refused unless it can set all required properties, by fields or by its filters', () => {
    expect(parse('create Notes?fields=Done')).toThrow(
      'a row needs Title and Size: add it to fields, or set it, as in Title=<value>.',
    )
    expect(parse('create Notes?fields=Title')).toThrow('a row needs Size: add it to fields, or set it, as in Size=<value>.')
    expect(parse('create Notes?Title=&fields=Size')).toThrow(
      'Title cannot be empty: it must be a text of at most 200 characters.',
    )
    expect(parse('create Notes?Size=10&fields=Title')).toThrow('it sets Size, which must be an integer from 1 to 9.')
    expect(parse('create Notes?Size=9&fields=Title')).not.toThrow()
    expect(parse('create Notes')).not.toThrow()
  })
})

describe('a right to update', () => {
  test.each([
    [
      ['update Employees?fields=CompanyId becomes Company=Acme'],
      'A changed row is checked before it is stored, and Company is read-only: filter by CompanyId.',
    ],
    [
      ['update Absences?fields=Reason becomes Status=Approved'],
      '"becomes" names Status, which the right cannot set: add it to fields.',
    ],
    [
      ['update Absences?fields=Reason becomes EmployeeId.CompanyId=5'],
      '"becomes" names EmployeeId, which the right cannot set: add it to fields.',
    ],
    [
      ['update Employees?Company=Acme'],
      'who changes CompanyId moves the row out of Company=Acme: leave CompanyId out of fields, or filter by CompanyId.',
    ],
    [
      ['update Employees?DisplayName[begins]=A&fields=LastName'],
      'who changes LastName moves the row out of DisplayName[begins]=A',
    ],
  ])('%j is refused', refuses)
})

describe('rights that could reveal the sources of a computed property', () => {
  test.each([
    [
      ['read Employees?fields=DisplayName', 'update Employees?fields=KnownAs'],
      'who sets KnownAs and sees DisplayName learns FirstName and LastName: add FirstName,LastName to the fields of its right to read, or leave KnownAs out of fields.',
    ],
    [['read Employees?fields=DisplayName,LastName', 'update Employees?fields=KnownAs'], 'learns FirstName:'],
    [['read Employees?DisplayName[begins]=A&fields=Id', 'update Employees?fields=KnownAs'], 'learns FirstName and LastName:'],
  ])('%j is refused', refuses)

  test.each<[string[]]>([
    [['read Employees?fields=DisplayName,FirstName,LastName', 'update Employees?fields=KnownAs']],
    [['read Employees?fields=JobTitle', 'update Employees?fields=KnownAs']],
    [['read Employees?fields=DisplayName', 'update Employees?fields=JobTitle']],
    [['read Employees?fields=DisplayName', 'create Employees?fields=KnownAs']],
  ])('%j is accepted', accepts)
})

describe('rights to change one of two properties that a rule compares', () => {
  const rule = 'End must not be before Start'
  test.each([
    [
      ['update Absences?fields=End'],
      `${rule}, so who may change one must be able to read both: give a right to read with fields=Start,End`,
    ],
    [['update Absences'], rule],
    [['read Absences?fields=End', 'update Absences?fields=End'], rule],
    [['read Absences?fields=Start', 'update Absences?fields=Start,Reason'], rule],
    [
      ['read Absences?Status=Approved', 'update Absences?fields=Start', 'read Employees'],
      `${rule}, so who may change one must be able to read the row: add Status=Approved, as in the right to read`,
    ],
    [['read Absences?Status=A', 'update Absences?Status[]=A&Status[]=B&fields=End', 'read Employees'], 'add Status=A'],
    [['read Absences?Status=A', 'update Absences?Type=A&fields=End', 'read Employees'], 'add Status=A'],
    [['read Absences?Status=!=A', 'update Absences?Status=!=B&fields=End', 'read Employees'], 'add Status=!=A'],
    [
      ['read Absences?EmployeeId.ManagerId=7', 'update Absences?EmployeeId.ManagerId=8&fields=End', 'read Employees'],
      'add EmployeeId.ManagerId=7, as in the right to read',
    ],
  ])('%j is refused', refuses)

  test.each<[string[]]>([
    [['read Absences?fields=Start,End', 'update Absences?fields=End']],
    [['read Absences?Status=A&fields=Start,End', 'update Absences?Status=A&fields=End']],
    [['read Absences?Status[]=A&Status[]=B&fields=Start,End', 'update Absences?Status=A&EmployeeId=7&fields=End']],
    [['read Absences?EmployeeId.ManagerId[]=7&EmployeeId.ManagerId[]=8', 'update Absences?EmployeeId.ManagerId=7&fields=End']],
    [['update Absences?fields=Reason']],
    [['create Absences?fields=End']],
  ])('%j is accepted', accepts)
})

describe('rights that could reveal a copied name', () => {
  test.each([
    [
      ['read Absences', 'create Absences'],
      'who sets EmployeeId and sees Employee learns DisplayName of all Employees: give a right to read Employees with fields=DisplayName, or leave Employee out of its rights to Absences.',
    ],
    [['read Absences', 'create Absences', 'read Employees?fields=FirstName'], 'learns DisplayName of all Employees'],
    [['read Absences', 'create Absences', 'create Employees'], 'learns DisplayName of all Employees'],
    [['read Absences', 'create Absences?EmployeeId=!=7'], 'learns DisplayName of all Employees'],
    [['read Absences', 'update Absences?fields=EmployeeId'], 'learns DisplayName of all Employees'],
    [['read Employees?fields=Manager', 'update Employees?fields=ManagerId'], 'learns DisplayName of all Employees'],
    [['read Employees', 'update Employees?fields=CompanyId'], 'learns Name of all Companies'],
    [['read Absences?Employee[begins]=A&fields=Reason', 'create Absences'], 'learns DisplayName of all Employees'],
    [['delete Absences?Employee[begins]=A', 'create Absences?fields=EmployeeId'], 'learns DisplayName of all Employees'],
    [
      ['read Absences?EmployeeId.Company=Acme', 'update Employees?fields=CompanyId'],
      'learns Name of all Companies: give a right to read Companies with fields=Name, or leave Company out of its rights to Absences.',
    ],
  ])('%j is refused', refuses)

  test.each<[string[]]>([
    [['read Absences', 'create Absences', 'read Employees?fields=DisplayName']],
    [['read Absences', 'create Absences', 'read Employees?CompanyId=5&fields=DisplayName']],
    [['read Absences?fields=EmployeeId', 'create Absences']],
    [['read Absences', 'create Absences?EmployeeId=7']],
    [['read Absences', 'update Absences?fields=Reason']],
    [['read Employees?fields=Manager,DisplayName', 'update Employees?fields=ManagerId']],
  ])('%j is accepted', accepts)

  test('are also refused if a property that is computed from the name shows it', () => {
    const box = defineEntity('Box', { id: identity(), label: text() })
    const item = defineEntity('Item', {
      id: identity(),
      name: text(),
      boxId: reference('Box'),
      box: copied('boxId', 'label'),
      place: computed(['name', 'box']),
      title: computed(['place']),
    })
    const parse =
      (...rights: string[]) =>
      () =>
        parseRights(rights, [box, item])
    expect(parse('read Items?fields=Box', 'create Items')).toThrow('who sets BoxId and sees Box learns Label of all Boxs')
    expect(parse('read Items?fields=Title', 'create Items')).toThrow('who sets BoxId and sees Title learns Label of all Boxs')
    expect(parse('read Items?fields=Title', 'create Items?fields=Name')).not.toThrow()
    expect(parse('update Items?Title[begins]=A')).toThrow('who changes Name moves the row out of Title[begins]=A')
    expect(parse('update Items?Title[begins]=A&fields=BoxId')).toThrow('leave BoxId out of fields, or filter by Name or BoxId.')
  })

  describe('in a computed property that other collections copy', () => {
    const box = defineEntity('Box', { id: identity(), label: text() })
    const item = defineEntity('Item', {
      ...{ id: identity(), name: text(), boxId: reference('Box'), box: copied('boxId', 'label') },
      place: computed(['name', 'box']),
    })
    const part = defineEntity('Part', {
      ...{ id: identity(), size: text(), itemId: reference('Item'), item: copied('itemId', 'place') },
      title: computed(['size', 'item']),
    })
    const note = defineEntity('Note', { id: identity(), partId: reference('Part'), part: copied('partId', 'title') })
    const declared = [note, part, item, box]
    const learns = (seen: string) => `who sets BoxId and sees ${seen} learns Label of all Boxs`
    const UPDATE = 'update Items?fields=BoxId'

    test.each([
      [[UPDATE, 'read Parts?fields=Item'], learns('Item')],
      [[UPDATE, 'read Parts?fields=Title'], learns('Title')],
      [[UPDATE, 'read Parts?Item[begins]=A&fields=Id'], learns('Item')],
      [[UPDATE, 'delete Parts?Title=A'], learns('Title')],
      [
        [UPDATE, 'read Notes?fields=Part'],
        `${learns('Part')}: give a right to read Boxs with fields=Label, or leave Part out of its rights to Notes.`,
      ],
      [['create Items', 'read Notes'], learns('Part')],
    ])('%j is refused', (rights, message) => {
      expect(() => parseRights(rights, declared)).toThrow(message)
    })

    test.each([
      [[UPDATE, 'read Parts?fields=Size,ItemId', 'read Notes?fields=PartId']],
      [[UPDATE, 'read Notes', 'read Boxs?fields=Label']],
      [['update Items?fields=Name', 'read Notes']],
    ])('%j is accepted', (rights) => {
      expect(() => parseRights(rights, declared)).not.toThrow()
    })
  })
})

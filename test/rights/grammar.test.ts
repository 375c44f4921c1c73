import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Right } from '../../src/model/access.ts'
import {
  boolean,
  computed,
  date,
  decimal,
  defineEntity,
  group,
  identity,
  instant,
  integer,
  linkReferences,
  oneOf,
  reference,
  text,
} from '../../src/model/entity.ts'
import { operators } from '../../src/model/operators.ts'
import { parseRight, RightError } from '../../src/rights/grammar.ts'
import { entities } from '../support/entities.ts'

const parse = (right: string) => parseRight(right, entities)
const canonical = (right: string) => parse(right).map((one) => one.text)

describe('the canonical form', () => {
  test.each([
    ['read Absences', 'read Absences'],
    [' READ  /absences ', 'read Absences'],
    ['read absences?status=Approved&FIELDS=start,id', 'read Absences?Status=Approved&fields=Id,Start'],
    ['read Absences?fields=Start', 'read Absences?fields=Id,Start'],
    ['read Absences?fields=Period.Days&fields=Reason', 'read Absences?fields=Id,Reason,Period.Days'],
    [
      'read Absences?fields=Period.Days,Period.Hours,Period.Prefered',
      'read Absences?fields=Id,Period.Prefered,Period.Days,Period.Hours',
    ],
    ['read Absences?Status[any]=B&Status[]=A&Status[]=B&Status[]=', 'read Absences?Status[]=A&Status[]=B&Status[]='],
    ['read Absences?Period.Days=>=0.50', 'read Absences?Period.Days=>=0.5'],
    ['read Absences?Status=!=&EmployeeId=', 'read Absences?Status=!=&EmployeeId='],
    ['read Absences?Start=>=2024-01-31T10:00:00%2B01:00', 'read Absences?Start=>=2024-01-31T09:00:00Z'],
    ['read Companies?Name=A+%26 B', 'read Companies?Name=A%20%26%20B'],
    ['read Companies?Name==>5', 'read Companies?Name==>5'],
    ['read Companies?Name===', 'read Companies?Name==='],
    ['read Companies?Name=100%25%2B%23', 'read Companies?Name=100%25%2B%23'],
    ['read Companies?Name=Zoë%0A', 'read Companies?Name=Zoë%0A'],
    ['read Companies?Name=a%20becomes%20b', 'read Companies?Name=a%20becomes%20b'],
    ['read Companies?Name=\ud800', 'read Companies?Name=\ufffd'],
    ['read Companies?Name[contains]=>x&Enabled=TRUE', 'read Companies?Name[contains]=>x&Enabled=true'],
    ['delete Absences?Status=Declined', 'delete Absences?Status=Declined'],
    ['read absences?employeeid.companyid=05', 'read Absences?EmployeeId.CompanyId=5'],
    ['read Absences?EMPLOYEEID.companyId.NAME=!=A+B', 'read Absences?EmployeeId.CompanyId.Name=!=A%20B'],
    [
      'read Absences?EmployeeId.Department[any]=B&employeeId.department[]=A',
      'read Absences?EmployeeId.Department[]=A&EmployeeId.Department[]=B',
    ],
    ['read Absences?employeeId.managerId[UNDER]=07', 'read Absences?EmployeeId.ManagerId[under]=7'],
    ['delete Employees?managerid[under]=7', 'delete Employees?ManagerId[under]=7'],
    [
      'update Absences?employeeId.managerId=7&fields=EmployeeId becomes employeeId.managerId=>7',
      'update Absences?EmployeeId.ManagerId=7&fields=EmployeeId becomes EmployeeId.ManagerId=>7',
    ],
    [
      'update Absences?status=Requested&fields=status  becomes  Status[]=Declined&Status[]=Approved',
      'update Absences?Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined',
    ],
  ])('of "%s" is "%s"', (given, wanted) => {
    expect(canonical(given)).toEqual([wanted])
    expect(canonical(wanted)).toEqual([wanted])
  })

  test('of a right to write is three rights: to create, to update and to delete', () => {
    const three = ['create Companies?Enabled=true', 'update Companies?Enabled=true', 'delete Companies?Enabled=true']
    expect(canonical('write Companies?Enabled=true')).toEqual(three)
  })

  test('of a right to update has the properties that its fields name', () => {
    const [right] = parse('update Employees?fields=WorkPhone,WorkMobile')
    expect(right?.properties?.map(({ name }) => name)).toEqual(['WorkPhone', 'WorkMobile'])
  })

  test('of a right without fields has null for its properties, which means all', () => {
    expect(parse('read Employees')[0]?.properties).toBeNull()
  })
})

test('"constructor", a member of every JavaScript object, is refused as an unknown verb', () => {
  expect(() => parse('constructor Companies')).toThrow(/delete or write\.$/)
})

describe('a text that is no right', () => {
  test.each([
    ['', 'a right is a verb and the address of a list'],
    ['read', 'a right is a verb and the address of a list'],
    ['Absences', 'a right is a verb and the address of a list'],
    ['read Employees&fields=Id', 'a right is a verb and the address of a list'],
    ['Companies:read', 'give rights of this form to --rights.'],
    ['Companies:read,*:write', 'give rights of this form to --rights.'],
    ['raed Companies', 'a right begins with read, create, update, delete or write. Did you mean read?'],
    ['GET Companies', 'For GET write read.'],
    ['patch Companies', 'For patch write update.'],
    ['read Compnies', 'there is no collection "Compnies". Did you mean Companies?'],
    ['read Planets', 'there is no collection "Planets". There are Absences, Companies, Employees.'],
    ['read *', 'a right names one collection: give one for each, or --rights *:read.'],
    ['read Absences?Statsu=Approved', 'Absences has no parameter "Statsu". Did you mean Status?'],
    ['read Absences?fields=Id,Strat', 'Absences have no property "Strat". Did you mean Start?'],
    ['read Absences?fields=', 'one of them is empty'],
    [
      'read Absences?fields=Id,EmployeeId.Department',
      'EmployeeId.Department stands in another row: give a right to read Employees with fields=Department.',
    ],
    [
      'update Absences?fields=EmployeeId.CompanyId.Name',
      'EmployeeId.CompanyId.Name stands in another row: give a right to update Companies with fields=Name.',
    ],
    ['read Absences?EmployeeId.Departmant=A', 'Employees have no property "Departmant". Did you mean Department?'],
    ['read Absences?EmployeeId.ManagerId.CompanyId.Name=A', 'A path leads through up to 2 references.'],
    [
      'read Absences?EmployeeId[under]=7',
      'EmployeeId is an integer: it can be compared with =, !=, <, <=, >, >= and [], not with [under].',
    ],
    ['read Absences?EmployeeId.ManagerId[under]=', 'needs a value behind [under]'],
    ['read Absences?Start=yesterday', 'Start must be a date-time like 2024-01-31T09:00:00Z'],
    ['read Absences?Period=1', 'Period is an object: filter by one of Period.Prefered, Period.Days, Period.Hours.'],
    ['read Absences?Start[contains]=2024', 'Start'],
    ['read Absences?Status=%ZZ', 'bad percent escape'],
    ...[
      'sort=-Start',
      'page=2',
      'PageSize=5',
      'cursor=x',
      'bom=1',
      'excel=1',
      'locale=de',
      'groupBy=Status',
      'sum=Period.Days',
    ].map(
      (parameter) =>
        [
          `read Absences?${parameter}`,
          `a right has filters and fields; ${parameter.split('=')[0]} has no meaning in it.`,
        ] as const,
    ),
    ['read Absences?SORT=Start', 'sort has no meaning in it.'],
    ['read Absences becomes Status=Approved', 'only update has "becomes".'],
    ['write Absences becomes Status=Approved', 'only update has "becomes".'],
    ['update Absences becomes', '"becomes" needs a filter after it'],
    ['update Absences becomes Status=A becomes Status=B', 'it has "becomes" twice. In a value, write spaces as %20.'],
    ['update Absences becomes Status=A&fields=Status', 'put fields before "becomes".'],
    ['update Absences becomes Statsu=A', 'Did you mean Status?'],
    ['write Absences?fields=Status', 'a deletion removes whole rows: give create and update with fields, and delete without.'],
    ['delete Absences?fields=Status', 'a deletion removes whole rows'],
    ['update Absences?fields=Status,Employee', 'Employee is read-only, so no right can update it: leave it out of fields.'],
    ['create Employees?fields=Id', 'Id is read-only, so no right can create it: leave it out of fields.'],
  ])('"%s" is refused', (text, message) => {
    expect(() => parse(text)).toThrow(RightError)
    expect(() => parse(text)).toThrow(message)
  })
})

test('A right with more than 32 filters or more than 4,000 characters is refused', () => {
  expect(() => parse(`read Absences?${'Status=A&'.repeat(33)}`)).toThrow('up to 32 filters')
  expect(() => parse(`read Companies?Name=${'x'.repeat(4_000)}`)).toThrow('a right has up to 4000 characters.')
  expect(() => parse(`read Companies?Name=x${' '.repeat(3_000)}x`)).toThrow('up to 4000 characters, with its percent escapes.')
})

const thing = defineEntity('Thing', {
  id: identity(),
  name: text(),
  kind: oneOf(['A b', 'C+D', 'E&F']),
  alive: boolean(),
  count: integer(),
  born: date(),
  seen: instant(),
  label: computed(['name']),
  parentId: reference('Thing'),
  size: group({ width: decimal(3), height: decimal(0), words: computed(['name']) }),
})
linkReferences([thing])

test('An object in the fields of a right stands for the parts that it has at present', () => {
  const namesOf = (right: string) =>
    parseRight(right, [thing]).map(({ text, properties }) => [text, properties?.map(({ name }) => name)])
  expect(namesOf('update Things?fields=Size')).toEqual([
    ['update Things?fields=Size.Width,Size.Height', ['Size.Width', 'Size.Height']],
  ])
  expect(namesOf('read Things?fields=Size')).toEqual([
    ['read Things?fields=Id,Size.Width,Size.Height,Size.Words', ['Id', 'Size.Width', 'Size.Height', 'Size.Words']],
  ])
  expect(namesOf('read Things?fields=Size.Height,Size.Width')).toEqual([
    ['read Things?fields=Id,Size.Width,Size.Height', ['Id', 'Size.Width', 'Size.Height']],
  ])
})

const operand: Readonly<Record<string, fc.Arbitrary<string>>> = {
  text: fc
    .oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
      fc.constantFrom('<', '>=5', '!=', '==', ' becomes ', '%', '+ +'),
    )
    .map((value) => value.replaceAll('\0', '').toWellFormed() || 'x'),
  oneOf: fc.constantFrom('A b', 'C+D', 'E&F'),
  boolean: fc.constantFrom('true', 'False'),
  integer: fc.bigInt(-(2n ** 64n), 2n ** 64n).map(String),
  decimal: fc.constantFrom('1', '0.50', '1e3', '-4'),
  date: fc.constantFrom('2024-02-29', '0001-01-01'),
  instant: fc.constantFrom('2024-01-31T09:00:00Z', '2024-01-31t09:00:00.5-01:30'),
}

const condition = fc
  .tuple(fc.constantFrom('', '', 'ParentId.', 'ParentId.ParentId.'), fc.constantFrom(...thing.properties))
  .chain(([path, property]) => {
    const served = operators.filter(({ serves }) => serves(property))
    return fc.tuple(
      fc.constant({ name: path + property.name }),
      fc.constantFrom(...served),
      operand[property.kind.name] as fc.Arbitrary<string>,
      fc.nat(9),
    )
  })
  .map(([{ name }, { sign, compileEmpty }, value, chance]) => {
    const text = encodeURIComponent(compileEmpty !== null && chance === 0 ? '' : value)
    return sign.startsWith('[') ? `${name}${sign}=${text}` : `${name}=${sign}${text}`
  })

const address = fc.record({
  verb: fc.constantFrom('read', 'create', 'update', 'delete', 'write'),
  conditions: fc.array(condition, { maxLength: 4 }),
  fields: fc.option(fc.subarray(['Name', 'Alive', 'Born', 'Size', 'Size.Height'], { minLength: 1 })),
  becomes: fc.option(fc.array(condition, { minLength: 1, maxLength: 2 })),
})

test('Parsing the canonical text of a right gives the same right, whatever its values', () => {
  fc.assert(
    fc.property(address, ({ verb, conditions, fields, becomes }) => {
      const named = verb === 'delete' || verb === 'write' ? null : fields
      const query = [...conditions, ...(named ? [`fields=${named.join()}`] : [])].join('&')
      const given = `${verb} Things?${query}${verb === 'update' && becomes ? ` becomes ${becomes.join('&')}` : ''}`
      let rights: Right[]
      try {
        rights = parseRight(given, [thing])
      } catch (error) {
        // The operand consists of accents only, which parsing refuses.
        if (error instanceof RightError && error.message.includes('more than accents')) return
        throw error
      }
      for (const right of rights) {
        expect(right.text).not.toMatch(/[\p{C}]|\n/u)
        expect(parseRight(right.text, [thing])).toEqual([right])
      }
    }),
    { numRuns: 2_000 },
  )
})

import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { copiedProperties } from '../../src/model/copies.ts'
import {
  computed,
  copied,
  date,
  decimal,
  defineEntity,
  type Entity,
  group,
  identity,
  instant,
  integer,
  reference,
  text,
} from '../../src/model/entity.ts'

test('other rows copy the name of a company and the display name of an employee, but no property of an absence', () => {
  const namesCopied = (entity: Entity, all = [company, employee, absence]) =>
    copiedProperties(entity, all).map(({ name }) => name)
  expect([company, employee, absence].map((entity) => namesCopied(entity))).toEqual([['Name'], ['DisplayName'], []])
  // Rows of its own copy too, and a reference without a copy copies nothing.
  expect(namesCopied(employee, [company, employee])).toEqual(['DisplayName'])
  const refers = defineEntity('Thing', { id: identity(), ownerId: reference('Company') })
  expect(namesCopied(company, [company, refers])).toEqual([])
})

describe('D65: a declaration is refused', () => {
  const declare =
    (fields: Parameters<typeof defineEntity>[1], options = {}) =>
    () =>
      defineEntity('Thing', { id: identity(), ...fields }, options)

  test('with a required part of an object', () => {
    expect(declare({ size: group({ net: decimal(2, { required: true }) }) })).toThrow('size.net of thing cannot be required')
  })

  test('with a property that has the name of a parameter of lists or summaries', () => {
    for (const name of ['page', 'sort', 'pageSize', 'Fields', 'minimum', 'groupBy', 'zone'])
      expect(declare({ [name]: text() })).toThrow('lists or summaries have a parameter of that name')
  })

  test('with names that cannot be names of columns, paths or parameters', () => {
    for (const name of ['first-name', 'a" text); drop table company; --', 'straße', '2nd', 'a b', 'First', '_a', ''])
      expect(declare({ [name]: text() })).toThrow('it must begin with a small letter')
    expect(declare({ size: group({ 'net;': text() }) })).toThrow('called "net;"')
    for (const name of ['office', 'Of-fice', 'Office"', 'Büro', '2Go', ''])
      expect(() => defineEntity(name, { id: identity() })).toThrow('cannot be the name of an entity')
    expect(() => defineEntity('Person', { id: identity() }, { plural: 'peo/ple' })).toThrow('cannot be the name')
    for (const name of ['xmin', 'ctid', 'tableoid'])
      expect(declare({ [name]: text() })).toThrow('every table has a column of that name')
    expect(declare({ constructor: text(), toString: text(), url2: text(), aURL: text() })).not.toThrow()
  })

  test('with names, also of constraints, that PostgreSQL would truncate', () => {
    const long = 'a'.repeat(60)
    expect(declare({ [long]: text() })).toThrow('names that are too long')
    expect(declare({ ['b'.repeat(45)]: text() })).not.toThrow()
    expect(declare({ ['b'.repeat(46)]: text() })).toThrow('60 letters, of 59')
    const rules = { notBefore: [['until'.padEnd(25, 'x'), 'from'.padEnd(25, 'x')]] }
    expect(declare({ [rules.notBefore[0]?.[0] as string]: date(), [rules.notBefore[0]?.[1] as string]: date() }, rules)).toThrow(
      'too long',
    )
  })

  test('with two properties whose names are equal for clients or in the table', () => {
    expect(declare({ periodDays: text(), period: group({ days: text() }) })).toThrow('both periodDays and period.days')
    expect(declare({ nameA: text(), namea: text() })).toThrow('both nameA and namea')
    expect(declare({ area: group({ net: text() }), areA: text() })).toThrow('both area and areA')
    expect(declare({ roomId: reference('Room'), room: copied('roomId', 'name'), roomKey: text() })).toThrow('both')
  })

  test('with an id of another kind or name, or without an id', () => {
    expect(declare({ other: identity() })).toThrow('the one identity is called id')
    expect(() => defineEntity('Thing', { id: integer() })).toThrow('Thing needs id: identity()')
    expect(() => defineEntity('Thing', { name: text(), id: identity() })).toThrow('as its first field')
    expect(declare({ size: group({}) })).toThrow('size without any part')
    expect(() => defineEntity('Thing', { name: text() })).toThrow('Thing has no property id')
  })

  test('with a copy or a computed text of a missing property, or of itself', () => {
    expect(declare({ room: copied('roomId', 'name') })).toThrow('cannot copy room by roomId: it has no reference')
    const two = { roomId: reference('Room'), room: copied('roomId', 'name'), alias: copied('roomId', 'alias') }
    expect(declare(two)).toThrow('cannot copy both room and alias by roomId')
    const [boss, info] = [group({ roomId: reference('Room') }), group({ room: copied('roomId', 'name') })]
    expect(declare({ boss, room: copied('bossRoomId', 'name') })).toThrow('neither can be a part of an object')
    expect(declare({ roomId: reference('Room'), info })).toThrow('neither can be a part of an object')
    expect(declare({ label: computed([]) })).toThrow('cannot compute label from nothing')
    expect(declare({ label: computed(['name']) })).toThrow('cannot compute label from name: it has no such property')
    expect(declare({ a: computed(['b']), b: computed(['c']), c: computed(['a']) })).toThrow('cannot compute a from itself')
    expect(declare({ Label: computed(['label']) })).toThrow('must begin with a small letter')
    expect(declare({ label: computed(['Label']) })).toThrow('cannot compute label from itself')
    expect(declare({ x: computed(['a']), a: computed(['b']), b: computed(['a']) })).toThrow('from itself')
    expect(declare({ day: date(), label: computed(['day']) })).toThrow('give an expression with "by"')
    expect(declare({ size: group({ net: text() }), label: computed(['sizeNet', 'id']) })).not.toThrow()
  })

  test('with texts too long for an index, and decimals with too many digits', () => {
    expect(declare({ a: text({ lengthMax: 651 }) })).toThrow('say indexed: false')
    expect(declare({ a: text({ lengthMax: 651, indexed: false, unique: true }) })).toThrow('it cannot be unique')
    expect(declare({ a: text({ lengthMax: 100_000, indexed: false }) })).not.toThrow()
    const four = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, text()]))
    expect(declare({ ...four, label: computed(Object.keys(four)) })).toThrow('803 characters, of 650')
    expect(declare({ ...four, label: computed(Object.keys(four), { indexed: false }) })).not.toThrow()
    const long = computed(['a', 'b', 'c', 'd'], { indexed: false })
    expect(declare({ ...four, long, short: computed(['long']) })).toThrow('cannot have an index on short')
    for (const lengthMax of [0, -1, 1.5, Number.NaN]) expect(declare({ a: text({ lengthMax }) })).toThrow('lengthMax')
    for (const scale of [-1, 0.5, 21]) expect(() => decimal(scale)).toThrow('the digits after the point')
  })

  test('with a rule between properties that cannot be compared, or are missing', () => {
    expect(declare({}, { notBefore: [['end', 'start']] })).toThrow('Thing has no property end')
    const rules = { notBefore: [['until', 'from']] }
    expect(declare({ from: date(), until: instant() }, rules)).toThrow('must both be dates, or both date-times')
    expect(declare({ from: text(), until: text() }, rules)).toThrow('must both be dates, or both date-times')
    expect(declare({ from: date(), until: date() }, rules)).not.toThrow()
  })
})

test('copied() accepts the name of the reference in upper or lower case; a computed text is as long as its sources allow', () => {
  const fields = {
    companyId: reference('Company'),
    company: copied('CompanyId', 'name'),
    a: text(),
    b: computed(['a', 'company']),
  }
  const { properties } = defineEntity('Thing', { id: identity(), ...fields })
  expect(properties.find(({ column }) => column === 'company_id')?.reference?.copy?.column).toBe('company')
  expect(properties.find(({ column }) => column === 'b')?.kind.lengthMax).toBe(200 + 1 + 650)
})

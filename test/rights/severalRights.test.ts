import { describe, expect, test } from 'bun:test'
import type { Guard } from '../../src/model/access.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import { unionFilter } from '../../src/model/query.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseNewRow, parsePartial } from '../../src/parse/assignments.ts'
import { uniteReads } from '../../src/rights/accesses.ts'
import { parseRight } from '../../src/rights/grammar.ts'
import { printFilter } from '../../src/rights/print.ts'
import { entities } from '../support/entities.ts'
import { refusalOf } from '../support/refusal.ts'
import { severalRights } from '../support/severalRights.ts'

// Several rights of one verb to one collection, as a person with several roles has.

const entity = (plural: string) => entities.find((one) => one.plural === plural) as Entity
const [absences, employees, companies] = [entity('Absences'), entity('Employees'), entity('Companies')]
const granted = (...lines: string[]) => severalRights(lines.join('\n'), entities)
const property = (of: Entity, name: string) => of.properties.find((one) => one.name === name) as Property
const names = (properties: Iterable<Property>) => [...properties].map(({ name }) => name)
const pairsOf = (guard: Guard | null | undefined) =>
  guard?.pairs.map(({ before, after }) => [before.map(printFilter).join('&'), after.map(printFilter).join('&')])

const OWN = 'read Absences?EmployeeId=7'
const TEAM = 'read Absences?EmployeeId.ManagerId=7'

describe('several rights to read', () => {
  test('give a view of the rows that at least one of them admits', () => {
    const view = granted(OWN, TEAM).accessTo(absences).read
    const filters = [OWN, TEAM].map((line) => parseRight(line, entities)[0]?.filters ?? [])
    expect(view?.filters).toEqual([unionFilter(absences, filters)])
    expect(view?.text).toBe(`${TEAM} | ${OWN}`)
    expect(view?.properties).toEqual(absences.properties)
  })

  test('have the same text in any order, so that all processes accept the same cursors', () => {
    const textOf = (...lines: string[]) => granted(...lines).accessTo(absences).read?.text
    expect(textOf(TEAM, OWN)).toBe(textOf(OWN, TEAM) as string)
    expect(textOf(OWN, TEAM, OWN)).toBe(textOf(OWN, TEAM) as string)
    expect(textOf(OWN, 'read Absences?EmployeeId.ManagerId=8')).not.toBe(textOf(OWN, TEAM) as string)
  })

  test('give the whole view if one of them admits every row', () => {
    const rest = ['read Absences', 'read Employees', 'read Companies']
    expect(granted(OWN, ...rest).accessTo(absences).read).toBe(wholeView(absences))
  })

  test('count as one right if they are equal', () => {
    const view = granted(OWN, OWN).accessTo(absences).read
    expect(view?.text).toBe(OWN)
    expect(view?.filters.map(printFilter)).toEqual(['EmployeeId=7'])
  })

  test('are refused unless they show the same properties', () => {
    const fields = `${OWN}&fields=Id,Start`
    expect(() => granted(fields, TEAM)).toThrow('rights to read Absences show different properties')
    expect(() => uniteReads([fields, TEAM].flatMap((line) => parseRight(line, entities)))).toThrow('different properties')
    expect(granted(fields, `${TEAM}&fields=Start`).accessTo(absences).read?.filters.length).toBe(1)
  })
})

const CANCEL = 'update Absences?EmployeeId=7&Status=Requested&fields=Status becomes Status=Cancelled'
const DECIDE = 'update Absences?EmployeeId.ManagerId=7&fields=Status,Reason becomes Status[]=Approved&Status[]=Declined'
const EXPLAIN = 'update Absences?EmployeeId=7&fields=Type,Reason'

describe('several rights to update', () => {
  const access = granted(CANCEL, DECIDE, EXPLAIN).accessTo(absences).update
  const guardOf = (...set: string[]) => access?.guardOf(set.map((name) => property(absences, name)))
  const cancel = ['EmployeeId=7&Status=Requested', 'Status=Cancelled']
  const decide = ['EmployeeId.ManagerId=7', 'Status[]=Approved&Status[]=Declined']
  const explain = ['EmployeeId=7', '']

  test('let a key set each property that at least one of them names', () => {
    expect(names(access?.settable ?? [])).toEqual(['Status', 'Reason', 'Type'])
    expect(access?.isComplete).toBe(false)
  })

  test.each([
    [[], [cancel, decide, explain]],
    [['Status'], [cancel, decide]],
    [['Reason'], [decide, explain]],
    [['Status', 'Reason'], [decide]],
    [['Type', 'Reason'], [explain]],
  ])('admit a write of %j by the rights that let the key set all of these properties', (set, pairs) => {
    expect(pairsOf(guardOf(...set))).toEqual(pairs)
    expect(guardOf(...set)).toBe(guardOf(...set) as Guard)
  })

  test('refuse a body (Forbidden) if no single right lets the key set all of it, and say which properties do not go together', () => {
    const parse = (body: object) => () => parsePartial(absences, access as NonNullable<typeof access>, body as never)
    const { outcome, message } = refusalOf(parse({ Status: 'Approved', Type: 'x' }))
    expect(outcome).toBe('Forbidden Type')
    expect(message).toBe('You have no right to set Type together with Status, which the nearest right sets.')
    expect(refusalOf(parse({ Status: 'Approved', Reason: 'x', Type: 'x' })).outcome).toBe('Forbidden Type')
    expect(refusalOf(parse({ Type: 'x', Reason: 'y', Status: 'z' })).message).toContain('Type together with Reason and Status')
    expect(refusalOf(parse({ Status: 'Approved', Type: 'x', Nmae: 1 })).details?.map(({ code }) => code)).toEqual([
      'UnknownProperty',
      'Forbidden',
    ])
    expect(parse({ Status: 'Approved', Reason: 'x' })()).toHaveProperty('size', 2)
  })

  test('are complete, as PUT needs it, only if a single one of them lets the key set all properties', () => {
    const all = granted('update Companies?Id=7', 'update Companies?Enabled=true&fields=Name').accessTo(companies).update
    expect(all?.isComplete).toBe(true)
    expect(pairsOf(all?.guardOf(companies.properties.filter(({ writable }) => writable)))).toEqual([['Id=7', '']])
    const halves = granted('update Companies?Id=7&fields=Enabled', 'update Companies?fields=Name').accessTo(companies).update
    expect(halves?.isComplete).toBe(false)
    expect(halves?.settable.size).toBe(2)
  })

  test('have no guard if one of them lets the key set the property in every row', () => {
    const access = granted('read Companies', 'update Companies?Id=7', 'update Companies?fields=Name').accessTo(companies).update
    expect(access?.guardOf([property(companies, 'Name')])).toBeNull()
    expect(pairsOf(access?.guardOf([property(companies, 'Enabled')]))).toEqual([['Id=7', '']])
  })
})

describe('a reference that several rights let a key set', () => {
  const reference = property(absences, 'EmployeeId')
  const admitted = (...lines: string[]) => {
    const guard = granted(...lines)
      .accessTo(absences)
      .update?.guardOf([reference])
    return guard?.references.get(reference)?.map(printFilter)
  }

  test('may name the rows that at least one of several rights to read admits', () => {
    const lines = ['read Employees?Id=7', 'read Employees?ManagerId=7', 'update Absences?fields=EmployeeId']
    expect(admitted(...lines)).toEqual(['(Id=7) or (ManagerId=7)'])
    expect(admitted(...lines, 'read Employees')).toBeUndefined()
  })

  test('is not checked if each right sets its value; if only one right does, this value is allowed in addition', () => {
    const read = 'read Employees?CompanyId=5'
    const own = 'update Absences?Status=New&fields=EmployeeId becomes EmployeeId=7'
    expect(admitted(read, own)).toBeUndefined()
    expect(admitted(read, own, 'update Absences?fields=EmployeeId becomes EmployeeId=8')).toBeUndefined()
    expect(admitted(read, own, 'update Absences?fields=EmployeeId')).toEqual(['(CompanyId=5) or (Id=7)'])
  })
})

const REQUEST = 'create Absences?EmployeeId=7&Status=Requested&fields=Type,Start,End'
const ENTER = 'create Absences?EmployeeId.ManagerId=7&fields=EmployeeId,Status,Type'

describe('several rights to create', () => {
  const access = granted(REQUEST, ENTER).accessTo(absences).create
  const parse = (body: object) => parseNewRow(absences, access as NonNullable<typeof access>, body as never)
  const set = (body: object) =>
    [...parse(body).values].filter(([, value]) => value !== null).map(([{ name }, value]) => `${name}=${value}`)

  test.each([
    [{}, 0, ['Status=Requested', 'EmployeeId=7']],
    [{ Type: 'x' }, 0, ['Status=Requested', 'EmployeeId=7', 'Type=x']],
    [{ Type: 'x', Status: 'New' }, 1, ['Status=New', 'Type=x']],
  ])('apply the first right that lets the key set all properties of the body: %j', (body, right, values) => {
    expect(parse(body).right).toBe(access?.rights[right] as never)
    expect(set(body)).toEqual(values)
  })

  test('do not add their values to the request that an Idempotency-Key stands for', () => {
    expect([...parse({ Type: 'x' }).sent.values()].filter((value) => value !== null)).toEqual(['x'])
  })

  test('refuse a body (Forbidden) if no single right lets the key set all of it', () => {
    const { outcome, message } = refusalOf(() => parse({ Type: 'x', Start: '2024-01-01T00:00:00Z', Status: 'New' }))
    expect(outcome).toBe('Forbidden Status')
    expect(message).toBe('You have no right to set Status together with Type and Start, which the nearest right sets.')
  })
})

test('several rights to delete admit the rows that at least one of them admits', () => {
  const remove = (...lines: string[]) => granted(...lines).accessTo(employees).delete?.guard
  expect(pairsOf(remove('delete Employees?Id=7', 'delete Employees?Status=New'))).toEqual([
    ['Id=7', ''],
    ['Status=New', ''],
  ])
  expect(remove('delete Employees?Id=7', 'delete Employees')).toBeNull()
})

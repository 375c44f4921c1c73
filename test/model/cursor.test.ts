import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { Cursors } from '../../src/model/cursor.ts'
import type { Entity } from '../../src/model/entity.ts'
import { type Seek, unionFilter } from '../../src/model/query.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { hostileTexts } from '../support/hostile.ts'

const cursors = new Cursors('secret')
const seek: Seek = { side: 'after', position: ['Approved', null, '7'] }
const QUERY = 'Status=Approved&Start=>2024-01-31T09:00:00Z&sort=Status,-Reason'

const write = (query: string, place = seek, entity: Entity = absence) =>
  cursors.write(wholeView(entity), parseList(wholeView(entity), query), place) as string
const read = (query: string, text: string, entity: Entity = absence) =>
  cursors.read(wholeView(entity), parseList(wholeView(entity), query), text)

test('a cursor is read with the values with which it was written, and null differs from an empty text', () => {
  const value = fc.option(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('', ...hostileTexts)))
  const place = fc.record<Seek>({
    side: fc.constantFrom('after', 'before'),
    position: fc.array(value, { minLength: 1, maxLength: 5 }),
  })
  const property = fc.property(place, (one) => {
    const text = write(QUERY, one)
    // Too long for a link.
    if (text === null) return
    expect(text).toMatch(/^[\w-]+$/)
    expect(text.length).toBeLessThanOrEqual(2_048)
    expect(read(QUERY, text)).toEqual(one)
  })
  fc.assert(property, { numRuns: 500 })
})

describe('a cursor is invalid', () => {
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

  test('if any character is replaced by another one', () => {
    // All three lengths that base64 has an end for.
    for (const id of ['7', '77', '777']) {
      const text = write(QUERY, { ...seek, position: ['Approved', null, id] })
      for (let index = 0; index < text.length; index++)
        for (const other of `${ALPHABET}+/=. %`) {
          if (other === text[index]) continue
          const altered = text.slice(0, index) + other + text.slice(index + 1)
          expect({ altered, seek: read(QUERY, altered) }).toEqual({ altered, seek: null })
        }
    }
  })

  test('if it has one character more or less', () => {
    const text = write(QUERY)
    for (let index = 0; index <= text.length; index++) {
      for (const more of ['A', '=', ' ', '\n', '.', '%'])
        expect(read(QUERY, text.slice(0, index) + more + text.slice(index))).toBeNull()
      if (index < text.length) expect(read(QUERY, text.slice(0, index) + text.slice(index + 1))).toBeNull()
    }
    for (const other of ['', '=', text + text, text.slice(0, 22), 'A'.repeat(100_000)]) expect(read(QUERY, other)).toBeNull()
  })

  test('if another secret has signed it', () => {
    expect(new Cursors('Secret').read(wholeView(absence), parseList(wholeView(absence), QUERY), write(QUERY))).toBeNull()
  })
})

describe('a cursor of a list', () => {
  test.each([
    'Start=>2024-01-31T09:00:00Z&Status=Approved&sort=Status,-Reason',
    'sort=Status&STATUS==Approved&sort=-Reason&start=>2024-01-31T10:00:00%2B01:00&PageSize=7&page=9',
    'Status=Approved&Start=>2024-01-31T09:00:00Z&sort=+Status,-Reason,-Id,-End',
  ])('is valid for the same filters in another order or notation: %s', (query) => {
    expect(read(query, write(QUERY))).toEqual(seek)
  })

  test.each([
    '',
    'Status=Approved&sort=Status,-Reason',
    'Status=approved&Start=>2024-01-31T09:00:00Z&sort=Status,-Reason',
    'Status=&Start=>2024-01-31T09:00:00Z&sort=Status,-Reason',
    'Type=Approved&Start=>2024-01-31T09:00:00Z&sort=Status,-Reason',
    `${QUERY}&Status=Approved`,
    `${QUERY}&Id=!=0`,
    'Status=Approved&Start=>2024-01-31T09:00:00Z&sort=-Status,-Reason',
    'Status=Approved&Start=>2024-01-31T09:00:00Z&sort=Status,Reason',
    'Status=Approved&Start=>2024-01-31T09:00:00Z&sort=-Reason,Status',
    'Status=Approved&Start=>2024-01-31T09:00:00Z&sort=Status',
    'Status=Approved&Start=>2024-01-31T09:00:00Z&sort=Status,-Reason,Type',
    'Status=Approved&Start=>2024-01-31T09:00:00Z&sort=Status,-Reason,Id',
  ])('is invalid for other filters or another sort: %s', (query) => {
    expect(read(query, write(QUERY))).toBeNull()
  })

  test('is invalid for another collection, even with the same filters and sort', () => {
    const text = write('', { side: 'after', position: ['7'] })
    expect(read('', text)).not.toBeNull()
    for (const entity of [company, employee]) expect(read('', text, entity)).toBeNull()
  })

  test('is invalid for other filters, even if their texts would be equal when joined to one', () => {
    const text = write('Name=a","b&Name=c', { side: 'after', position: ['7'] }, company)
    for (const query of ['Name=a&Name=b","c', 'Name=a","b","c', 'Name=a","b', 'Name=c&Name=a"%2C"b%0A'])
      expect(read(query, text, company)).toBeNull()
  })
})

test('a cursor of a list with a union is invalid if any value of the union changes', () => {
  const list = (...alternatives: string[]) => ({
    filters: [
      unionFilter(
        absence,
        alternatives.map((query) => parseList(wholeView(absence), query).filters),
      ),
    ],
    sorts: [],
    may: null,
  })
  const place: Seek = { side: 'after', position: ['7'] }
  const text = cursors.write(wholeView(absence), list('EmployeeId=7', 'Status=A'), place) as string
  const isValid = (...alternatives: string[]) => cursors.read(wholeView(absence), list(...alternatives), text) !== null
  expect(isValid('EmployeeId=7', 'Status=A')).toBe(true)
  expect(isValid('EmployeeId=7', 'Status=B')).toBe(false)
  expect(isValid('EmployeeId=8', 'Status=A')).toBe(false)
  expect(isValid('EmployeeId=7&Status=A')).toBe(false)
})

describe('no cursor is written (null)', () => {
  const place = (position: string[]): Seek => ({ side: 'before', position })

  test('if it would be longer than 2 KiB', () => {
    expect(write('sort=Reason', place(['ä'.repeat(754), '7']))).toHaveLength(2_046)
    expect(write('sort=Reason', place(['ä'.repeat(755), '7']))).toBeNull()
  })

  test('if the list is sorted by more than eight properties', () => {
    const sorts = absence.properties.slice(1, 10).map(({ name }) => name)
    expect(write(`sort=${sorts.slice(1)}`, place(Array(9).fill('1')))).not.toBeNull()
    expect(write(`sort=${sorts}`, place(Array(10).fill('1')))).toBeNull()
  })
})

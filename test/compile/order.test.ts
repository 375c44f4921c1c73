import { expect, test } from 'bun:test'
import { orderBy } from '../../src/compile/parts.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import type { Entity } from '../../src/model/entity.ts'
import { opposite, order } from '../../src/model/order.ts'
import type { Sort } from '../../src/model/query.ts'
import { toStatement } from '../../src/model/sql.ts'
import { parseSort } from '../../src/parse/sort.ts'

function keys(entity: Entity, text: string) {
  const sorts: Sort[] = []
  parseSort(entity, text, sorts)
  return order(entity, sorts)
}
const text = (entity: Entity, sort: string) => toStatement(orderBy(keys(entity, sort))).text

test('D27: no sort is by id', () => {
  expect(text(company, '')).toBe('"id"')
})

test('D26: the id breaks ties, in the direction of the last sort', () => {
  expect(text(company, 'Name')).toBe('"name", "id"')
  expect(text(company, '-Name')).toBe('"name" desc, "id" desc')
  expect(text(company, '-Enabled,+Name')).toBe('"enabled" desc, "name", "id"')
  expect(text(company, '+Enabled,-Name')).toBe('"enabled", "name" desc, "id" desc')
  expect(text(company, '-Name,Name')).toBe('"name" desc, "id" desc')
})

test('behind the id nothing counts', () => {
  expect(text(company, '-Id')).toBe('"id" desc')
  expect(text(company, 'Enabled,-Id,Name')).toBe('"enabled", "id" desc')
})

test('keywords and parts of objects are quoted columns', () => {
  expect(text(absence, 'End,-Period.Days')).toBe('"end", "period_days" desc, "id" desc')
})

test('the opposite turns every direction round', () => {
  expect(toStatement(orderBy(opposite(keys(company, '-Enabled,Name')))).text).toBe('"enabled", "name" desc, "id" desc')
})

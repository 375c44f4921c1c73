import { describe, expect, test } from 'bun:test'
import { selectionOf } from '../../src/cache/selection.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import type { Entity } from '../../src/model/entity.ts'
import { parseList } from '../../src/parse/list.ts'

const of = (entity: Entity, query: string) => selectionOf(entity, parseList(entity, query).filters, 1)

describe('the key of a selection', () => {
  test('is one for the same filters in any order and spelling, whatever the sort and the page', () => {
    const { key } = of(company, 'Name=a&Id=>3')
    for (const query of ['Id=>3&Name=a', 'id=%3E003&NAME==a', 'Name=a&Id=>3&sort=-Name&page=7&PageSize=5'])
      expect(of(company, query).key).toBe(key)
  })

  test('is another for any other rows', () => {
    const queries = [
      ...['', 'Name=a', 'Name=!=a', 'Name=', 'Name=!=', 'Name=b', 'Name=A', 'Name=a&Id=3', 'Name=a&Id=>3', 'Id=3'],
      // What looks like the end of a filter, and the beginning of another.
      ...['Name="]', 'Name=a"],["id","=","3', 'Name= by id', 'Name=a,Id=3'],
    ]
    const keys = queries.map((query) => of(company, query).key)
    expect(new Set(keys).size).toBe(queries.length)
    expect(of(absence, '').key).not.toBe(of(company, '').key)
  })
})

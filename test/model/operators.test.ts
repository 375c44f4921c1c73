import { describe, expect, test } from 'bun:test'
import { errorTable } from '../../src/errors.ts'
import { instantKind } from '../../src/model/instantKind.ts'
import { booleanKind, decimalKind, integerKind, textKind } from '../../src/model/kinds.ts'
import { operators } from '../../src/model/operators.ts'
import { name, param, toStatement } from '../../src/model/sql.ts'

const operator = (prefix: string) => {
  const found = operators.find((candidate) => candidate.sign === prefix)
  if (!found) throw new Error(`no operator ${prefix}`)
  return found
}

test('the table has the operators of spec 4.2, Filtering 5, and of D71 and D72, each once', () => {
  expect(operators.map(({ sign }) => sign)).toEqual(['=', '!=', '<', '<=', '>', '>=', '[]', '[begins]', '[contains]'])
})

test('the error page of InvalidFilter names them all', () => {
  for (const { sign } of operators) expect(errorTable.InvalidFilter.explanation).toContain(` ${sign}`)
})

describe('SQL', () => {
  for (const [prefix, text] of [
    ['=', '"name" = $1'],
    ['!=', '"name" is distinct from $1'],
    ['<', '"name" < $1'],
    ['<=', '"name" <= $1'],
    ['>', '"name" > $1'],
    ['>=', '"name" >= $1'],
    ['[]', '"name" = any ($1)'],
  ] as const)
    test(`${prefix} compiles to ${text}`, () => {
      expect(toStatement(operator(prefix).compile(name('name'), param('v')))).toEqual({ text, values: ['v'] })
    })

  test('D24: an empty value asks for "no value", of text the empty one too', () => {
    const empty = (prefix: string, emptyToo: boolean) => {
      const piece = operator(prefix).compileEmpty?.(name('c'), emptyToo)
      return piece && toStatement(piece)
    }
    expect(empty('=', true)).toEqual({ text: `("c" is null or "c" = '')`, values: [] })
    expect(empty('=', false)).toEqual({ text: '"c" is null', values: [] })
    expect(empty('!=', true)).toEqual({ text: `"c" <> ''`, values: [] })
    expect(empty('!=', false)).toEqual({ text: '"c" is not null', values: [] })
    for (const prefix of ['<', '<=', '>', '>=']) expect(empty(prefix, true)).toBeUndefined()
  })
})

test('D25, D71, D72: every kind has =, != and []; an order has every kind but boolean; only texts are searched', () => {
  const kinds = [textKind(9), booleanKind, integerKind(true), instantKind, decimalKind(1, 1)]
  for (const kind of kinds)
    expect(operators.filter(({ serves }) => serves(kind)).map(({ sign }) => sign)).toEqual([
      ...(kind === booleanKind ? ['=', '!=', '[]'] : ['=', '!=', '<', '<=', '>', '>=', '[]']),
      ...(kind.name === 'text' ? ['[begins]', '[contains]'] : []),
    ])
})

import { describe, expect, test } from 'bun:test'
import { instantKind } from '../../src/model/instantKind.ts'
import { booleanKind, decimalKind, integerKind, textKind } from '../../src/model/kinds.ts'
import { operators } from '../../src/model/operators.ts'
import { name, param, toStatement } from '../../src/model/sql.ts'

const operator = (prefix: string) => {
  const found = operators.find((candidate) => candidate.prefix === prefix)
  if (!found) throw new Error(`no operator ${prefix}`)
  return found
}

test('the table has the six operators of spec 4.2, Filtering 5, each once', () => {
  expect(operators.map(({ prefix }) => prefix)).toEqual(['=', '!=', '<', '<=', '>', '>='])
})

describe('SQL', () => {
  for (const [prefix, text] of [
    ['=', '"name" = $1'],
    ['!=', '"name" is distinct from $1'],
    ['<', '"name" < $1'],
    ['<=', '"name" <= $1'],
    ['>', '"name" > $1'],
    ['>=', '"name" >= $1'],
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

describe('without PostgreSQL', () => {
  const matching = (prefix: string) => {
    const matches = operator(prefix).test(integerKind(true), '4')
    return matches && [null, '3', '4', '5', '10'].filter(matches)
  }
  const matchingEmpty = (prefix: string, emptyToo: boolean) => {
    const matches = operator(prefix).testEmpty?.(emptyToo)
    return matches && [null, '', 'a'].filter(matches)
  }

  test('an operator tells of each value whether it matches', () => {
    expect(matching('=')).toEqual(['4'])
    expect(matching('!=')).toEqual([null, '3', '5', '10'])
    expect(matching('<')).toEqual(['3'])
    expect(matching('<=')).toEqual(['3', '4'])
    expect(matching('>')).toEqual(['5', '10'])
    expect(matching('>=')).toEqual(['4', '5', '10'])
  })

  test('of an order of texts only PostgreSQL can tell', () => {
    expect(operators.filter(({ test }) => test(textKind(9), 'a') === null).map(({ prefix }) => prefix)).toEqual([
      ...['<', '<=', '>', '>='],
    ])
  })

  test('D24: "no value" is null, of text the empty one too', () => {
    expect(matchingEmpty('=', true)).toEqual([null, ''])
    expect(matchingEmpty('=', false)).toEqual([null])
    expect(matchingEmpty('!=', true)).toEqual(['a'])
    expect(matchingEmpty('!=', false)).toEqual(['', 'a'])
    for (const { compileEmpty, testEmpty } of operators) expect(testEmpty === null).toBe(compileEmpty === null)
  })
})

test('D25: every kind has = and !=; an order has every kind but boolean', () => {
  const kinds = [textKind(9), booleanKind, integerKind(true), instantKind, decimalKind(1, 1)]
  for (const kind of kinds)
    expect(operators.filter(({ serves }) => serves(kind)).map(({ prefix }) => prefix)).toEqual(
      kind === booleanKind ? ['=', '!='] : ['=', '!=', '<', '<=', '>', '>='],
    )
})

test('the sides of an operator say what its test says', () => {
  const kind = integerKind(true)
  for (const { test, sides } of operators) {
    const takes = test(kind, '50')
    expect(sides).toEqual({
      less: takes?.('7') as boolean,
      equal: takes?.('50') as boolean,
      greater: takes?.('100') as boolean,
      none: takes?.(null) as boolean,
    })
  }
})

test('an empty operand is equal to no value', () => {
  for (const { testEmpty, sides } of operators)
    if (testEmpty)
      expect([testEmpty(true)(null), !testEmpty(true)('x')]).toEqual([sides?.equal === true, sides?.equal === true])
})

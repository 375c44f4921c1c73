import { describe, expect, test } from 'bun:test'
import {
  integer,
  join,
  name,
  type Param,
  param,
  replaceParams,
  type Sql,
  sql,
  toStatement,
  typeName,
} from '../../src/model/sql.ts'

describe('the sql tag', () => {
  test('numbers the parameters in the order of their appearance, those of an inner piece where it stands', () => {
    const inner = sql`x > ${param('2')}`
    const piece = sql`${param('1')} and ${inner} and ${param(null)} from ${name('company')}`
    expect(toStatement(piece)).toEqual({ text: '$1 and x > $2 and $3 from "company"', values: ['1', '2', null] })
  })

  test('the same parameter used twice is sent once; equal values of two parameters are sent twice', () => {
    const one = param('v')
    expect(toStatement(sql`${one} ${one} ${param('v')}`)).toEqual({ text: '$1 $1 $2', values: ['v', 'v'] })
  })

  test('parameters given first have the first numbers, also those that the text does not use', () => {
    const [a, b] = [param('a'), param('b')]
    expect(toStatement(sql`${b} ${param('c')}`, [a, b])).toEqual({ text: '$2 $3', values: ['a', 'b', 'c'] })
  })

  test('a value never becomes text, whatever it looks like', () => {
    const { text, values } = toStatement(sql`name = ${param("'; drop table company; --")}`)
    expect(text).toBe('name = $1')
    expect(values).toEqual(["'; drop table company; --"])
  })

  test('a plain string does not become SQL', () => {
    // @ts-expect-error a string is neither SQL nor a parameter, and the type says so
    const piece = () => toStatement(sql`select ${'1; drop table company' as Param | string}`)
    expect(piece).toThrow()
  })
})

describe('name', () => {
  test('quotes, so that a keyword can be a column', () => {
    expect(toStatement(name('end')).text).toBe('"end"')
  })

  test('refuses what PostgreSQL would not take as it is', () => {
    for (const wrong of ['', 'Name', 'a b', 'a"b', '1a', '_a', 'ä', `a${'b'.repeat(63)}`])
      expect(() => name(wrong)).toThrow('not a name of a table or column')
  })

  test('takes 63 characters, as PostgreSQL does', () => {
    expect(toStatement(name('a'.repeat(63))).text).toHaveLength(65)
  })
})

describe('integer', () => {
  test('stands in the text, where the planner sees it', () => {
    expect(toStatement(sql`limit ${integer(20)}`)).toEqual({ text: 'limit 20', values: [] })
    expect(toStatement(integer(0)).text).toBe('0')
  })

  test('refuses what is none', () => {
    for (const wrong of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
      expect(() => integer(wrong)).toThrow('not a non-negative integer')
  })
})

test('join puts the separator between pieces, not around, and keeps their parameters in order', () => {
  const joined = (parts: Sql[]) => toStatement(join(parts, sql` and `))
  expect(['', 'a', 'a and b'].map((_, count) => joined([sql`a`, sql`b`].slice(0, count)).text)).toEqual(['', 'a', 'a and b'])
  const two = joined([sql`a = ${param('1')}`, sql`b = ${param('2')}`])
  expect(two).toEqual({ text: 'a = $1 and b = $2', values: ['1', '2'] })
})

test('other SQL takes every place of a parameter, may have parameters of its own, and the text around stays', () => {
  const [one, two] = [param('1'), param('2')]
  const piece = replaceParams(sql`a = ${one} and b = ${two} and c = ${one}`, (given) =>
    given === one ? name('x') : sql`f(${param('new')})`,
  )
  expect(toStatement(piece)).toEqual({ text: 'a = "x" and b = f($1) and c = "x"', values: ['new'] })
})

test('a type is named as a kind names it, and nothing else passes for one', () => {
  for (const type of ['text', 'bigint', 'numeric(18,8)', 'timestamp(0) with time zone'])
    expect(toStatement(typeName(type)).text).toBe(type)
  for (const wrong of ['', 'Text', '"text"', 'text; drop table company', "text'", '1', 'text\n', 'text[]', 'text--'])
    expect(() => typeName(wrong)).toThrow('not a name of a type')
})

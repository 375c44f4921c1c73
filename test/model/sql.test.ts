import { describe, expect, test } from 'bun:test'
import { integer, letters, name, type Param, param, sql, toStatement, typeName } from '../../src/model/sql.ts'

describe('the sql tag', () => {
  test('numbers parameters in the order of appearance, including those of nested parts', () => {
    const inner = sql`x > ${param('2')}`
    const piece = sql`${param('1')} and ${inner} and ${param(null)} from ${name('company')}`
    expect(toStatement(piece)).toEqual({ text: '$1 and x > $2 and $3 from "company"', values: ['1', '2', null] })
  })

  test('puts a value into the parameters, never into the text, even if it looks like SQL', () => {
    const { text, values } = toStatement(sql`name = ${param("'; drop table company; --")}`)
    expect(text).toBe('name = $1')
    expect(values).toEqual(["'; drop table company; --"])
  })

  test('throws for a plain string, so that it does not become SQL', () => {
    // @ts-expect-error a string is neither SQL nor a parameter, and the type says so
    const piece = () => toStatement(sql`select ${'1; drop table company' as Param | string}`)
    expect(piece).toThrow()
  })
})

test('name() refuses an identifier that PostgreSQL would have to quote or truncate', () => {
  for (const wrong of ['', 'Name', 'a b', 'a"b', '1a', '_a', 'ä', `a${'b'.repeat(63)}`])
    expect(() => name(wrong)).toThrow('not a name of a table or column')
})

test('letters() refuses a text that could end the SQL literal', () => {
  expect(toStatement(letters('ßæ·')).text).toBe("'ßæ·'")
  for (const wrong of ['', "'", "ß'", '\\', 'a b', 'ß\n']) expect(() => letters(wrong)).toThrow('not letters')
})

test('integer() refuses a number that is no non-negative safe integer', () => {
  for (const wrong of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
    expect(() => integer(wrong)).toThrow('not a non-negative integer')
})

test('typeName accepts the names of types as kinds spell them, and refuses any other text', () => {
  for (const type of ['text', 'bigint', 'numeric(18,8)', 'timestamp(0) with time zone'])
    expect(toStatement(typeName(type)).text).toBe(type)
  for (const wrong of ['', 'Text', '"text"', 'text; drop table company', "text'", '1', 'text\n', 'text[]', 'text--'])
    expect(() => typeName(wrong)).toThrow('not a name of a type')
})

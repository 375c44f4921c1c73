import { describe, expect, test } from 'bun:test'
import { integer, letters, name, type Param, param, sql, toStatement, typeName } from '../../src/model/sql.ts'

describe('the sql tag', () => {
  test('numbers parameters in the order of appearance, including those of nested pieces', () => {
    const inner = sql`x > ${param('2')}`
    const piece = sql`${param('1')} and ${inner} and ${param(null)} from ${name('company')}`
    expect(toStatement(piece)).toEqual({ text: '$1 and x > $2 and $3 from "company"', values: ['1', '2', null] })
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

test('a name is refused if PostgreSQL would read it as another one', () => {
  for (const wrong of ['', 'Name', 'a b', 'a"b', '1a', '_a', 'ä', `a${'b'.repeat(63)}`])
    expect(() => name(wrong)).toThrow('not a name of a table or column')
})

test('letters are refused if they could end the literal', () => {
  expect(toStatement(letters('ßæ·')).text).toBe("'ßæ·'")
  for (const wrong of ['', "'", "ß'", '\\', 'a b', 'ß\n']) expect(() => letters(wrong)).toThrow('not letters')
})

test('an integer is refused if it is none', () => {
  for (const wrong of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
    expect(() => integer(wrong)).toThrow('not a non-negative integer')
})

test('typeName accepts the names of types as kinds spell them, and refuses any other text', () => {
  for (const type of ['text', 'bigint', 'numeric(18,8)', 'timestamp(0) with time zone'])
    expect(toStatement(typeName(type)).text).toBe(type)
  for (const wrong of ['', 'Text', '"text"', 'text; drop table company', "text'", '1', 'text\n', 'text[]', 'text--'])
    expect(() => typeName(wrong)).toThrow('not a name of a type')
})

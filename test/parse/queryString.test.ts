import { describe, expect, test } from 'bun:test'
import { ApiError } from '../../src/errors.ts'
import { parseQueryString } from '../../src/parse/queryString.ts'

const pairs = (query: string) => parseQueryString(query).map(({ name, value }) => [name, value])

test('splits into names and values, repeated names apart and in order', () => {
  expect(pairs('Start=>1&Start=<2&a=b')).toEqual([
    ['Start', '>1'],
    ['Start', '<2'],
    ['a', 'b'],
  ])
})

test('the first = ends the name; more of them belong to the value', () => {
  expect(pairs('Name==<b>&x=a=b=c')).toEqual([
    ['Name', '=<b>'],
    ['x', 'a=b=c'],
  ])
})

test('without a = the value is empty', () => {
  expect(pairs('Name&=v&=')).toEqual([
    ['Name', ''],
    ['', 'v'],
    ['', ''],
  ])
})

test('nothing between two & is nothing', () => {
  expect(pairs('')).toEqual([])
  expect(pairs('&&a=1&&b=2&')).toEqual([
    ['a', '1'],
    ['b', '2'],
  ])
})

test('D4: + is a space and %2B a plus, in names as in values', () => {
  expect(pairs('a+b=c+d%2Be')).toEqual([['a b', 'c d+e']])
})

test('escapes stand for UTF-8; those of & and = do not separate', () => {
  expect(pairs('N%61me=Zo%C3%AB%20%26%20%3D%f0%9f%98%80')).toEqual([['Name', 'Zoë & =😀']])
})

test('escapes are read as decodeURIComponent reads them', () => {
  const hex = [...'0123456789abcdefABCDEFgG@`/:Ł ', '']
  for (const high of hex)
    for (const low of hex) {
      const text = `<%${high}${low}%41`
      const read = () => pairs(`a=${text}`)[0]?.[1]
      let decoded: string | null
      try {
        decoded = decodeURIComponent(text)
      } catch {
        decoded = null
      }
      if (decoded === null) expect(read).toThrow(ApiError)
      else expect([text, read()]).toEqual([text, decoded])
    }
})

test('a parameter without = has none from the next one', () => {
  expect(pairs('a&b=1&c&d&e=2=3&f')).toEqual([
    ['a', ''],
    ['b', '1'],
    ['c', ''],
    ['d', ''],
    ['e', '2=3'],
    ['f', ''],
  ])
})

test('one encoded parameter among plain ones', () => {
  expect(pairs('a=1&b=%20&c=x+y&d=2')).toEqual([
    ['a', '1'],
    ['b', ' '],
    ['c', 'x y'],
    ['d', '2'],
  ])
})

test('an escape is decoded once', () => {
  expect(pairs('a=%252B')).toEqual([['a', '%2B']])
})

test('keeps what the client wrote, for the links', () => {
  expect(parseQueryString('a=%3e+1&b').map(({ raw }) => raw)).toEqual(['a=%3e+1', 'b'])
})

describe('D4: InvalidQueryString', () => {
  for (const query of ['a=%', 'a=%4', 'a=%ZZ', '%=1', 'a=%FF', 'a=%C3', 'a=%C3%28', 'a=%ED%A0%80', 'a=%C0%AF', 'a=1&b=%E'])
    test(query, () => {
      let thrown: unknown
      try {
        parseQueryString(query)
      } catch (error) {
        thrown = error
      }
      expect(thrown).toBeInstanceOf(ApiError)
      expect(thrown).toMatchObject({ code: 'InvalidQueryString', target: 'Api' })
    })
})

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { ApiError } from '../../src/errors.ts'
import { parseQueryString } from '../../src/parse/parameters.ts'

const pairs = (query: string) => parseQueryString(query).map(({ name, value }) => [name, value])
const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))

/** The same by what JavaScript has; null: it cannot be decoded. */
function plainly(query: string): unknown {
  const parts = query.split('&').filter((part) => part !== '')
  try {
    return parts.map((raw) => {
      const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(raw) ?? []
      return { name: decode(name), value: decode(value), raw }
    })
  } catch {
    return null
  }
}

function parsed(query: string): unknown {
  try {
    return parseQueryString(query)
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ code: 'InvalidQueryString', target: 'Api' })
    return null
  }
}

const expectAgreement = (query: string) => expect([query, parsed(query)]).toEqual([query, plainly(query)])

test('D4: names and values are decoded in order, as by decodeURIComponent; + is a space, and `raw` is what the client wrote', () => {
  const pieces = [
    '&',
    '&',
    '=',
    '=',
    '+',
    'a',
    'Name',
    '>1',
    'Ł',
    '%',
    '%2B',
    '%26',
    '%3d',
    '%3E',
    '%252B',
    '%C3%AB',
    '%FF',
    '%E',
  ]
  const queries = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''))
  fc.assert(fc.property(queries, expectAgreement), { numRuns: 5_000 })
  expect(pairs('Name==<b>&&a+b=c%2Bd&x')).toEqual([
    ['Name', '=<b>'],
    ['a b', 'c+d'],
    ['x', ''],
  ])
})

test('D4: every invalid escape, and bytes that are not UTF-8, are refused', () => {
  const hex = [...'0123456789abcdefABCDEFgG@`/:Ł ', '']
  for (const high of hex) for (const low of hex) expectAgreement(`a=<%${high}${low}%41`)
  for (const bytes of ['%f0%9f%98%80', '%C3%28', '%ED%A0%80', '%C0%AF', '%=1', '1&b=%E']) expectAgreement(`a=${bytes}`)
})

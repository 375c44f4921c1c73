import { expect, test } from 'bun:test'
import { parseNoParameters } from '../../src/parse/noParameters.ts'

const fault = (query: string): unknown => {
  try {
    parseNoParameters(query)
    return null
  } catch (error) {
    return error
  }
}

test('no parameter is no fault', () => {
  for (const query of ['', '&', '&&']) expect(fault(query)).toBeNull()
})

test('D21: the first parameter is the target', () => {
  expect(fault('N%61me=x&b=1')).toMatchObject({ code: 'UnknownParameter', target: 'Name' })
})

test('D4: what cannot be decoded is InvalidQueryString here too', () => {
  expect(fault('a=%ZZ')).toMatchObject({ code: 'InvalidQueryString' })
})

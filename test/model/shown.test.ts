import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { shown } from '../../src/model/shown.ts'

describe('shown', () => {
  test.each([
    ['', ''],
    ['Name', 'Name'],
    ['12345', '12345'],
    ['123456', '12345'],
    ['1234\u{1f468}', '1234'],
    ['123\u{1f468}6', '123\u{1f468}'],
    ['12\ud83d4', '12\ufffd4'],
    ['1234\ud83d', '1234\ufffd'],
    ['1234\ud83d6', '1234\ufffd'],
    ['\udc68', '\ufffd'],
  ])('%j is shown as %j', (text, expected) => expect(shown(text, 5)).toBe(expected))

  test('is the beginning of any text, whole characters of it, and well-formed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 30 }), fc.integer({ min: 1, max: 20 }), (text, lengthMax) => {
        const start = shown(text, lengthMax)
        expect(text.startsWith(start)).toBe(true)
        expect(start.length).toBeGreaterThanOrEqual(Math.min(text.length, lengthMax - 1))
        expect(start.length).toBeLessThanOrEqual(lengthMax)
        expect(start.isWellFormed()).toBe(true)
      }),
    )
  })
})

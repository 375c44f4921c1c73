import { describe, expect, test } from 'bun:test'
import { isExcessive } from '../../src/parse/body.ts'

const MIB = 1024 * 1024
/** Longer than what is not looked at. */
const padded = (text: string) => text + ' '.repeat(20_000)

describe('a text is excessive', () => {
  test.each([
    ['a mebibyte of brackets', '['.repeat(MIB)],
    ['objects within objects', '{"a":'.repeat(10_000)],
    ['65 arrays within one another', padded('['.repeat(65) + ']'.repeat(65))],
    ['an array of very many numbers', `[${'1,'.repeat(200_000)}1]`],
    ['an object of very many properties', `{${'"a":1,'.repeat(100_000)}"a":1}`],
    ['a text of very many escapes', `{"name":"${'\\\\'.repeat(100_001)}"}`],
    ['a text of very many escaped quotes, without an end', `{"name":"${'\\"'.repeat(100_001)}`],
    ['very many empty arrays', `[${'[],'.repeat(1_001)}[]]`],
  ])('%s', (_, text) => {
    expect(isExcessive(text)).toBe(true)
  })
})

describe('a text is not excessive', () => {
  test.each([
    ['a long string', JSON.stringify({ name: 'x'.repeat(MIB) })],
    ['signs within a string', JSON.stringify({ name: '[{,'.repeat(100_000) })],
    ['escaped quotes and backslashes before them', JSON.stringify({ name: '"\\",[{\\\\"'.repeat(2_000), b: '\\' })],
    ['a string that does not end', `{"name":"${'[,'.repeat(100_000)}`],
    ['64 arrays within one another', padded('['.repeat(64) + ']'.repeat(64))],
    ['as many values as a short text can have', `[${'1,'.repeat(998)}1]`.padEnd(2_001)],
    ['arrays beside one another', padded(`[${'[],'.repeat(400)}[]]`)],
    ['a short text, whatever is in it', '['.repeat(2_000)],
  ])('%s', (_, text) => {
    expect(isExcessive(text)).toBe(false)
  })
})

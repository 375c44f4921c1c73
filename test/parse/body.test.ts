import { describe, expect, test } from 'bun:test'
import { JsonNumber } from '../../src/model/kinds.ts'
import { BODY_BYTES_MAX, checkComplexity, readBody } from '../../src/parse/body.ts'

function request(body: string | ReadableStream) {
  const headers = { 'content-type': 'application/json' }
  return new Request('http://localhost/Companies', { method: 'POST', body, headers })
}

test('a client that disconnects while it sends its body leaves no timer and no unhandled error', async () => {
  const code = `
    const { readBody } = await import('${import.meta.dir}/../../src/parse/body.ts')
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('left')) })
    const headers = { 'content-type': 'application/json' }
    await readBody(new Request('http://localhost/', { method: 'POST', body, headers })).catch(() => undefined)`
  const child = Bun.spawn([process.execPath, '-e', code], { stdout: 'pipe', stderr: 'pipe' })
  expect([await child.stderr.text(), await child.exited]).toEqual(['', 0])
})

test('a large body keeps its numbers as written; a body with too many values, or an empty body, is refused', async () => {
  const padded = JSON.stringify({ Period: { Days: 1 } }).replace('1', `${' '.repeat(20_000)}9999999999.12345678`)
  expect(await readBody(request(padded))).toEqual({ Period: { Days: new JsonNumber('9999999999.12345678') } })
  const many = readBody(request(JSON.stringify({ Name: Array(400_000).fill(1) })))
  await expect(many).rejects.toMatchObject({ code: 'InvalidJson', target: 'Body' })
  await expect(readBody(request(' \n'))).rejects.toThrow('The body is empty; it must be a JSON object.')
  const keys = Object.fromEntries(Array.from({ length: 999 }, (_, index) => [`key${index}`, 1]))
  expect(Object.keys(await readBody(request(JSON.stringify(keys))))).toHaveLength(999)
})

test.each(['late', 'too large'])(
  'a body that is %s gets the expected error, even if its stream cannot be canceled',
  async (why) => {
    const stream = new ReadableStream({
      pull(controller) {
        if (why === 'too large') controller.enqueue(new Uint8Array(BODY_BYTES_MAX))
        return why === 'late' ? new Promise(() => undefined) : undefined
      },
      cancel: () => Promise.reject(new Error('cannot be left')),
    })
    const code = await readBody(request(stream), 20).catch((error) => error.code)
    expect(code).toBe(why === 'late' ? 'RequestTimeout' : 'PayloadTooLarge')
  },
)

const MIB = 1024 * 1024
/** Longer than what is not looked at. */
const padded = (text: string) => text + ' '.repeat(20_000)

const EXCESSIVE = 'has more values or escapes, or is nested more deeply, than any entity'

describe('checkComplexity refuses', () => {
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
    expect(() => checkComplexity(text, 'Body')).toThrow(EXCESSIVE)
  })
})

describe('checkComplexity accepts', () => {
  test.each([
    ['a long string', JSON.stringify({ name: 'x'.repeat(MIB) })],
    ['signs within a string', JSON.stringify({ name: '[{,'.repeat(100_000) })],
    ['escaped quotes and backslashes before them', JSON.stringify({ name: '"\\",[{\\\\"'.repeat(2_000), b: '\\' })],
    ['a string that does not end', `{"name":"${'[,'.repeat(100_000)}`],
    ['64 arrays within one another', padded('['.repeat(64) + ']'.repeat(64))],
    ['as many values as a short text can have', `[${'1,'.repeat(998)}1]`.padEnd(2_001)],
    ['arrays one after another', padded(`[${'[],'.repeat(400)}[]]`)],
    ['a short text, whatever is in it', '['.repeat(2_000)],
  ])('%s', (_, text) => {
    expect(() => checkComplexity(text, 'Body')).not.toThrow(EXCESSIVE)
  })
})

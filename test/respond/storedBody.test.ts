import { describe, expect, test } from 'bun:test'
import { StoredBody } from '../../src/respond/storedBody.ts'

const long = 'An absence. '.repeat(200)
const HEADERS = { 'Content-Type': 'text/plain', Vary: 'Accept' }
const stored = new StoredBody(long, HEADERS)
const ask = (body: StoredBody, headers: Record<string, string> = {}) => body.reply(new Headers(headers))
const textOf = (body: unknown) => new TextDecoder().decode(body as Uint8Array)

describe('a stored body', () => {
  test('goes out as it is to a client that takes no gzip, with the tag of what is packed, and of nothing else', () => {
    const { status, headers, body } = ask(stored)
    expect([status, textOf(body)]).toEqual([200, long])
    expect(headers).toEqual({ ...HEADERS, Vary: 'Accept, Accept-Encoding', ETag: expect.stringMatching(/^W\/"\w+"$/) })
    expect(ask(stored, { 'accept-encoding': 'gzip, br' }).headers).toEqual({ ...headers, 'Content-Encoding': 'gzip' })
    expect(ask(new StoredBody(`${long}!`, HEADERS)).headers.ETag).not.toBe(headers.ETag as string)
  })

  test('that is short is not packed, and varies by nothing more', () => {
    const { headers, body } = ask(new StoredBody('short', {}), { 'accept-encoding': 'gzip' })
    expect([textOf(body), Object.keys(headers)]).toEqual(['short', ['ETag']])
  })

  test('is 304 without a body for those that have it', () => {
    const tag = ask(stored).headers.ETag as string
    for (const known of [tag, tag.replace('W/', ''), `"other", ${tag}`, '*']) {
      const { status, headers, body } = ask(stored, { 'if-none-match': known, 'accept-encoding': 'gzip' })
      expect([known, status, body, headers]).toEqual([known, 304, null, ask(stored).headers])
    }
    for (const other of ['"other"', '', 'W/', tag.slice(0, -1)])
      expect([other, ask(stored, { 'if-none-match': other }).status]).toEqual([other, 200])
  })

  test('gives each answer headers of its own, since the server adds to them', () => {
    ask(stored).headers['X-Request-Id'] = 'one'
    expect(ask(stored).headers).not.toHaveProperty('X-Request-Id')
  })
})

import { describe, expect, test } from 'bun:test'
import { errorOf, KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const BROWSER = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

const server = useServer()

async function page(path: string, init: RequestInit = {}) {
  const answer = await fetch(server.url + path, { ...init, headers: { ...BROWSER, ...init.headers } })
  const { status, headers } = answer
  return { status, type: headers.get('content-type'), headers, text: await answer.text() }
}

describe('errors in a browser', () => {
  test.each([
    ['of a request without a key', '/Absences', 401, 'The request needs a valid key', './docs'],
    ['of an unknown error code', '/errors/Nope', 404, 'There is no such error code.', '../docs'],
    ['of an unknown file', '/docs/nothing', 404, 'There is no such file.', '../docs'],
    ['of a target that is too long', `/Absences/Summary?${'x'.repeat(3_072)}`, 414, 'The request target', '../docs'],
  ])('the error %s is an HTML page with a link to /docs', async (_, path, status, message, docs) => {
    const answer = await page(path)
    expect([answer.status, answer.type]).toEqual([status, 'text/html; charset=utf-8'])
    expect(answer.text).toContain(message)
    expect(answer.text).toContain(`href="${docs}"`)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(answer.headers.get('x-ratelimit-remaining')).not.toBeNull()
  })

  test('an error page of 401 has the scheme in its header, and no markup of the request', async () => {
    expect((await page('/Absences')).headers.get('www-authenticate')).toBe('ApiKey')
    const wrong = await page('/Absences?%3Cb%3Ex=1', { headers: { Authorization: `ApiKey ${KEY}` } })
    expect([wrong.status, wrong.text.includes('<b>x')]).toEqual([400, false])
    expect(wrong.text).toContain('&lt;b&gt;x')
  })

  test('programs, browsers that write, and requests with paths too long for links get errors as JSON', async () => {
    expect((await page(`/${'a/'.repeat(2_000)}`)).type).toStartWith('application/json')
    for (const accept of ['*/*', 'application/json', 'text/html;q=0.5,application/json'])
      expect((await page('/Absences', { headers: { Accept: accept } })).type).toStartWith('application/json')
    expect((await page('/Absences', { method: 'POST' })).type).toStartWith('application/json')
    expect(errorOf(await server.get('/errors/Nope'))).toMatchObject({ code: 'NotFound' })
  })
})

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import { useServer } from '../support/cases.ts'
import { KEY } from '../support/server.ts'

/** What a page sees of an answer; a refusal by the browser is an error without any of it. */
interface Seen {
  status?: number
  headers?: Record<string, string | null>
  body?: string
  error?: string
}

type Asked = [path: string, init?: { method?: string; headers?: Record<string, string>; body?: string }]

const NAMES = ['X-Total-Count', 'Link', 'Location', 'Retry-After', 'X-RateLimit-Remaining', 'X-Request-Id', 'Allow']
const authorization = `ApiKey ${KEY}`

const HTML = { headers: { 'Content-Type': 'text/html' } }

describeInBrowser('a page of another origin, in Chromium', () => {
  // Two origins: browsers hold the port to be a part of it.
  const pages = [1, 2].map(() =>
    Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response('<!doctype html><title>Page</title><link rel="icon" href="data:,">', HTML),
    }),
  )
  const [listed = '', foreign = ''] = pages.map((page) => page.url.origin)
  const server = useServer({ environment: { CORS_ORIGINS: listed, RATE_LIMITS_ANONYMOUS: '20/1h' } })
  const open = useServer(() => ({ databaseUrl: server.databaseUrl, environment: { CORS_ORIGINS: '*' } }))
  let browser: TestBrowser
  beforeAll(async () => {
    await server.sql`insert into company (name) select 'Company ' || n from generate_series(1, 12) as n`
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    for (const page of pages) page.stop(true)
  })

  /** What a page at `origin` sees of the answers to its requests, one after the other. */
  async function seenFrom(origin: string, url: string, requests: Asked[]): Promise<Seen[]> {
    const { page } = await browser.open(origin)
    return page.evaluate(
      async ({ url, requests, names }) => {
        const seen = []
        for (const [path, init] of requests)
          seen.push(
            await fetch(url + path, init).then(
              async (answer) => ({
                status: answer.status,
                headers: Object.fromEntries(names.map((name) => [name, answer.headers.get(name)])),
                body: await answer.text(),
              }),
              (error) => ({ error: String(error) }),
            ),
          )
        return seen
      },
      { url, requests, names: NAMES },
    )
  }

  for (const [what, origin, url] of [
    ['in the list', () => listed, () => server.url],
    ['where all are allowed', () => foreign, () => open.url],
  ] as const)
    test(`${what} reads, writes, and sees every header`, async () => {
      const headers = { authorization }
      const json = { ...headers, 'content-type': 'application/json', 'x-request-id': 'page/1' }
      const [list, created, changed, lost, missing] = await seenFrom(origin(), url(), [
        ['/Companies?PageSize=5&page=2', { headers }],
        ['/Companies', { method: 'POST', headers: json, body: '{"Name":"From a page"}' }],
        ['/Companies/1', { method: 'PATCH', headers: json, body: '{"Enabled":true}' }],
        ['/Companies', { method: 'DELETE', headers }],
        ['/Nowhere', { headers }],
      ])
      expect(list?.status).toBe(200)
      expect(Number(list?.headers?.['X-Total-Count'])).toBeGreaterThan(11)
      expect(list?.headers?.Link).toContain('rel="prev"')
      expect(list?.headers?.Location).toContain('rel="previous"')
      expect(list?.headers?.['X-RateLimit-Remaining']).toMatch(/^\d+$/)
      expect(created).toMatchObject({ status: 201, headers: { 'X-Request-Id': 'page/1' } })
      expect(created?.headers?.Location).toMatch(/\/Companies\/\d+$/)
      expect(changed?.status).toBe(200)
      expect(lost).toMatchObject({ status: 405, headers: { Allow: 'GET, HEAD, POST, OPTIONS' } })
      expect(missing?.status).toBe(404)
    })

  test('sees all headers too where their names have become *, in a head that is full', async () => {
    const [list] = await seenFrom(listed, server.url, [
      [`/Companies?PageSize=5&page=2&Name=!=${'x'.repeat(1_400)}`, { headers: { authorization } }],
    ])
    expect(list?.headers).toMatchObject({
      'X-Total-Count': expect.any(String),
      Location: expect.any(String),
      Link: null,
    })
  })

  test('of which the list has none gets nothing but an error of the browser’s', async () => {
    const seen = await seenFrom(foreign, server.url, [
      ['/Companies', { headers: { authorization } }],
      ['/', {}],
    ])
    for (const { status, error } of seen) expect([status, error]).toEqual([undefined, expect.stringMatching(/Failed to fetch/)])
  })

  test('reads why it is refused: 401 with what is wrong with its key, 429 with when to come again', async () => {
    const [other, wrong] = await seenFrom(listed, server.url, [
      ['/Companies', { headers: { 'x-api-key': KEY } }],
      ['/Companies', { headers: { authorization: `Bearer ${KEY}` } }],
    ])
    expect([other?.status, wrong?.status]).toEqual([401, 401])
    expect(other?.body).toContain('A key in the header X-API-Key is not read.')
    expect(wrong?.body).toContain('The scheme is ApiKey, not Bearer.')
    // Without a key, a type of its own or an id a request needs no preflight, which would be what is refused.
    const seen = await seenFrom(
      listed,
      server.url,
      Array.from({ length: 20 }, () => ['/Companies']),
    )
    const refused = seen.find(({ status }) => status === 429)
    expect(refused?.body).toContain('The limit of 20 per 1h is reached; retry after')
    expect(Number(refused?.headers?.['Retry-After'])).toBeGreaterThan(0)
  })
})

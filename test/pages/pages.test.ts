import { describe, expect, test } from 'bun:test'
import { SCALAR_FILE } from '../../src/pages/docsPage.ts'
import { exploreFiles } from '../../src/pages/explorePage.ts'
import { sendRaw } from '../support/raw.ts'
import { errorOf } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'
const EITHER = ['/', '/errors', '/errors/NotFound']
const FILES = Object.keys(exploreFiles).map((file) => `/explore/${file}`)
const OPEN = [...EITHER, '/docs', `/docs/${SCALAR_FILE}`, '/explore', ...FILES, '/favicon.ico', '/robots.txt']

// The period of the limit is longer than any pause of a busy machine.
const server = useServer({ environment: { RATE_LIMITS_ANONYMOUS: '10000/1h' } })

const get = (path: string, headers: Record<string, string> = {}) => server.get(path, { authorization: '', ...headers })

describe.each(OPEN)('the public page %s', (path) => {
  test('a page needs no key, and is charged to the address of the client. D33, D35', async () => {
    const [one, other] = [await get(path, { accept: BROWSER }), await get(path, { accept: BROWSER })]
    expect([one.status, other.status]).toEqual([200, 200])
    const left = ({ headers }: typeof one) => Number(headers.get('x-ratelimit-remaining'))
    expect(left(other)).toBe(left(one) - 1)
  })

  test('a page may be cached by clients', async () => {
    expect((await get(path)).headers.get('cache-control')).toMatch(/max-age=[1-9]/)
  })
})

describe.each(EITHER)('the page %s in two forms', (path) => {
  test('a page is sent as HTML to browsers and as JSON to programs', async () => {
    const page = await get(path, { accept: BROWSER })
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.text).toStartWith('<!doctype html>')
    const json = await get(path, { accept: '*/*' })
    expect(json.headers.get('content-type')).toBe('application/json; charset=utf-8')
    for (const { headers } of [page, json]) expect(headers.get('vary')).toContain('Accept')
  })

  test('a page gets 304 for the ETag of the same form, and 200 for the ETag of the other form', async () => {
    const [page, json] = [await get(path, { accept: BROWSER }), await get(path)]
    const tag = page.headers.get('etag') ?? ''
    expect(json.headers.get('etag')).not.toBe(tag)
    const again = await get(path, { accept: BROWSER, 'if-none-match': tag })
    expect([again.status, again.text, again.headers.has('content-type')]).toEqual([304, '', false])
    expect((await get(path, { 'if-none-match': tag })).status).toBe(200)
  })
})

describe.each([...EITHER, '/docs', '/explore'])('the page %s in a browser', (path) => {
  test('a page may load nothing from other servers, and cannot be framed', async () => {
    const { headers } = await get(path, { accept: BROWSER })
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toStartWith("default-src 'none'; ")
    expect(policy).toContain("base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    expect(policy).not.toMatch(/https?:|script-src[^;]*'unsafe|\*/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('a page has links that work under any prefix, also if its path ends with a slash', async () => {
    for (const spelling of path === '/' ? [path] : [path, `${path}/`]) {
      const { text } = await get(spelling, { accept: BROWSER })
      const links = [...text.matchAll(/(?:href|src)="([^"#]*)/g)].map(([, link = '']) => link)

      expect(links.length).toBeGreaterThan(1)
      for (const link of links) {
        const { href } = new URL(link, `http://proxy.example/people${spelling}`)
        expect(href).toStartWith('http://proxy.example/people/')
        expect([link, (await get(href.slice('http://proxy.example/people'.length))).status]).toEqual([link, 200])
      }
    }
  })
})

test('clients without gzip get the script of /docs unpacked', async () => {
  const { headers, text } = await get(`/docs/${SCALAR_FILE}`, { 'accept-encoding': 'identity' })
  expect([headers.get('content-encoding'), headers.get('content-type')]).toEqual([null, 'text/javascript; charset=utf-8'])
  expect(text).toContain('createApiReference')
  expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
})

test('/explore allows only scripts and styles of its own files', async () => {
  const { headers } = await get('/explore')
  expect(headers.get('content-security-policy')).toEndWith(
    "script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
  )
})

test('the landing page links to /explore first', async () => {
  const { text } = await get('/', { accept: BROWSER })
  expect(/<main>[\s\S]*?href="([^"]*)"/.exec(text)?.[1]).toBe('./explore')
})

test('the server has one icon, and its robots.txt disallows crawling', async () => {
  const { headers } = await get('/favicon.ico')
  expect([headers.get('content-type'), Number(headers.get('content-length')) < 1_000]).toEqual(['image/x-icon', true])
  expect((await get('/robots.txt')).text).toBe('User-agent: *\nDisallow: /\n')
})

describe('pages of errors', () => {
  test('the page of an error is found in upper or lower case', async () => {
    expect((await get('/ERRORS/notfound')).body.code).toBe('NotFound')
  })

  test('the page of an unknown error code gets 404 with the nearest code, and does not repeat the path', async () => {
    const { status, body } = await get('/errors/NotFond')
    expect([status, body.Error.Message]).toEqual([404, 'There is no such error code. Did you mean NotFound?'])
    for (const odd of ['%00', '%ZZ', '%3Cscript%3E', '..%2F..%2Fetc', '%ff%fe', '__proto__', 'a'.repeat(2_000)]) {
      expect((await sendRaw(server, `GET /errors/${odd}`, { accept: BROWSER })).body).not.toContain('script')
      const answer = await sendRaw(server, `GET /errors/${odd}`, {})
      expect([odd, answer.status]).toEqual([odd, 404])
      const { Code, Message } = JSON.parse(answer.body).Error
      expect([Code, Message]).toEqual(['NotFound', 'There is no such error code.'])
    }
  })
})

test.each(['/docs/', '/DOCS', '/Errors/', '/%65rrors'])('a page is also found at %s', async (path) => {
  expect((await get(path, { accept: BROWSER })).status).toBe(200)
})

test.each([
  '/docs/other.js',
  '/docs/..%2fpages.ts',
  '/docs/scalar.json',
  '/docs/%00',
  '/docs/LICENSE',
  '/explore/explore.css',
  '/explore/toString',
])('the path %s gets 404, since the folder is not served', async (path) => {
  expect(errorOf(await get(path))).toMatchObject({ status: 404, code: 'NotFound' })
})

describe('the landing page with special characters in its address', () => {
  const PUBLIC_URL = "https://a&b.example/it's/$(touch x)`y`;"
  const environment = { PUBLIC_URL: PUBLIC_URL.replace(' ', '%20') }
  const odd = useServer(() => ({ databaseUrl: server.databaseUrl, environment }))

  test('the landing page escapes its address for HTML', async () => {
    const { text } = await odd.get('/', { accept: BROWSER })
    expect(text).toContain('https://a&amp;b.example/it&#x27;s/$(touch%20x)`y`;/Companies')
  })

  test('the landing page escapes its address in a shell command', async () => {
    const { text } = await odd.get('/', { accept: BROWSER })
    const [, escaped = ''] = /<pre class="all">([^<]*)<\/pre>/.exec(text) ?? []
    const command = escaped.replaceAll('&#x27;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
    const { stdout } = Bun.spawnSync(['sh', '-c', command.replace(/^curl/, "printf '%s\\n'")])
    expect(stdout.toString().trimEnd().split('\n').slice(0, 5)).toEqual([
      ...['-i', '-G', "https://a&b.example/it's/$(touch%20x)`y`;/Absences", '-H', 'Authorization: ApiKey <key>'],
    ])
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { pageLinksOf, pagesOf } from '../support/pageLinks.ts'
import { sendRaw } from '../support/raw.ts'
import { createRow } from '../support/rows.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await server.sql`insert into company (name, enabled) select '<' || n, n <= 12 from generate_series(1, 23) as n`
})
afterAll(() => server.stop())

const get = (query: string) => server.get(`/Companies?${query}`)

describe('4.3 Paging response headers', () => {
  test('X-Total-Count is the number of records in the collection', async () => {
    expect((await get('PageSize=5')).headers.get('x-total-count')).toBe('23')
    expect((await server.get('/Absences')).headers.get('x-total-count')).toBe('0')
  })

  test('the first page has no first and no previous link', async () => {
    expect(pagesOf(await get('PageSize=5'))).toEqual({ next: '2', last: '5' })
    expect(pagesOf(await get('PageSize=5&page=1'))).toEqual({ next: '2', last: '5' })
  })

  test('a page in the middle has all four links', async () => {
    expect(pagesOf(await get('PageSize=5&page=3'))).toEqual({ first: '1', previous: '2', next: '4', last: '5' })
  })

  test('the last page has no next and no last link', async () => {
    expect(pagesOf(await get('PageSize=5&page=5'))).toEqual({ first: '1', previous: '4' })
  })

  test('a last page that is just full has no next page', async () => {
    expect(pagesOf(await get('PageSize=23'))).toEqual({})
    expect(pagesOf(await get('Enabled=true&PageSize=6&page=2'))).toEqual({ first: '1', previous: '1' })
  })

  test('links keep the other query parameters as the client wrote them', async () => {
    const answer = await get('enabled=TRUE&Name=%3E%3D%3c&page=2&sort=-Name,+Id&PageSize=5')
    const links = pageLinksOf(answer)
    expect(links.map(({ relation }) => relation)).toEqual(['first', 'previous', 'next', 'last'])
    for (const { url } of links)
      expect(url.search.startsWith('?enabled=TRUE&Name=%3E%3D%3c&sort=-Name,+Id&PageSize=5&')).toBe(true)
  })

  test('a # in the query does not make a fragment of what stands behind it in a link', async () => {
    const { head } = await sendRaw(server, 'GET /Companies?Name=!=#x&PageSize=5')
    expect(head).toContain('?Name=!=%23x&PageSize=5&page=2&cursor=')
  })

  test('links keep filters that name one property twice', async () => {
    for (const { url } of pageLinksOf(await get('Id=%3E0&Id=%3C1000&PageSize=5&page=2')))
      expect(url.searchParams.getAll('Id')).toEqual(['>0', '<1000'])
  })

  test('each link leads to the page it names', async () => {
    const wholeIds = (await get('sort=-Name&PageSize=50')).body.map(({ id }: { id: number }) => id)
    const starts: Record<string, number> = { first: 0, previous: 5, next: 15, last: 20 }
    for (const { relation, url } of pageLinksOf(await get('sort=-Name&PageSize=5&page=3'))) {
      const { body } = await server.get(url.pathname + url.search)
      const start = starts[relation] as number
      const ids = body.map(({ id }: { id: number }) => id)
      expect({ relation, ids }).toEqual({ relation, ids: wholeIds.slice(start, start + 5) })
    }
  })

  test('next after next visits each row once and ends', async () => {
    const seen: number[] = []
    let path = '/Companies?sort=Enabled&PageSize=6'
    for (let pages = 0; path !== '' && pages < 10; pages++) {
      const answer = await server.get(path)
      seen.push(...answer.body.map(({ id }: { id: number }) => id))
      const next = pageLinksOf(answer).find(({ relation }) => relation === 'next')?.url
      path = next ? next.pathname + next.search : ''
    }
    expect(path).toBe('')
    expect(seen).toHaveLength(23)
    expect(new Set(seen).size).toBe(23)
  })

  test('HEAD carries the headers of GET', async () => {
    const path = '/Companies?PageSize=5&page=3'
    const head = await server.send('HEAD', path)
    expect({ status: head.status, text: head.text, total: head.headers.get('x-total-count') }).toEqual({
      ...{ status: 200, text: '', total: '23' },
    })
    expect(pagesOf(head)).toEqual(pagesOf(await server.get(path)))
  })

  test.each(['/companies', '/COMPANIES/', '/Companies'])('D1: links keep the path as the client wrote it: %s', async (path) => {
    const links = pageLinksOf(await server.get(`${path}?PageSize=5&page=2`))
    expect(links.map(({ url }) => url.pathname)).toEqual(Array(4).fill(path))
  })

  test('D28: links keep PageSize as the client wrote it', async () => {
    const links = pageLinksOf(await get('pagesize=2'))
    expect(links.map(({ relation, url }) => [relation, url.searchParams.get('pagesize')])).toEqual([
      ['next', '2'],
      ['last', '2'],
    ])
    expect(pageLinksOf(await get('')).map(({ url }) => url.searchParams.has('PageSize'))).toEqual([false, false])
  })

  test('D31: links stand in angle brackets in the order first, previous, next, last', async () => {
    const links = pageLinksOf(await get('PageSize=5&page=3'))
    expect(links.map(({ relation }) => relation)).toEqual(['first', 'previous', 'next', 'last'])
  })

  test('D31: the same links go out as Link, with the relations first, prev, next, last', async () => {
    const answer = await get('PageSize=5&page=3')
    const standard = pageLinksOf(answer, 'link')
    expect(standard.map(({ relation }) => relation)).toEqual(['first', 'prev', 'next', 'last'])
    expect(standard.map(({ url }) => url.href)).toEqual(pageLinksOf(answer).map(({ url }) => url.href))
  })

  test('D31: where no link applies there is no header', async () => {
    for (const query of ['PageSize=50', 'Name=nobody']) {
      const { headers } = await get(query)
      expect([headers.get('location'), headers.get('link')]).toEqual([null, null])
    }
  })

  test('D31: links stand on the address that the server listens on', async () => {
    for (const { url } of pageLinksOf(await get('PageSize=5&page=3'))) expect(url.origin).toBe(server.url)
  })

  test('D31: a Host header that lies does not reach the links', async () => {
    const { status, head } = await sendRaw(server, 'GET /Companies?PageSize=5', { Host: 'evil.example' })
    expect(status).toBe(200)
    expect(head).toContain(`<${server.url}/Companies?PageSize=5&`)
    expect(head).not.toContain('evil')
  })

  test.each(['a b', 'x"y', 'host/path', 'a@b', ''])('D31: a Host header that is none, "%s", is 400', async (Host) => {
    const { status, body } = await sendRaw(server, 'GET /Companies?PageSize=5', { Host })
    const { Code, Reference } = JSON.parse(body).Error
    expect({ status, Code }).toEqual({ status: 400, Code: 'InvalidHost' })
    expect(Reference).toBe(`${server.url}/errors/InvalidHost`)
  })

  test('D31: with PUBLIC_URL every link stands on it', async () => {
    const behind = await startServer({ environment: { PUBLIC_URL: 'https://api.example.com/people/' } })
    try {
      const { id } = await createRow(behind, '/Companies', { Name: 'One' })
      await behind.sql`insert into company (name) select 'More' from generate_series(1, 14)`
      const links = pageLinksOf(await behind.get('/Companies?PageSize=5&page=2'))
      const addresses = links.map(({ url }) => url.origin + url.pathname)
      expect(addresses).toEqual(Array(4).fill('https://api.example.com/people/Companies'))
      const created = await behind.post('/companies', { Name: 'Two' })
      expect(created.headers.get('location')).toBe(`https://api.example.com/people/companies/${created.body.id}`)
      expect((await behind.get(`/Companies/${id + 1_000}`)).body.Error.Reference).toBe(
        'https://api.example.com/people/errors/NotFound',
      )
    } finally {
      await behind.stop()
    }
  })
})

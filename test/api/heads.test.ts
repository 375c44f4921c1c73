import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Connection, type RawResponse } from '../support/connection.ts'
import { Random } from '../support/random.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { uriLength } from '../support/uri.ts'

/** What nginx takes of an answer's head by default, and what Node's fetch takes. */
const [NGINX_BYTES, NODE_BYTES] = [4_096, 16_384]
const SHORT_TARGET = 700
const TARGET_MAX = 3 * 1024
const ROWS = 43
const SEED = Number(process.env.HEADS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const REQUESTS = Number(process.env.HEADS_REQUESTS ?? 150)

/** Text properties of each collection; each row has a value of the first. */
const texts: Record<string, readonly string[]> = {
  Companies: ['Name'],
  Employees: ['FirstName', 'LastName', 'Title', 'WorkEmail', 'Department', 'JobTitle', 'Type', 'MiddleName', 'Status'],
  Absences: ['Reason', 'Type', 'Status'],
}

/** As long as a name of DNS can make it. */
const ORIGIN = `https://${[61, 61, 61, 62].map((length) => 'o'.repeat(length)).join('.')}.test:65535`

// The longest that is allowed.
const PUBLIC_URL = `https://${'a'.repeat(59)}.example.com/${'b'.repeat(48)}`
const server = useServer()
const behind = useServer(() => ({
  databaseUrl: server.databaseUrl,
  environment: { PUBLIC_URL, CORS_ORIGINS: `http://localhost:5173,${ORIGIN}` },
}))
let connections: Connection[]
beforeAll(async () => {
  expect([PUBLIC_URL.length, ORIGIN.length]).toEqual([128, 267])
  for (const [table, names, count] of [
    ['company', ['name'], 199],
    ['employee', 'first_name last_name title work_email department job_title type status'.split(' '), 199],
    ['absence', ['reason', 'type', 'status'], 99],
  ] as const) {
    const text = `repeat('😀', ${count}) || chr(65 + n)`
    await server.sql.unsafe(
      `insert into ${table} (${names}) select ${names.map(() => text)} from generate_series(1, ${ROWS}) as n`,
    )
  }
  await server.sql`update employee set middle_name = 'M'`
  connections = Array.from({ length: 8 }, (_, index) => new Connection((index % 2 ? server : behind).url))
})
afterAll(() => {
  for (const connection of connections) connection.close()
})

function ask(connection: Connection, target: string, requestId: string, origin = ''): Promise<RawResponse> {
  const lines = [`GET ${target} HTTP/1.1`, 'Host: a', `Authorization: ApiKey ${KEY}`, `X-Request-Id: ${requestId}`]
  if (origin) lines.push(`Origin: ${origin}`)
  return connection.send(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), false)
}

/** A filter that every row passes, in many spellings of characters, until the target is as long as it is to be. */
function randomTarget(random: Random): { target: string; page: number } {
  const collection = random.pick(Object.keys(texts))
  const own = texts[collection] as readonly string[]
  const length = random.pick([
    () => 1 + random.below(SHORT_TARGET),
    () => SHORT_TARGET - random.below(8),
    () => 1 + random.below(TARGET_MAX),
    () => TARGET_MAX - random.below(40),
  ])()
  const page = random.pick([1, 2, 1 + random.below(9), 9, 12, 10 ** 12])
  const sorts = [...own].filter(() => random.chance(40)).map((name) => `${random.pick(['', '-', '+'])}${name}`)
  const parts = [`PageSize=5`, `sort=${sorts.join(',')}`]
  if (page !== 1 || random.chance(50)) parts.splice(random.below(3), 0, `page=${page}`)
  let target = `/${random.pick([collection, collection.toLowerCase()])}?${parts.join('&')}&${own[0]}=!=`
  const alphabet = random.pick([['x'], ['|', '`', '{'], ['%F0%9F%98%80'], ['>', '"'], ['😀'], ['x', '^', 'é', '%20', '}']])
  for (let count = 0; ; count++) {
    const next = target + (random.chance(99) || alphabet.length === 1 ? random.pick(alphabet) : 'x')
    // A name may have 200 characters; the rest is in another filter.
    const wider = count % 150 === 149 ? `${next}&${own[0]}=!=` : next
    if (uriLength(wider) > length) return { target, page }
    target = wider
  }
}

const linksIn = (text: string) =>
  [...text.matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, address = '', relation]) => ({ address, relation }))

/** Of a page that was asked for by its number. */
function relationsOf(page: number): string[] {
  const last = Math.ceil(ROWS / 5)
  const before = page > 1 ? ['first', 'previous'] : []
  return [...before, ...(page < last ? ['next'] : []), ...(page !== last ? ['last'] : [])]
}

/** What a page at an origin may see: by names, or all there is where the head has no room for them. */
function checkCors({ headers }: RawResponse, origin: string) {
  const [allowed, exposed] = [headers.get('access-control-allow-origin'), headers.get('access-control-expose-headers')]
  if (origin === '' || !headers.has('vary')) return expect([allowed, exposed]).toEqual([undefined, undefined])
  expect([origin, '*']).toContain(allowed as string)
  if (exposed !== '*') expect(exposed).toContain('X-Total-Count')
}

function checkHead(target: string, { status, headers, headBytes }: RawResponse) {
  expect(status).toBe(200)
  expect(headers.get('x-total-count')).toBe(String(ROWS))
  expect(headBytes).toBeLessThanOrEqual(uriLength(target) <= SHORT_TARGET ? NGINX_BYTES : NODE_BYTES)
  const second = headers.get('location')?.replace('rel="previous"', 'rel="prev"')
  if (headers.has('link')) expect([headers.get('link'), headBytes <= NGINX_BYTES]).toEqual([second, true])
  else if (second) expect(headBytes + `Link: ${second}\r\n`.length).toBeGreaterThan(NGINX_BYTES)
}

describe('D31: heads of lists', () => {
  test(
    `the heads of ${REQUESTS} random lists have all links, and at most 4 KiB, or 16 KiB if the target exceeds 700 characters`,
    async () => {
      console.log(`HEADS_REQUESTS=${REQUESTS} HEADS_SEED=${SEED}`)
      const seen = { withLink: 0, withoutLink: 0, cursors: 0, noCursor: 0, followed: 0, shortened: 0, asItWas: 0 }
      let next = 0
      const work = async (connection: Connection) => {
        while (next < REQUESTS) await check(connection, next++)
      }
      const check = async (connection: Connection, number: number) => {
        const random = new Random(SEED ^ Math.imul(number + 1, 0x9e3779b1))
        const requestId = 'i'.repeat(random.pick([1, 36, 128]))
        const { target, page } = randomTarget(random)
        try {
          const origin = random.pick(['', 'http://localhost:5173', ORIGIN])
          const answer = await ask(connection, target, requestId, origin)
          checkHead(target, answer)
          checkCors(answer, origin)
          seen[answer.headers.get('access-control-expose-headers') === '*' ? 'shortened' : 'asItWas']++
          const links = linksIn(answer.headers.get('location') ?? '')
          expect(links.map(({ relation }) => relation)).toEqual(relationsOf(page))
          seen[answer.headers.has('link') ? 'withLink' : 'withoutLink']++
          for (const { address, relation } of links)
            if (relation === 'next' || relation === 'previous') seen[address.includes('&cursor=') ? 'cursors' : 'noCursor']++
          const { pathname, search } = new URL(random.pick(links).address)
          const path = pathname.replace(/^\/b+/, '')
          checkHead(path + search, await ask(connection, path + search, requestId, origin))
          seen.followed++
        } catch (error) {
          throw new Error(`request ${number} of seed ${SEED}: ${target}\n${(error as Error).message}`)
        }
      }
      await Promise.all(connections.map(work))
      // If the generator missed one of these cases, its count would be 0.
      for (const count of Object.values(seen)) expect(count).toBeGreaterThan(REQUESTS / 20)
    },
    20_000 + REQUESTS * 50,
  )

  test('a list for a page of another origin has CORS headers, also with all four links of a target of 700 characters', async () => {
    const kept = '/Companies?PageSize=5&Name=!='
    const target = kept + 'x'.repeat(SHORT_TARGET - kept.length - '&page=2'.length)
    const longest = await ask(connections[0] as Connection, `${target}&page=2`, 'i'.repeat(128), ORIGIN)
    checkHead(target, longest)
    expect(linksIn(longest.headers.get('location') ?? '')).toHaveLength(4)
    const corsOf = ({ headers }: RawResponse) => [
      headers.get('vary'),
      headers.get('access-control-allow-origin'),
      headers.get('access-control-expose-headers'),
    ]
    expect(corsOf(longest)).toEqual(['Origin', '*', '*'])
    const short = await ask(connections[0] as Connection, `${kept}&page=2`, 'i'.repeat(128), ORIGIN)
    expect(corsOf(short)).toEqual(['Origin', ORIGIN, expect.stringContaining('Link, ')])
    expect(short.headers.has('link')).toBe(true)
  })

  test('a link of the longest target leads to its page, although the page number makes the link longer than 3 KiB', async () => {
    const kept = `/Companies?PageSize=5&Name=!=`
    const target = kept + 'x'.repeat(TARGET_MAX - kept.length)
    const first = await server.get(target)
    const { address } = linksIn(first.headers.get('location') ?? '')[0] as { address: string }
    expect(address).toBe(`${server.url}${target}&page=2`)
    const second = await server.get(address.slice(server.url.length))
    expect([second.status, second.body.length, second.body[0].id]).toEqual([200, 5, 6])
  })

  test('if the links in Location exceed 4 KiB, they keep their cursors, and the header Link is left out', async () => {
    const { headers } = await server.get(`/Companies?PageSize=5&page=3&Name=!=${'x'.repeat(1_000)}`)
    for (const { address, relation } of linksIn(headers.get('location') ?? ''))
      expect([relation, address.includes('&cursor=')]).toEqual([relation, relation === 'previous' || relation === 'next'])
    expect(headers.has('link')).toBe(false)
  })

  test('the header Link is sent if the response head has at most 4 KiB with it, whatever the other headers are', async () => {
    const connection = connections[0] as Connection
    const list = async (length: number, requestId: number) => {
      const target = `/Companies?PageSize=5&Name=!=${'x'.repeat(length)}`
      const answer = await ask(connection, target, 'i'.repeat(requestId))
      checkHead(target, answer)
      return answer
    }
    let length = 600
    while ((await list(length, 128)).headers.has('link')) length += 10
    const withLink: number[] = []
    for (let requestId = 1; requestId <= 128; requestId++) {
      const { headers, headBytes } = await list(length, requestId)
      if (headers.has('link')) withLink.push(headBytes)
    }
    expect([withLink.length < 128, Math.max(...withLink)]).toEqual([true, NGINX_BYTES])
  })

  test('a response head with room for only one cursor keeps the cursor of the link to the next page', async () => {
    const { headers } = await server.get(`/Companies?sort=Name&PageSize=5&page=3&Name=!=${'x'.repeat(400)}`)
    const cursors = linksIn(headers.get('location') ?? '').map(({ address }) => /&cursor=(.*)/.exec(address)?.[1]?.length ?? 0)
    expect(cursors).toEqual([0, 0, expect.any(Number), 0])
    expect(cursors[2]).toBeGreaterThan(1_000)
  })
})

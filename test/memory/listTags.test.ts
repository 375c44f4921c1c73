import { describe, expect, test } from 'bun:test'
import { Random } from '../support/random.ts'
import type { Answer, TestServer } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// D42: the tag of a page is the same while its rows, its total and its links are, in every process, and not longer.

/** Two that keep tables in memory, and one that keeps none. All say the same address in links. */
const environment = { PUBLIC_URL: 'http://roster.test' }
const one = useServer({ environment })
const other = useServer(() => ({ environment, databaseUrl: one.databaseUrl }))
const plain = useServer(() => ({ environment: { ...environment, MEMORY_MB: '0' }, databaseUrl: one.databaseUrl }))

const PATHS = [
  '/Companies',
  '/Companies?PageSize=5&page=2',
  '/Companies?sort=-Name&PageSize=5',
  '/Companies?Enabled=true',
  '/Companies?Name=c3',
  '/Companies?Name=none',
]
const shownBy = ({ text, headers }: Answer) => [text, headers.get('x-total-count'), headers.get('location')]
const tagOf = ({ headers }: Answer) => headers.get('etag') as string
const unlessHeld = (server: TestServer, path: string, tag: string) => server.get(path, { 'if-none-match': tag })

async function fill(rows: number) {
  await one.sql`delete from company`
  await one.sql`
    insert into company (name, enabled) select 'c' || n % 7, n % 2 = 0 from generate_series(0, ${rows - 1}) as n`
}

test('the ETag of a list is weak, and the same from every process, whether memory or PostgreSQL answers', async () => {
  await fill(12)
  for (const path of PATHS) {
    const first = await one.get(path)
    expect(tagOf(first)).toMatch(/^W\/"[0-9a-z]{1,13}"$/)
    for (const server of [one, other, other, plain]) expect(tagOf(await server.get(path))).toBe(tagOf(first))
  }
})

test('the ETag of a list changes if the rows, the total or the links change', async () => {
  await fill(12)
  const paths = [...PATHS, '/Companies?PageSize=5', '/Companies?PageSize=05', '/Companies?PageSize=6&sort=Id']
  const pages = await Promise.all(paths.map((path) => one.get(path)))
  expect(new Set(pages.map((page) => tagOf(page))).size).toBe(pages.length)
  // The same rows, the same total, and no links.
  expect(tagOf(await one.get('/Companies?sort=Id'))).toBe(tagOf(pages[0] as Answer))
})

test('a 304 has the ETag and the total, but no links, body or Content-Type', async () => {
  await fill(12)
  const path = PATHS[1] as string
  const page = await one.get(path)
  for (const server of [one, other, plain]) {
    const answer = await unlessHeld(server, path, tagOf(page))
    expect([answer.status, answer.text, answer.headers.get('x-total-count')]).toEqual([304, '', '12'])
    for (const name of ['link', 'location', 'content-type']) expect(answer.headers.get(name)).toBeNull()
  }
  // The 304 has not changed the cached response.
  expect(shownBy(await one.get(path))).toEqual(shownBy(page))
})

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

describe('a client that sends the ETag of a page', () => {
  test(`gets 304 while the page is unchanged, and otherwise the current page; SEED=${SEED}`, async () => {
    const random = new Random(SEED)
    await fill(14)
    const known = new Map<string, Answer>()
    for (const path of PATHS) known.set(path, await plain.get(path))
    const [counts, writes] = [{ held: 0, changed: 0 }, 20]
    for (let write = 0; write < writes; write++) {
      const [row] = await one.sql`select id from company order by random() limit 1`
      const at = `/Companies/${row?.id}`
      const writer = random.pick([one, other])
      await random.pick([
        () => writer.post('/Companies', { Name: `c${random.below(9)}`, Enabled: random.chance(50) }),
        () => writer.remove(at),
        () => writer.patch(at, { Name: `c${random.below(9)}` }),
        () => writer.patch(at, { Enabled: random.chance(50) }),
        () => writer.patch(at, {}),
      ])()
      for (const path of PATHS) {
        const before = known.get(path) as Answer
        const now = await plain.get(path)
        const isSame = shownBy(now).join() === shownBy(before).join()
        counts[isSame ? 'held' : 'changed']++
        const answer = await unlessHeld(random.pick([one, other]), path, tagOf(before))
        expect([write, path, answer.status]).toEqual([write, path, isSame ? 304 : 200])
        if (!isSame) expect(shownBy(answer)).toEqual(shownBy(now))
        known.set(path, now)
      }
    }
    expect(counts.held).toBeGreaterThan(writes / 2)
    expect(counts.changed).toBeGreaterThan(writes / 2)
  })
})

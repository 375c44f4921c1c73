import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { type ListAnswer, type ListProcess, ListSite } from '../support/listSite.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'

// D42: the tag of a page is the same while its rows, its total and its links are, in every process, and not longer.

let sql: postgres.Sql
let site: ListSite
let one: ListProcess
let other: ListProcess
beforeAll(async () => {
  const url = await createDatabase()
  sql = connect(url)
  site = new ListSite(url)
  ;[one, other] = site.processes
})
afterAll(async () => {
  await site.end()
  await sql.end()
})

const PATHS = [
  '/Companies',
  '/Companies?PageSize=5&page=2',
  '/Companies?sort=-Name&PageSize=5',
  '/Companies?Enabled=true',
  '/Companies?Name=c3',
  '/Companies?Name=none',
]
const shownBy = ({ text, headers }: ListAnswer) => [text, headers['X-Total-Count'], headers.Location]
const tagOf = ({ headers }: ListAnswer) => headers.ETag as string
const unlessHeld = (process: ListProcess, path: string, tag: string) => process.list(path, { 'if-none-match': tag })

async function fill(rows: number) {
  // Not by psql, whose writes the processes hear of in other tests alone.
  for (const { id } of await sql`select id from company`) await one.write('remove', `/Companies/${id}`)
  for (let index = 0; index < rows; index++)
    await one.write('create', '/Companies', { Name: `c${index % 7}`, Enabled: index % 2 === 0 })
}

test('is weak, and the same in every process, from memory as from the database', async () => {
  await fill(12)
  for (const path of PATHS) {
    const first = await one.list(path)
    expect(tagOf(first)).toMatch(/^W\/"[0-9a-z]{1,13}"$/)
    for (const process of [one, other, other, site.plain]) expect(tagOf(await process.list(path))).toBe(tagOf(first))
  }
})

test('differs where rows, total or links do', async () => {
  await fill(12)
  const paths = [...PATHS, '/Companies?PageSize=5', '/Companies?PageSize=05', '/Companies?PageSize=6&sort=Id']
  const pages = await Promise.all(paths.map((path) => one.list(path)))
  expect(new Set(pages.map((page) => tagOf(page))).size).toBe(pages.length)
  // The same rows, the same total, and no links.
  expect(tagOf(await one.list('/Companies?sort=Id'))).toBe(tagOf(pages[0] as ListAnswer))
})

test('304 has the tag and the total, and no links, body or type', async () => {
  await fill(12)
  const path = PATHS[1] as string
  const page = await one.list(path)
  for (const process of [one, other, site.plain]) {
    const answer = await unlessHeld(process, path, tagOf(page))
    expect([answer.status, answer.text]).toEqual([304, ''])
    expect(answer.headers).toEqual({ 'Cache-Control': 'no-store', ETag: tagOf(page), 'X-Total-Count': '12' })
  }
  // What is kept was not changed by it.
  expect(shownBy(await one.list(path))).toEqual(shownBy(page))
})

test('304 from memory reads nothing, and passes by what locks the table', async () => {
  await fill(12)
  const [first = '', ...others] = PATHS
  const tags = new Map<string, string>()
  for (const path of [first, ...others]) tags.set(path, tagOf(await one.list(path)))
  await sql.begin(async (transaction) => {
    await transaction`lock table company in access exclusive mode`
    for (const [path, tag] of tags) {
      let answer: ListAnswer | undefined
      const texts = await one.readingOf(async () => {
        answer = await unlessHeld(one, path, tag)
      })
      expect([path, answer?.status, texts]).toEqual([path, 304, []])
    }
  })
})

describe('what a request asks for', () => {
  test.each([
    ['the tag', (tag: string) => tag, 304],
    ['the tag as a strong one', (tag: string) => tag.slice(2), 304],
    ['any', () => '*', 304],
    ['a list with it', (tag: string) => `"x", ${tag}`, 304],
    ['another', () => 'W/"x"', 200],
    ['the tag in capitals', (tag: string) => `W/${tag.slice(2).toUpperCase()}x"`.replace('"x"', 'x"'), 200],
  ] as const)('%s: %#', async (_, header, status) => {
    await fill(3)
    const page = await one.list('/Companies')
    for (const process of [one, site.plain]) {
      const answer = await unlessHeld(process, '/Companies', header(tagOf(page)))
      expect([answer.status, tagOf(answer)]).toEqual([status, tagOf(page)])
    }
  })

  test('If-Match with a tag is never met: that of a list is weak', async () => {
    await fill(3)
    const tag = tagOf(await one.list('/Companies'))
    for (const match of [tag, tag.slice(2), '"x"'])
      await expect(one.list('/Companies', { 'if-match': match })).rejects.toMatchObject({ code: 'PreconditionFailed' })
    expect((await one.list('/Companies', { 'if-match': '*', 'if-none-match': tag })).status).toBe(304)
  })
})

test('over random writes of two processes: 304 exactly where nothing that a page shows has changed', async () => {
  const seed = Number(process.env.TAGS_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const random = new Random(seed)
  await fill(14)
  const known = new Map<string, ListAnswer>()
  for (const path of PATHS) known.set(path, await site.plain.list(path))
  const [counts, writes] = [{ held: 0, changed: 0 }, 30]
  for (let write = 0; write < writes; write++) {
    const [row] = await sql`select id from company order by random() limit 1`
    const at = `/Companies/${row?.id}`
    const writer = random.pick([one, other])
    await random.pick([
      () => writer.write('create', '/Companies', { Name: `c${random.below(9)}`, Enabled: random.chance(50) }),
      () => writer.write('remove', at),
      () => writer.write('patch', at, { Name: `c${random.below(9)}` }),
      () => writer.write('patch', at, { Enabled: random.chance(50) }),
      () => writer.write('patch', at, {}),
    ])()
    for (const path of PATHS) {
      const before = known.get(path) as ListAnswer
      const now = await site.plain.list(path)
      const isSame = shownBy(now).join() === shownBy(before).join()
      counts[isSame ? 'held' : 'changed']++
      const answer = await unlessHeld(random.pick([one, other]), path, tagOf(before))
      expect([seed, write, path, answer.status]).toEqual([seed, write, path, isSame ? 304 : 200])
      if (!isSame) expect(shownBy(answer)).toEqual(shownBy(now))
      known.set(path, now)
    }
  }
  expect(counts.held).toBeGreaterThan(writes / 2)
  expect(counts.changed).toBeGreaterThan(writes / 2)
}, 60_000)

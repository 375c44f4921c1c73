import { beforeEach, describe, expect, test } from 'bun:test'
import { expectAll } from '../support/cases.ts'
import { pageLinksOf, pagesOf } from '../support/pageLinks.ts'
import { emptyTables } from '../support/rows.ts'
import type { Answer } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'

const ROWS = 23
const LIST = '/Companies?sort=-Name&PageSize=5'

const server = useServer()
beforeEach(async () => {
  await emptyTables(server.sql)
  await server.sql`insert into company (name) select 'Company ' || chr(64 + n) from generate_series(1, ${ROWS}::int) as n`
})

const idsOf = ({ body }: Answer): number[] => body.map(({ id }: { id: number }) => id)
const INVALID = '400 InvalidCursor cursor'

/** By descending names the last row is the first. */
const ids = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, index) => from - index)

function urlOf(answer: Answer, relation: string): URL {
  const link = pageLinksOf(answer).find((one) => one.relation === relation)
  if (!link) throw new Error(`there is no link ${relation}`)
  return link.url
}

/** What a link leads to; `change` sets parameters of it. */
async function follow(answer: Answer, relation: string, change: Record<string, string | null> = {}): Promise<Answer> {
  const url = urlOf(answer, relation)
  for (const [name, value] of Object.entries(change))
    if (value === null) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  return server.get(url.pathname + url.search)
}

const cursorOf = (answer: Answer, relation = 'next') => urlOf(answer, relation).searchParams.get('cursor') as string

describe('D32: links', () => {
  test('to the next and the previous page have a cursor, and links to the first and the last page have none', async () => {
    const answer = await server.get(`${LIST}&page=3`)
    const names = pageLinksOf(answer).map(({ relation, url }) => [relation, ...url.searchParams.keys()])
    expect(names).toEqual([
      ['first', 'sort', 'PageSize', 'page'],
      ['previous', 'sort', 'PageSize', 'page', 'cursor'],
      ['next', 'sort', 'PageSize', 'page', 'cursor'],
      ['last', 'sort', 'PageSize', 'page'],
    ])
    expect(cursorOf(answer)).toMatch(/^[\w-]{20,200}$/)
    expect(cursorOf(answer)).not.toBe(cursorOf(answer, 'previous'))
  })

  test('of a page past the last one have no cursor', async () => {
    const answer = await server.get(`${LIST}&page=9`)
    for (const { url } of pageLinksOf(answer)) expect(url.searchParams.has('cursor')).toBe(false)
  })

  test('have no cursor if it would be too long, and lead to the page by its number', async () => {
    await server.sql`update company set name = name || repeat(${'😀'}, 420)`
    const own = await startServer({ databaseUrl: server.databaseUrl, hasForeignRows: true })
    const { search, pathname } = urlOf(await own.get(LIST), 'next')
    expect(search).toBe('?sort=-Name&PageSize=5&page=2')
    expect(idsOf(await own.get(pathname + search))).toEqual(ids(18, 14))
  })

  test('have no cursor if they would be longer than the server accepts', async () => {
    const answer = await server.get(`/Companies?Name=!=${'y'.repeat(3_020)}&PageSize=5`)
    expect(urlOf(answer, 'next').searchParams.has('cursor')).toBe(false)
    expect(idsOf(await follow(answer, 'next'))).toEqual(ids(10, 6).toReversed())
  })

  test('can be used with every server on the database, and after a restart', async () => {
    const answer = await server.get(LIST)
    const { pathname, search } = urlOf(answer, 'next')
    for (const _ of [1, 2]) {
      const other = await startServer({ databaseUrl: server.databaseUrl })
      expect(idsOf(await other.get(pathname + search))).toEqual(ids(18, 14))
      await other.stop()
    }
  })
})

/** Asks for a page, lets others write, and follows a link of what was answered before. */
async function followAfter(page: number, relation: string, ...writes: string[]): Promise<Answer> {
  const answer = await server.get(`${LIST}&page=${page}`)
  for (const write of writes) await server.sql.unsafe(write)
  return follow(answer, relation)
}
const seen = (answer: Answer) => [idsOf(answer), pagesOf(answer), answer.headers.get('x-total-count')]
const drop = (which: string) => `delete from company where id ${which}`
const add = (...names: string[]) => `insert into company (name) values ${names.map((name) => `('${name}')`)}`

describe('D32: a page with a cursor', () => {
  test('begins after the row of its cursor even if that row was deleted or has another position now', async () => {
    expect(idsOf(await followAfter(1, 'next', drop('= 19')))).toEqual(ids(18, 14))
    expect(idsOf(await followAfter(1, 'next', 'update company set name = null where id = 18'))).toEqual(ids(17, 13))
  })

  test('has a next link while rows follow, even if its page number is that of the last page', async () => {
    const fifth = await followAfter(4, 'next', drop('> 10'), add(...Array(6).fill('A')))
    expect(seen(fifth)).toEqual([[3, 2, 1, 29, 28], { first: '1', previous: '3', next: '4', last: '4' }, '16'])
    expect(seen(await follow(fifth, 'next'))).toEqual([ids(27, 24), { first: '1', previous: '3' }, '16'])
  })

  test('has a previous link while rows precede it, even if its page number is 1', async () => {
    const first = await followAfter(2, 'previous', add('Company WA', 'Y', 'Z'))
    expect(seen(first)).toEqual([ids(23, 19), { first: '1', previous: '1', next: '2', last: '6' }, '26'])
    expect(seen(await follow(first, 'previous'))).toEqual([[26, 25, 24], { next: '2', last: '6' }, '26'])
  })

  test('is empty after the last row, and counts as past the last page', async () => {
    const empty = await followAfter(3, 'next', drop('< 9'))
    expect(seen(empty)).toEqual([[], { first: '1', previous: '3', last: '3' }, '15'])
    expect(idsOf(await follow(empty, 'previous'))).toEqual(ids(13, 9))
  })

  test('is empty before the first row, and its next page is the first', async () => {
    const empty = await followAfter(3, 'previous', drop('> 13'))
    expect(seen(empty)).toEqual([[], { first: '1', next: '1', last: '3' }, '13'])
    expect(idsOf(await follow(empty, 'next'))).toEqual(ids(13, 9))
  })

  test('is counted as page 1 if the request names no page', async () => {
    const answer = await follow(await server.get(`${LIST}&page=2`), 'next', { page: null })
    expect(idsOf(answer)).toEqual(ids(13, 9))
    expect(pagesOf(answer)).toEqual({ first: '1', previous: '1', next: '2', last: '5' })
  })
})

describe('D32: 400 InvalidCursor', () => {
  test('is the answer to an altered cursor, to two cursors in one request, and to the cursor of another list', async () => {
    const cursor = cursorOf(await server.get(LIST))
    const altered = ['', `${cursor}A`, `${cursor}=`, `A${cursor}`, cursor.slice(0, -1), 'x', `${cursor}&Cursor=${cursor}`]
    altered.push(cursor.replace(/.$/, (own) => (own === 'A' ? 'B' : 'A')))
    const others = ['Companies?PageSize=5', `${LIST.slice(1)}&Enabled=false`, 'Employees?sort=-LastName', 'Absences?sort=Id']
    await expectAll(server, INVALID, [
      ...altered.map((text) => [`GET ${LIST}&page=2&cursor=${text}`] as const),
      ...others.map((other) => [`GET /${other}&page=2&cursor=${cursor}`] as const),
    ])
  })
})

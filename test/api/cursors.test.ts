import { beforeEach, describe, expect, test } from 'bun:test'
import { useServer } from '../support/cases.ts'
import { pageLinksOf, pagesOf } from '../support/pageLinks.ts'
import { type Answer, errorOf, startServer } from '../support/server.ts'

const ROWS = 23
const LIST = '/Companies?sort=-Name&PageSize=5'

const server = useServer()
beforeEach(async () => {
  await server.sql`truncate company, employee, absence restart identity`
  await server.sql`insert into company (name) select 'Company ' || chr(64 + n) from generate_series(1, ${ROWS}::int) as n`
})

const idsOf = ({ body }: Answer): number[] => body.map(({ id }: { id: number }) => id)
const invalid = { status: 400, code: 'InvalidCursor', target: 'cursor' }

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
  test('to the next and the previous page have a cursor behind the page, those to the ends have none', async () => {
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
    const standard = pageLinksOf(answer, 'link').map(({ url }) => url.href)
    expect(standard).toEqual(pageLinksOf(answer).map(({ url }) => url.href))
  })

  test('past the last page have none, since there is no row to begin beside', async () => {
    const answer = await server.get(`${LIST}&page=9`)
    for (const { url } of pageLinksOf(answer)) expect(url.searchParams.has('cursor')).toBe(false)
  })

  test('have none where it would be too long; they lead to the page by its number', async () => {
    await server.sql`update company set name = name || repeat(${'😀'}, 420)`
    const own = await startServer({ databaseUrl: server.databaseUrl, hasForeignRows: true })
    const { search, pathname } = urlOf(await own.get(LIST), 'next')
    expect(search).toBe('?sort=-Name&PageSize=5&page=2')
    expect(idsOf(await own.get(pathname + search))).toEqual(ids(18, 14))
    await own.stop()
  })

  test('have none where the server would refuse them for their length', async () => {
    const answer = await server.get(`/Companies?Name=!=${'y'.repeat(3_020)}&PageSize=5`)
    expect(urlOf(answer, 'next').searchParams.has('cursor')).toBe(false)
    expect(idsOf(await follow(answer, 'next'))).toEqual(ids(10, 6).toReversed())
  })

  test('are of use to every server on the database, and after a restart', async () => {
    const answer = await server.get(LIST)
    const { pathname, search } = urlOf(answer, 'next')
    for (const _ of [1, 2]) {
      const other = await startServer({ databaseUrl: server.databaseUrl })
      expect(idsOf(await other.get(pathname + search))).toEqual(ids(18, 14))
      await other.stop()
    }
  })
})

describe('D32: a page with a cursor', () => {
  test('begins behind the row, whatever was added or deleted before it', async () => {
    const answer = await server.get(LIST)
    await server.sql`insert into company (name) values ('Z'), ('Y')`
    await server.sql`delete from company where id in (20, 21)`
    const second = await follow(answer, 'next')
    expect(idsOf(second)).toEqual(ids(18, 14))
    expect(second.headers.get('x-total-count')).toBe(String(ROWS))
    expect(pagesOf(second)).toEqual({ first: '1', previous: '1', next: '3', last: '5' })
  })

  test('begins behind the row even if that is gone, or elsewhere now', async () => {
    const answer = await server.get(LIST)
    await server.sql`delete from company where id = 19`
    expect(idsOf(await follow(answer, 'next'))).toEqual(ids(18, 14))
    await server.sql`update company set name = null where id = 18`
    expect(idsOf(await follow(answer, 'next'))).toEqual(ids(17, 13))
  })

  test('ends before the row, in the order of the list', async () => {
    const answer = await server.get(`${LIST}&page=3`)
    expect(idsOf(answer)).toEqual(ids(13, 9))
    await server.sql`delete from company where id in (15, 13)`
    const second = await follow(answer, 'previous')
    expect(idsOf(second)).toEqual([19, 18, 17, 16, 14])
    expect(pagesOf(second)).toEqual({ first: '1', previous: '1', next: '3', last: '5' })
  })

  test('has a next link as long as there are rows behind, though its number is that of the last page', async () => {
    const answer = await server.get(`${LIST}&page=4`)
    await server.sql`delete from company where id > 10`
    await server.sql`insert into company (name) select 'A' from generate_series(1, 6)`
    const fifth = await follow(answer, 'next')
    expect(idsOf(fifth)).toEqual([3, 2, 1, 29, 28])
    expect(pagesOf(fifth)).toEqual({ first: '1', previous: '3', next: '4', last: '4' })
    const rest = await follow(fifth, 'next')
    expect([idsOf(rest), pagesOf(rest)]).toEqual([ids(27, 24), { first: '1', previous: '3' }])
  })

  test('has a previous link as long as there are rows before, though its number is 1', async () => {
    const answer = await server.get(`${LIST}&page=2`)
    await server.sql`insert into company (name) values ('Company WA'), ('Y'), ('Z')`
    const first = await follow(answer, 'previous')
    expect([idsOf(first), pagesOf(first)]).toEqual([ids(23, 19), { first: '1', previous: '1', next: '2', last: '6' }])
    const front = await follow(first, 'previous')
    expect([idsOf(front), pagesOf(front)]).toEqual([[26, 25, 24], { next: '2', last: '6' }])
  })

  test('behind which nothing is left is empty, and lies past the last', async () => {
    const answer = await server.get(`${LIST}&page=3`)
    await server.sql`delete from company where id < 9`
    const empty = await follow(answer, 'next')
    expect([empty.text, empty.headers.get('x-total-count')]).toEqual(['[]', '15'])
    expect(pagesOf(empty)).toEqual({ first: '1', previous: '3', last: '3' })
    expect(idsOf(await follow(empty, 'previous'))).toEqual(ids(13, 9))
  })

  test('before which nothing is left is empty, and the next is the first', async () => {
    const answer = await server.get(`${LIST}&page=3`)
    await server.sql`delete from company where id > 13`
    const empty = await follow(answer, 'previous')
    expect([empty.text, empty.headers.get('x-total-count')]).toEqual(['[]', '13'])
    expect(pagesOf(empty)).toEqual({ first: '1', next: '1', last: '3' })
    expect(idsOf(await follow(empty, 'next'))).toEqual(ids(13, 9))
  })

  test('of nothing at all is empty', async () => {
    const answer = await server.get(LIST)
    await server.sql`delete from company`
    const empty = await follow(answer, 'next')
    expect([empty.text, empty.headers.get('x-total-count')]).toEqual(['[]', '0'])
    expect(pagesOf(empty)).toEqual({ first: '1', previous: '1', last: '1' })
  })

  test('may have another size', async () => {
    const answer = await server.get(LIST)
    const second = await follow(answer, 'next', { PageSize: '50' })
    expect([idsOf(second), pagesOf(second)]).toEqual([ids(18, 1), { first: '1', previous: '1' }])
    expect(idsOf(await follow(await server.get(`${LIST}&page=4`), 'previous', { PageSize: '7' }))).toEqual(ids(15, 9))
  })

  test('without its number goes as page 1', async () => {
    const answer = await follow(await server.get(`${LIST}&page=2`), 'next', { page: null })
    expect(idsOf(answer)).toEqual(ids(13, 9))
    expect(pagesOf(answer)).toEqual({ first: '1', previous: '1', next: '2', last: '5' })
  })

  test('without the cursor is the page of that number', async () => {
    const answer = await server.get(LIST)
    await server.sql`delete from company where id = 23`
    expect(idsOf(await follow(answer, 'next', { cursor: null }))).toEqual(ids(17, 13))
  })

  test('is refused with a number that is none, like any page', async () => {
    const answer = await server.get(LIST)
    expect(errorOf(await follow(answer, 'next', { page: '0' }))).toMatchObject({ status: 400, code: 'InvalidPage' })
  })
})

describe('D32: 400 InvalidCursor', () => {
  test('for a cursor that was altered in any one character', async () => {
    const cursor = cursorOf(await server.get(LIST))
    const altered = Array.from(cursor, (own, index) => {
      const other = own === 'A' ? 'B' : 'A'
      return cursor.slice(0, index) + other + cursor.slice(index + 1)
    })
    for (const text of [...altered, '', `${cursor}A`, `${cursor}=`, `A${cursor}`, cursor.slice(0, -1), 'x'])
      expect({ text, ...errorOf(await server.get(`${LIST}&page=2&cursor=${text}`)) }).toEqual({ text, ...invalid })
  })

  test.each([
    '/Companies?sort=Name&PageSize=5',
    '/Companies?sort=-Name,Enabled&PageSize=5',
    '/Companies?PageSize=5',
    '/Companies?sort=-Name&PageSize=5&Enabled=false',
    '/Employees?sort=-LastName',
    '/Absences',
  ])('for the cursor of another list: %s', async (other) => {
    const cursor = cursorOf(await server.get(LIST))
    const joint = other.includes('?') ? '&' : '?'
    expect(errorOf(await server.get(`${other}${joint}page=2&cursor=${cursor}`))).toEqual(invalid)
  })

  test('for two cursors, though both are good', async () => {
    const cursor = cursorOf(await server.get(LIST))
    expect(errorOf(await server.get(`${LIST}&page=2&cursor=${cursor}&Cursor=${cursor}`))).toEqual(invalid)
  })

  test('but not for filters in another order, or names in another case', async () => {
    const answer = await server.get('/Companies?Enabled=false&Name=!=&sort=-Name&PageSize=5')
    const path = `/companies/?CURSOR=${cursorOf(answer)}&name=!=&pagesize=5&sort=-name&enabled=FALSE&page=2`
    const second = await server.get(path)
    expect([second.status, idsOf(second)]).toEqual([200, ids(18, 14)])
  })
})

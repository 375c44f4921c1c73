import { beforeAll, describe, expect, test } from 'bun:test'
import { type Collection, collections, properties } from '../support/model.ts'
import { pageLinksOf } from '../support/pageLinks.ts'
import { Random } from '../support/random.ts'
import { insertRows, randomValues, tables } from '../support/randomRows.ts'
import { firstSeed, rounds } from '../support/rounds.ts'
import { emptyTables } from '../support/rows.ts'
import type { Answer } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const WALKS = rounds(5, 25)
const PAGES_MAX = 500

const server = useServer()
beforeAll(async () => {
  const random = new Random(1)
  await insertRows(server.sql, random, 'Companies', 12)
  await insertRows(server.sql, random, 'Employees', 12)
})

const FILTERS: Record<Collection, string[]> = {
  Companies: ['', 'Enabled=true', 'Name=!=', 'Name=>=a&Id=>3'],
  Employees: ['', 'Status=!=a', 'Started=>1970-01-01T00:00:00Z', 'Department=', 'CompanyId.Enabled=true', 'CompanyId.Name=!=a'],
  Absences: [
    ...['', 'Period.Days=>0.5', 'Status=!=&Start=!=', 'EmployeeId=!=3', 'Reason='],
    ...[
      'EmployeeId.Department=!=a',
      'EmployeeId.CompanyId.Enabled=true',
      'EmployeeId.Started=',
      'EmployeeId.DisplayName[contains]=e',
    ],
  ],
}

/** Draws one to three sorts in any direction, and often a filter. */
function randomList(random: Random, collection: Collection): string {
  const names = new Set(Array.from({ length: 1 + random.below(3) }, () => random.pick(properties[collection]).name))
  const sort = [...names].map((name) => (random.chance(50) ? '-' : '%2B') + name)
  const filter = random.pick(FILTERS[collection])
  return `/${collection}?${filter}${filter && '&'}sort=${sort}&PageSize=${5 + random.below(6)}`
}

const idsOf = ({ body }: Answer): number[] => body.map(({ id }: { id: number }) => id)

async function get(path: string): Promise<Answer> {
  const answer = await server.get(path)
  if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.text}`)
  return answer
}

function linkOf(answer: Answer, relation: string): string | null {
  const url = pageLinksOf(answer).find((link) => link.relation === relation)?.url
  return url ? url.pathname + url.search : null
}

/** Follows the links of a relation from a page to the last one; returns all pages. */
async function follow(path: string, relation: 'next' | 'previous', before: () => Promise<unknown>): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let next: string | null = path; next !== null; next = linkOf(answers.at(-1) as Answer, relation)) {
    if (answers.length > PAGES_MAX) throw new Error(`${path} has no end`)
    if (answers.length > 0) expect(next).toContain('&cursor=')
    await before()
    answers.push(await get(next))
  }
  return answers
}

/** Reads a list page by page, by number. */
async function numbered(list: string): Promise<Answer[]> {
  const answers = [await get(list)]
  while (linkOf(answers.at(-1) as Answer, 'next')) answers.push(await get(`${list}&page=${answers.length + 1}`))
  return answers
}

/** Makes a writer of temporary rows: it creates some, deletes some, and gives others new values, which move them in the list. */
function writer(random: Random, collection: Collection, ids: number[]) {
  const { sql } = server
  const table = tables[collection]
  return async () => {
    if (random.chance(60)) ids.push(...(await insertRows(sql, random, collection, 1 + random.below(6))))
    for (let writes = random.below(6); writes > 0 && ids.length > 0; writes--) {
      const id = random.pick(ids)
      if (random.chance(50)) await sql`update ${sql(table)} set ${sql(randomValues(random, collection))} where id = ${id}`
      else await sql`delete from ${sql(table)} where id = ${ids.splice(ids.indexOf(id), 1)[0] as number}`
    }
  }
}

/** Creates rows that stay unchanged, and others among them that do not. */
async function arrange(random: Random, collection: Collection) {
  const { sql } = server
  await sql`delete from absence`
  if (collection === 'Employees') await sql`delete from employee`
  if (collection === 'Companies') await emptyTables(sql)
  const ids = await insertRows(sql, random, collection, 20 + random.below(80))
  const staying = new Set(ids.filter(() => random.chance(60)))
  return { staying, passing: ids.filter((id) => !staying.has(id)) }
}

describe.each(collections)('%s', (collection) => {
  test('links with cursors lead to the same pages as page numbers while no row changes. D32', async () => {
    for (let seed = firstSeed; seed < firstSeed + WALKS; seed++) {
      const random = new Random(seed)
      await arrange(random, collection)
      const list = randomList(random, collection)
      const pages = await numbered(list)
      const forth = await follow(list, 'next', async () => {})
      const back = await follow(`${list}&page=${pages.length}`, 'previous', async () => {})
      const plain = pages.map(seen)
      expect({ seed, list, pages: forth.map(seen) }).toEqual({ seed, list, pages: plain })
      expect({ seed, list, pages: back.toReversed().map(seen) }).toEqual({ seed, list, pages: plain })
    }
  })

  for (const [relation, from] of [
    ['next', 'the first page to the end'],
    ['previous', 'the last page to the beginning'],
  ] as const)
    test(`links "${relation}" from ${from} return every unchanged row once, in order, while other rows change. D32`, async () => {
      for (let seed = firstSeed; seed < firstSeed + WALKS; seed++) {
        const random = new Random(seed)
        const { staying, passing } = await arrange(random, collection)
        const list = randomList(random, collection)
        const stayed = (answers: Answer[]) => answers.flatMap(idsOf).filter((id) => staying.has(id))
        const pages = await numbered(list)
        const start = relation === 'next' ? list : `${list}&page=${pages.length}`
        const write = writer(random, collection, passing)
        const first = await get(start)
        const second = linkOf(first, relation)
        // In half of the walks, writes run at the same time, too.
        const written: Promise<void>[] = []
        const during = seed % 2 === 0 ? write : async () => void written.push(write())
        const rest = second === null ? [] : await follow(second, relation, during)
        const met = relation === 'next' ? [first, ...rest] : [...rest.toReversed(), first]
        expect({ seed, list, ids: stayed(met) }).toEqual({ seed, list, ids: stayed(pages) })
        await Promise.all(written)
      }
    })
})

/** Returns everything that a client sees of a page, except cursors. */
function seen(answer: Answer) {
  const links = pageLinksOf(answer).map(({ relation, url }) => {
    const cursor = url.searchParams.get('cursor')
    url.searchParams.delete('cursor')
    return [relation, url.href, cursor !== null]
  })
  return { text: answer.text, total: answer.headers.get('x-total-count'), links }
}

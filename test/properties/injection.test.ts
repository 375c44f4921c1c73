import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { excerpt } from '../../src/model/excerpt.ts'
import { hostileTexts, LEAK } from '../support/hostile.ts'
import { collections, properties, writable } from '../support/model.ts'
import { type Answer, errorOf } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const server = useServer()
beforeAll(async () => {
  await server.sql`insert into company (name, enabled) select 'Company ' || n, n % 2 = 0 from generate_series(1, 12) as n`
  await server.sql`insert into employee (first_name) values ('Ada'), ('Grace')`
  await server.sql`insert into absence (status, period_days) values ('Approved', 1.5), ('Declined', 2)`
})

let before: unknown
beforeEach(async () => {
  before = await everything()
})
afterEach(async () => {
  expect(await everything()).toBe(before)
})

/** Reads all rows, and the names of all tables. */
async function everything(): Promise<unknown> {
  const tables = await server.sql`select relname, relnatts from pg_class where relnamespace = 'public'::regnamespace order by 1`
  const rows = []
  for (const table of ['company', 'employee', 'absence', 'migration'])
    rows.push(await server.sql`select t::text as row from ${server.sql(table)} as t order by 1`)
  return JSON.stringify({ tables, rows })
}

/** Expects no 5xx, and no internal text; texts of the client may be repeated. */
function expectHarmless(what: string, { status, text }: Pick<Answer, 'status' | 'text'>) {
  const leaks = LEAK.exec(text)?.[0] ?? null
  expect({ what, status: status < 500 ? 'fine' : status, leaks }).toEqual({ what, status: 'fine', leaks: null })
}

/** Returns a third of the texts; three adjacent properties get all of them. */
const someOf = (at: number) => hostileTexts.filter((_, index) => index % 3 === at % 3)

async function all<T>(items: T[], check: (item: T) => Promise<void>) {
  const queue = [...items]
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await check(item)
  }
  await Promise.all(Array.from({ length: 8 }, worker))
}

describe('hostile text in a query', () => {
  for (const collection of collections)
    test(`hostile text as the value of a filter of ${collection} finds nothing, or is refused`, async () => {
      const cases = properties[collection].flatMap((field, at) => someOf(at).map((text) => ({ field, text })))
      await all(cases, async ({ field, text }) => {
        const path = `/${collection}?${field.name}==${encodeURIComponent(text)}`
        const answer = await server.get(path)
        expectHarmless(path, answer)
        if (field.kind !== 'text' || text.includes('\0'))
          expect(errorOf(answer)).toEqual({ status: 400, code: 'InvalidFilter', target: field.name })
        else expect({ path, status: answer.status, body: answer.body }).toEqual({ path, status: 200, body: [] })
      })
    })

  test('hostile text after any operator of a filter is treated as a value', async () => {
    const cases = ['=', '!=', '<', '<=', '>', '>='].flatMap((operator) => hostileTexts.map((text) => ({ operator, text })))
    await all(cases, async ({ operator, text }) => {
      const path = `/Companies?Name=${encodeURIComponent(operator + text)}`
      const answer = await server.get(path)
      expectHarmless(path, answer)
      expect({ path, status: answer.status }).toEqual({ path, status: text.includes('\0') ? 400 : 200 })
    })
  })

  test('hostile text as the name of a parameter is refused as unknown. D21', async () => {
    await all(hostileTexts, async (text) => {
      const answer = await server.get(`/Absences?${encodeURIComponent(text)}=1`)
      expectHarmless(text, answer)
      expect({ text, ...errorOf(answer) }).toEqual({ text, status: 400, code: 'UnknownParameter', target: excerpt(text) })
    })
  })

  test('hostile text in sort, PageSize, page and cursor is refused. D27, D28, D32', async () => {
    const codes = { sort: 'InvalidSort', PageSize: 'InvalidPageSize', page: 'InvalidPage', cursor: 'InvalidCursor' }
    for (const [name, code] of Object.entries(codes))
      for (const sign of name === 'sort' ? ['', '-', '%2B', '-Id,'] : [''])
        await all(hostileTexts, async (text) => {
          const answer = await server.get(`/Companies?${name}=${sign}${encodeURIComponent(text)}`)
          expectHarmless(text, answer)
          expect({ text, ...errorOf(answer) }).toEqual({ text, status: 400, code, target: name })
        })
  })
})

describe('hostile text in a body', () => {
  const legal = hostileTexts.filter((text) => !text.includes('\0') && [...text].length <= 100)

  for (const collection of collections)
    test(`hostile text in text properties of ${collection} is stored unchanged by POST, PUT and PATCH`, async () => {
      const names = writable[collection].filter(({ kind }) => kind === 'text').map(({ name }) => name)
      await all(legal, async (text) => {
        const body = nested(Object.fromEntries(names.map((name) => [name, text])))
        const created = await server.post(`/${collection}`, body)
        expectHarmless(text, created)
        expect(created.status).toBe(201)
        const path = `/${collection}/${created.body.id}`
        for (const answer of [created, await server.put(path, body), await server.patch(path, body), await server.get(path)])
          for (const name of names) expect({ name, value: valueAt(answer.body, name) }).toEqual({ name, value: text })
        const found = await server.get(`/${collection}?${names[0]}==${encodeURIComponent(text)}&Id=${created.body.id}`)
        expect(found.body).toEqual([(await server.get(path)).body])
        expect((await server.remove(path)).status).toBe(204)
      })
    })

  for (const collection of collections)
    test(`hostile text in other properties of ${collection} is refused with the property’s name`, async () => {
      const others = writable[collection].filter(({ kind }) => kind !== 'text')
      const textsOf = (at: number) => (others.length < 3 ? hostileTexts : someOf(at))
      const cases = others.flatMap(({ name }, at) => textsOf(at).map((text) => ({ name, text })))
      await all(cases, async ({ name, text }) => {
        const answer = await server.post(`/${collection}`, nested({ [name]: text }))
        expectHarmless(text, answer)
        expect({ text, ...errorOf(answer) }).toEqual({ text, status: 400, code: 'InvalidValue', target: name })
      })
    })

  test('hostile text as the name of a property is refused as unknown, also inside an object. D9', async () => {
    await all(hostileTexts, async (text) => {
      for (const body of [`{${JSON.stringify(text)}:{"Name":"x"}}`, `{"Period":{${JSON.stringify(text)}:1}}`]) {
        const answer = await server.post('/Absences', body)
        expectHarmless(text, answer)
        expect({ text, ...errorOf(answer) }).toMatchObject({ text, status: 400, code: 'UnknownProperty' })
      }
    })
  })
})

/** Nests `Period.Days` as an object with `Days`. */
function nested(flat: Record<string, unknown>): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(flat)) {
    if (name.startsWith('Period.')) body.Period = { ...(body.Period as object), [name.slice(7)]: value }
    else body[name] = value
  }
  return body
}

function valueAt(record: Record<string, unknown>, name: string): unknown {
  const [first = '', second] = name.split('.').map((part) => part.charAt(0).toLowerCase() + part.slice(1))
  return second ? (record[first] as Record<string, unknown>)[second] : record[first]
}

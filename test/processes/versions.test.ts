import { expect, test } from 'bun:test'
import { Connection, type RawResponse } from '../support/connection.ts'
import { usePlace } from '../support/place.ts'
import { bytesOf } from '../support/serve.ts'
import type { Json } from '../support/server.ts'

// Many clients change one row over several workers, each only the version that it has read.

const CLIENTS = 50

const place = usePlace()

interface Answer {
  status: number
  tag: string
  row: Json
}

/** One client, over a connection of its own, and so over one of the workers. */
function clientOf(url: string) {
  const connection = new Connection(url)
  return async (method: string, path: string, body = '', match = ''): Promise<Answer> => {
    const own = match === '' ? [] : [`If-Match: ${match}`]
    const answer: RawResponse = await connection.send(bytesOf(method, path, body, own), false)
    return { status: answer.status, tag: answer.headers.get('etag') ?? '', row: JSON.parse(answer.body) }
  }
}

const employees = async (ask: ReturnType<typeof clientOf>): Promise<Json[]> => (await ask('GET', '/Employees')).row

// A name that rows copy, and a text of which writes go in batches.
test.each([
  ['/Companies', 'name'],
  ['/Employees', 'department'],
] as const)(`%s: of ${CLIENTS} clients exactly those are in the row that were answered so`, async (collection, key) => {
  const { url } = await place.start({ WORKERS: '3' })
  const clients = Array.from({ length: CLIENTS }, () => clientOf(url))
  const [first] = clients as [ReturnType<typeof clientOf>]
  const created = await first('POST', collection, JSON.stringify({ [key]: 'start' }))
  const path = `${collection}/${created.row.id}`
  if (key === 'name') for (let copy = 0; copy < 3; copy++) await first('POST', '/Employees', `{"companyId": ${created.row.id}}`)
  const write = (ask: typeof first, text: string, tag: string) => ask('PATCH', path, JSON.stringify({ [key]: text }), tag)

  // All of one version: one is carried out, and all others have its tag.
  const { tag: read } = await first('GET', path)
  const once = await Promise.all(clients.map((ask, index) => write(ask, `once ${index};`, read)))
  const [winner, ...more] = once.filter(({ status }) => status === 200)
  expect([more, once.filter(({ status }) => status === 412).length]).toEqual([[], CLIENTS - 1])
  expect(new Set(once.map(({ tag }) => tag))).toEqual(new Set([winner?.tag as string]))

  // Each adds its mark to what it has read, until it is let.
  let refused = 0
  const texts = await Promise.all(
    clients.map(async (ask, index) => {
      for (;;) {
        const { row, tag } = await ask('GET', path)
        const answer = await write(ask, `${row[key]}${String(index).padStart(2, '0')}.`, tag)
        if (answer.status === 200) return answer.row[key] as string
        expect(answer.status).toBe(412)
        refused++
      }
    }),
  )
  const { row } = await first('GET', path)
  if (key === 'name') for (const copy of await employees(first)) expect(copy.company).toBe(row.name)
  const [begin, marks = ''] = row[key].split(';')
  expect(`${begin};`).toBe(winner?.row[key])
  expect(
    marks
      .match(/\d\d\./g)
      ?.map(Number)
      .sort((one: number, other: number) => one - other),
  ).toEqual(clients.map((_, index) => index))
  // Each answer is what the row then was: the beginning of what it is now.
  for (const text of texts) expect(row[key]).toStartWith(text)
  expect(new Set(texts).size).toBe(CLIENTS)
  expect(refused).toBeGreaterThan(0)
})

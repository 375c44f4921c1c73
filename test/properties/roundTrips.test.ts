import { beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Draft, draft, spelling } from '../support/arbitraries.ts'
import { type Collection, collections, properties, utc } from '../support/model.ts'
import { bodyOf, type Known, recordOf, reset, resolved, rowOf } from '../support/records.ts'
import { rounds } from '../support/rounds.ts'
import { useServer } from '../support/start.ts'

const server = useServer()
let known: Known
beforeAll(async () => {
  known = await reset(server)
})

/** Checks random bodies; names are in any case. D2 */
async function forAnyBody(collection: Collection, check: (draft: Draft, body: string) => Promise<void>) {
  const spells = fc.array(spelling('aB'), { minLength: 30, maxLength: 30 })
  const property = fc.asyncProperty(draft(collection, 'any'), spells, async (one, cases) => {
    const written = resolved(collection, one, known)
    let next = 0
    const spell = (name: string) => inCase(cases[next++ % cases.length] as string, name)
    await check(written, bodyOf(written, spell))
  })
  await fc.assert(property, { numRuns: rounds(25, 150) })
}

function inCase(like: string, name: string): string {
  if (like === 'ab') return name.toLowerCase()
  if (like === 'AB') return name.toUpperCase()
  return like === 'aB' ? name.charAt(0).toLowerCase() + name.slice(1) : name
}

describe('4.1: a client reads what it has written', () => {
  for (const collection of collections) {
    test(`a create of ${collection} answers with every field, and a get repeats the answer. 4.1`, async () => {
      await forAnyBody(collection, async (written, body) => {
        const created = await server.post(`/${collection}`, body)
        expect({ status: created.status, body: created.text.slice(0, 500) }).toMatchObject({ status: 201 })
        const record = recordOf(created.text)
        expect(Object.keys(record).sort()).toEqual(properties[collection].map(({ name }) => name).sort())
        expect(record).toEqual({ Id: created.body.id, ...rowOf(collection, written, known) })
        expect((await server.get(`/${collection}/${created.body.id}`)).text).toBe(created.text)
      })
    })

    test(`a PUT of ${collection} sets every property, whatever the row had before. 4.1`, async () => {
      const { body: before } = await server.post(`/${collection}`, {})
      await forAnyBody(collection, async (written, body) => {
        const { status, text } = await server.put(`/${collection}/${before.id}`, body)
        expect({ status, record: recordOf(text) }).toEqual({
          status: 200,
          record: { Id: before.id, ...rowOf(collection, written, known) },
        })
      })
    })

    test(`a PUT or PATCH of ${collection} with the row that GET has returned changes nothing. D8`, async () => {
      await forAnyBody(collection, async (_, body) => {
        const { text, body: record } = await server.post(`/${collection}`, body)
        const path = `/${collection}/${record.id}`
        expect((await server.put(path, text)).text).toBe(text)
        expect((await server.patch(path, text)).text).toBe(text)
        expect((await server.patch(path, {})).text).toBe(text)
        expect((await server.get(path)).text).toBe(text)
      })
    })

    test(`a PATCH of ${collection} changes the properties that it names, and no others. Rule 3`, async () => {
      const { body: record } = await server.post(`/${collection}`, {})
      let current: Draft = {}
      await forAnyBody(collection, async (written, body) => {
        const given = Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined))
        const merged = { ...current, ...given }
        const { status } = await server.patch(`/${collection}/${record.id}`, body)
        // One end of an absence may come alone, and not fit the stored other end. D13
        const fits = endsInOrder(merged)
        expect({ body, status }).toEqual({ body, status: fits ? 200 : 400 })
        if (fits) current = merged
        const after = recordOf((await server.get(`/${collection}/${record.id}`)).text)
        expect(after).toEqual({ Id: record.id, ...rowOf(collection, current, known) })
      })
    })
  }
})

function endsInOrder({ Start, End }: Draft): boolean {
  return typeof Start !== 'string' || typeof End !== 'string' || utc(Start) <= utc(End)
}

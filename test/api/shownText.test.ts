import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { sendRaw } from '../support/raw.ts'
import type { Json } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const server = useServer()

/** Names in which a character of two UTF-16 units stands where a message ends, or half of one does. */
const names = fc.tuple(fc.integer({ min: 0, max: 110 }), fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }))
const nameOf = ([length, text]: [number, string]) => `${'x'.repeat(length)}${text}`
const halves = fc.string({ unit: fc.constantFrom('\ud83d', '\udc68', '\u{1f468}', 'a'), minLength: 1, maxLength: 120 })

/** Every string of an answer, and of its headers. */
function textsOf(value: Json): string[] {
  if (typeof value === 'string') return [value]
  return value !== null && typeof value === 'object' ? Object.entries(value).flatMap((pair) => pair.flatMap(textsOf)) : []
}

function requireWellFormed({ status, text, headers }: { status: number; text: string; headers: Headers }) {
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
  for (const shown of [...textsOf(JSON.parse(text)), ...textsOf([...headers])]) expect(shown.isWellFormed()).toBe(true)
}

const PLACES: [string, (name: string) => string][] = [
  ['a parameter', (name) => `/Companies?~${name}=1`],
  ['a parameter of a row', (name) => `/Companies/1?~${name}=1`],
  ['a sort', (name) => `/Companies?sort=~${name}`],
  ['a descending sort', (name) => `/Companies?sort=-~${name}`],
  ['a filter', (name) => `/Companies?Id=~${name}`],
  ['a bad escape', (name) => `/Companies?Name=${name}%ZZ`],
  ['an id', (name) => `/Companies/~${name}`],
  ['a path', (name) => `/~${name}`],
]

test.each(PLACES)('no response contains half of a surrogate pair, whatever text is sent in %s', async (_, pathOf) => {
  await fc.assert(
    fc.asyncProperty(names, async (name) => {
      requireWellFormed(await server.get(pathOf(encodeURIComponent(nameOf(name)))))
    }),
    { numRuns: 12 },
  )
  // Raw bytes, which fetch would escape.
  for (const length of [58, 59, 98, 99]) {
    const bytes = Buffer.from(`${'x'.repeat(length)}\u{1f468}\u{1f468}`).toString('latin1')
    const { status, body } = await sendRaw(server, `GET ${pathOf(bytes)}`)
    requireWellFormed({ status, text: Buffer.from(body, 'latin1').toString(), headers: new Headers() })
  }
})

test.each(['a name', 'a name of a part'])(
  'no response contains half of a surrogate pair, whatever text is sent as %s in a body',
  async (place) => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(names.map(nameOf), halves), async (name) => {
        const body = place === 'a name' ? { [`~${name}`]: 1 } : { Period: { [`~${name}`]: 1 } }
        requireWellFormed(await server.post('/Absences', body))
      }),
      { numRuns: 25 },
    )
  },
)

import { describe, expect, test } from 'bun:test'
import { exampleQueries, gettingStarted } from '../../src/describe/guide.ts'
import { date, defineEntity, identity, text } from '../../src/model/entity.ts'
import { entities } from '../support/entities.ts'
import { createSampleDatabase } from '../support/postgres.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const encoded = (query: string) =>
  query
    .split('&')
    .map((filter) => filter.replace(/(?<==).*/, encodeURIComponent))
    .join('&')

const server = useServer(async () => ({ databaseUrl: await createSampleDatabase() }))

describe.each(entities.map((entity) => [entity.plural, entity] as const))('the examples of %s', (plural, entity) => {
  test.each(exampleQueries(entity).map(({ query, meaning }) => [query, meaning]))('%s (%s) finds rows', async (query) => {
    const { status, headers } = await server.get(`/${plural}?${encoded(query)}`)
    expect(status).toBe(200)
    // Each finds some of the sample's rows, so a reader who tries it sees what it does.
    expect(Number(headers.get('x-total-count'))).toBeGreaterThan(0)
  })
})

test('a shell runs the first command of the guide as it is written', async () => {
  const [, command = ''] = /```sh\n([\s\S]*?)\n```/.exec(gettingStarted(entities, server.url)) ?? []
  const shell = Bun.spawn(['sh', '-c', command.replace('curl', 'curl -sS').replace('<key>', KEY)])
  const answer = await new Response(shell.stdout).text()
  expect(answer).toStartWith('HTTP/1.1 200 OK')
  expect(answer).toContain('"status":"Requested"')
})

test('an example of a range has two parameters, and a value with a quote is one word of the shell', () => {
  const texts = { examples: ["O'Brien & Sons"] }
  const [dated, named] = [
    defineEntity('Holiday', { id: identity(), day: date() }),
    defineEntity('Firm', { id: identity(), name: text(texts) }),
  ].map((entity) => gettingStarted([entity], 'http://a.example'))
  expect(dated).toContain(
    ["--data-urlencode 'Day=>=2026-01-01'", "--data-urlencode 'Day=<2027-01-01'", "--data-urlencode 'sort=-Day,Id'"].join(
      ' \\\n  ',
    ),
  )
  expect(named).toContain("--data-urlencode 'Name=O'\\''Brien & Sons'")
})

test('a URL with a quote is one word of the shell', () => {
  expect(gettingStarted(entities, "https://a.example/it's")).toContain("curl -i -G 'https://a.example/it'\\''s/Absences'")
})

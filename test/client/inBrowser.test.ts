import { afterAll, beforeAll, expect, test } from 'bun:test'
import { clientFile } from '../../src/client/clientFile.ts'
import { describeInBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import { entities } from '../support/entities.ts'
import { createSampleDatabase } from '../support/postgres.ts'
import { KEY, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const module = new Bun.Transpiler({ loader: 'ts', target: 'browser' }).transformSync(clientFile(entities))

/** Runs in the page: all calls that need another method, or a header of a response. */
const PROGRAM = `async ({ url, key, limited }) => {
  const { createRoster, RosterError } = await import('/roster.mjs')
  const { absences, companies } = createRoster({ url, key })
  const { total, links } = await absences.list({ filter: { 'period.days': { '>': 1 } }, pageSize: 5, page: 2 })
  const { rows } = await absences.follow(links.previous)
  let count = 0
  for await (const { start } of absences.all({ sort: '-start', pageSize: 5 })) if (start !== null) count++
  let streamed = 0
  for await (const { start } of absences.stream({ fields: ['start'] })) if (start !== null) streamed++
  const made = await companies.create({ name: 'Seen from a page' })
  const changed = await companies.update(made.id, { enabled: true })
  const replaced = await companies.replace(made.id, { name: 'Replaced' })
  await companies.delete(made.id)
  const failed = await companies.get(made.id).catch((error) => error)
  const once = createRoster({ url, key: limited, triesMax: 1 })
  let refused
  do refused = await once.companies.get(1).catch((error) => error)
  while (!(refused instanceof RosterError))
  const retried = await createRoster({ url, key: limited }).companies.get(1)
  const wrong = await createRoster({ url, key: 'wrong' }).companies.get(1).catch((error) => error)
  return {
    total, rows: rows.length, count, streamed, changed: changed.enabled, replaced: replaced.enabled,
    errors: [failed, refused, wrong].map((error) => [error instanceof RosterError, error.status, error.code]),
    hasRequestId: failed.requestId !== null, waits: refused.retryAfterMs > 0, retried: retried.id,
  }
}`

describeInBrowser('the client in a page of another origin', () => {
  const limited = makeKey({ limits: '1/1s' })
  const site = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) =>
      url.endsWith('.mjs')
        ? new Response(module, { headers: { 'Content-Type': 'text/javascript' } })
        : new Response('<!doctype html><title>A page</title><link rel=icon href=data:,>', {
            headers: { 'Content-Type': 'text/html' },
          }),
  })
  const server = useServer(async () => ({
    databaseUrl: await createSampleDatabase(),
    environment: { CORS_ORIGINS: site.url.origin, RATE_LIMIT_CLIENTS: '2' },
    keys: [limited.record],
  }))
  let browser: TestBrowser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await site.stop(true)
  })

  test('a generated client in a browser reads, writes, follows links, waits, and gets errors', async () => {
    const { page } = await browser.open(site.url.href)
    const settings = JSON.stringify({ url: server.url, key: KEY, limited: limited.text })
    const [absences] = await server.sql`
      select count(*) filter (where period_days > 1) as long, count(start) as started from absence`
    expect(await page.evaluate(`(${PROGRAM})(${settings})`)).toEqual({
      total: Number(absences?.long),
      rows: 5,
      count: Number(absences?.started),
      streamed: Number(absences?.started),
      changed: true,
      replaced: false,
      errors: [
        [true, 404, 'NotFound'],
        [true, 429, 'RateLimitExceeded'],
        [true, 401, 'Unauthorized'],
      ],
      hasRequestId: true,
      waits: true,
      retried: 1,
    })
  })
})

import { expect, test } from 'bun:test'
import { fillForHostile, proveHostile } from '../prove/hostile.ts'
import { usePlace } from '../support/place.ts'
import { connect } from '../support/postgres.ts'
import { startProcess } from '../support/start.ts'

// Enough for every kind of answer below, also beside other tests; `npm run prove` sends any number.
const REQUESTS = 3_500
const SEEDS = [1, 2, 3, 5]
/** Codes that must occur: with a broken generator, all answers would be 404. */
const CODES = [
  ...['InvalidFilter', 'InvalidSort', 'UnknownParameter', 'InvalidQueryString', 'InvalidJson', 'InvalidValue'],
  ...['ValidationFailed', 'ReferenceNotFound', 'NotFound', 'Unauthorized', 'MethodNotAllowed', 'InvalidCursor'],
  ...['UnknownProperty', 'DuplicateProperty', 'TooManyFilters', 'UriTooLong', 'UnsupportedMediaType', 'InvalidHost'],
]
const ANSWERS = [
  ...['whole 200', 'whole 201', 'whole 204', 'trickled 200', 'trickled 201', 'pipelined 200', 'garbled 400'],
  ...['broken 400', 'broken 431', 'garbage 400'],
]

const place = usePlace()

test(`D38, D40: ${REQUESTS} hostile requests, and bytes that are no HTTP, are answered as the OpenAPI document says, and leak no memory`, async () => {
  const { server, url } = await startProcess(place.settings)
  const sql = connect(place.DATABASE_URL)
  await fillForHostile(sql)
  await sql.end()
  console.log(`seeds ${SEEDS}`)
  const found = await proveHostile({ url, pid: server.pid, log: server.output, seeds: SEEDS, requests: REQUESTS })
  expect(found.faults).toEqual([])
  expect(found.requests).toBeGreaterThanOrEqual(REQUESTS)
  expect(Object.keys(found.codes)).toEqual(expect.arrayContaining(CODES))
  expect(Object.keys(found.answers)).toEqual(expect.arrayContaining(ANSWERS))
})

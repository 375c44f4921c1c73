import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDatabase } from '../support/postgres.ts'
import { endPrograms, type RunningProgram, run, temporaryFolder } from '../support/process.ts'
import { type Json, KEY } from '../support/server.ts'

const ROOT = join(import.meta.dir, '../..')

const ENTITY = `import { boolean, copied, decimal, defineEntity, group, identity, instant, reference, text } from '../model/entity.ts'

export default defineEntity('Document', {
  id: identity(),
  title: text({ lengthMax: 20 }),
  signed: boolean(),
  fee: decimal(8),
  signedAt: instant(),
  file: group({ format: text(), pages: decimal(2) }),
  authorId: reference('Employee'),
  author: copied('authorId', 'displayName'),
  summary: text({ indexed: false }),
})
`

/** Refers to the other entity, whose name sorts after its own. */
const PERMIT = `import { copied, date, defineEntity, identity, integer, oneOf, reference, text } from '../model/entity.ts'

export default defineEntity(
  'Permit',
  {
    id: identity(),
    code: text({ lengthMax: 10, required: true, unique: true }),
    state: oneOf(['Requested', 'Granted', 'Void (lost)']),
    from: date({ required: true }),
    until: date(),
    zones: integer({ min: -5, max: 40 }),
    documentId: reference('Document', { unique: true }),
    document: copied('documentId', 'title'),
  },
  { notBefore: [['until', 'from']] },
)
`

/** Names of properties that are also used in statements, or are words of SQL. */
const ODD_NAMES = [
  ...['count', 'n', 'total', 'size', 'skip', 'place', 'order', 'select', 'before', 'own', 't', 'b', 'e', 'r', 'first', 'key'],
  'number',
]
const ODD = `import { defineEntity, identity, integer } from '../model/entity.ts'

export default defineEntity('User', { id: identity(), ${ODD_NAMES.map((name) => `${name}: integer()`).join(', ')} })
`

const folder = temporaryFolder()
/** Output of the command that writes the migration. */
let said: string
let program: RunningProgram
let url: string

beforeAll(async () => {
  for (const part of ['src', 'sql', 'package.json', 'tsconfig.json', 'bunfig.toml'])
    cpSync(join(ROOT, part), join(folder.path, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'))
  for (const [name, text] of Object.entries({ document: ENTITY, permit: PERMIT, user: ODD }))
    writeFileSync(join(folder.path, `src/entities/${name}.ts`), text)
  const settings = {
    DATABASE_URL: await createDatabase('empty'),
    PORT: '0',
    BOOTSTRAP_API_KEY: KEY,
    LOG_LEVEL: 'error',
    RATE_LIMITS: '10000/1m',
  }
  const main = (words: string) =>
    run(['sh', '-c', `cd '${folder.path}' && exec '${process.execPath}' --no-env-file src/main.ts ${words}`], settings)
  const generated = main('generate migration')
  await generated.ended
  said = generated.output()
  program = main('')
  url = (await program.waitFor(/listens on (http:\/\/[\w.:]+)/))[1] as string
})

afterAll(endPrograms)

async function send(method: string, path: string, body?: string, more: Record<string, string> = {}) {
  const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json', ...more }
  const response = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body }) })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return { status: response.status, headers: response.headers, text, body: (isJson ? JSON.parse(text) : undefined) as Json }
}

const idsOf = ({ body }: { body: Json }): number[] => body.map(({ id }: Json) => id)

/** Follows links from a page; returns the ids of all pages. Each link has a cursor. */
async function walk(start: string, relation: 'next' | 'previous') {
  const pages: number[][] = []
  for (let next: string | undefined = start; next; ) {
    const answer = await send('GET', next)
    pages.push(idsOf(answer))
    const link = new RegExp(`<([^>]+)>; rel="${relation}"`).exec(answer.headers.get('location') ?? '')?.[1]
    if (link) expect(link).toContain('&cursor=')
    next = link?.slice(url.length)
  }
  return pages
}

function faultOf({ status, body }: { status: number; body: Json }) {
  return { status, code: body.Error.Code, target: body.Error.Target, message: body.Error.Message }
}

describe('a resource made by a declaration and a generated migration', () => {
  let authorId: number

  test('a new entity needs only its declaration and the generated migration, and no other change in the project', () => {
    const added = (part: string) => {
      const ours = new Set(readdirSync(join(ROOT, part), { recursive: true }).map(String))
      return readdirSync(join(folder.path, part), { recursive: true })
        .map(String)
        .filter((name) => !ours.has(name))
    }
    const [migration = ''] = added('sql')
    expect(added('src').sort()).toEqual(['entities/document.ts', 'entities/permit.ts', 'entities/user.ts'])
    expect(migration).toMatch(/^\d{4}_document_and_permit_and_user\.sql$/)
    expect(said).toBe(`roster: wrote sql/${migration}, which the next start applies; read it before\n`)
    for (const file of ['http/app.ts', 'http/endpoints.ts', 'operations/resource.ts', 'registry.ts', 'main.ts'])
      expect(readFileSync(join(folder.path, 'src', file), 'utf8')).toBe(readFileSync(join(ROOT, 'src', file), 'utf8'))
  })

  test('a create of a new entity answers 201 with every field, decimals and times in their formats. 4.1', async () => {
    authorId = (await send('POST', '/Employees', '{"FirstName":"Ada","LastName":"Byron"}')).body.id
    const body = `{"Title":"Contract","Fee":1e2,"SignedAt":"2024-01-31T10:00:00+01:00","File":{"Pages":7.5},"AuthorId":${authorId}}`
    const created = await send('POST', '/Documents', body)
    expect({ status: created.status, text: created.text, location: created.headers.get('location') }).toEqual({
      status: 201,
      text:
        `{"id":1,"title":"Contract","signed":false,"fee":100.00000000,"signedAt":"2024-01-31T09:00:00Z",` +
        `"file":{"format":null,"pages":7.50},"authorId":${authorId},"author":"Ada Byron","summary":null}`,
      location: `${url}/Documents/1`,
    })
    expect((await send('GET', '/documents/1')).text).toBe(created.text)
  })

  test('a new entity is filtered, sorted and paged by its own properties. 4.2, 4.3', async () => {
    for (let number = 1; number <= 12; number++) {
      const author = number % 2 === 0 ? `,"AuthorId":${authorId}` : ''
      const file = `"File":{"Pages":${number % 3},"Format":"f${number}"}`
      await send('POST', '/Documents', `{"Title":"Paper","Signed":${number > 2},"Fee":${number}.5,${file}${author}}`)
    }
    const answer = await send('GET', '/Documents?Signed=true&Fee=%3E3&sort=-File.Pages,+Fee&PageSize=5&page=2')
    expect(answer.body.map(({ file }: Json) => file.format)).toEqual(['f10', 'f3', 'f6', 'f9', 'f12'])
    expect(answer.headers.get('x-total-count')).toBe('10')
    const links = [...(answer.headers.get('location') ?? '').matchAll(/<([^>]+)>; rel="(\w+)"/g)]
    expect(links.map(([, , relation]) => relation)).toEqual(['first', 'previous'])
    for (const [, link] of links) expect(link).toStartWith(`${url}/Documents?Signed=true&Fee=%3E3&`)
    expect((await send('GET', '/Documents?Author=Ada+Byron&PageSize=50')).body).toHaveLength(7)
  })

  describe('a property without an index', () => {
    const COUNT = 50
    /** Summaries by id; few different values, so that many rows tie. */
    const summaries = new Map<number, string | null>()
    beforeAll(async () => {
      for (let number = 0; number < COUNT; number++) {
        const summary = number % 7 === 0 ? null : `Summary ${(number * 5) % 9}`
        const { body } = await send('POST', '/Documents', JSON.stringify({ Title: 'Scanned', Summary: summary }))
        summaries.set(body.id, summary)
      }
    })

    const idsWhere = (matches: (summary: string | null) => boolean) =>
      [...summaries].filter(([, summary]) => matches(summary)).map(([id]) => id)
    /** Expected order: no value comes last, the id breaks ties; descending is the reverse. D26 */
    const inOrder = [...Array(9).keys()].map((last) => `Summary ${last}`)
    const ascending = () => [...inOrder, null].flatMap((value) => idsWhere((summary) => summary === value))

    test('can be filtered', async () => {
      const filters: [query: string, ids: number[]][] = [
        ['Summary=Summary+3', idsWhere((summary) => summary === 'Summary 3')],
        ['Summary=!=Summary+3', idsWhere((summary) => summary !== 'Summary 3')],
        ['Summary=%3ESummary+6', idsWhere((summary) => summary !== null && summary > 'Summary 6')],
        ['Summary=', idsWhere((summary) => summary === null)],
      ]
      for (const [query, ids] of filters) {
        const answer = await send('GET', `/Documents?Title=Scanned&${query}&PageSize=50`)
        expect([query, answer.headers.get('x-total-count')]).toEqual([query, String(ids.length)])
        expect([query, idsOf(answer)]).toEqual([query, ids.slice(0, 50)])
      }
    })

    test.each(['', '-'])(
      'can be sorted by sort=%sSummary on any page and by cursors in both directions, also after a write',
      async (sign) => {
        const path = `/Documents?Title=Scanned&sort=${sign}Summary&PageSize=5`
        const expected = () => (sign === '-' ? ascending().reverse() : ascending())
        const expectPages = async () => {
          for (const page of [1, 2, 7, 10, 11, 7, 10]) {
            const answer = await send('GET', `${path}&page=${page}`)
            expect([page, idsOf(answer)]).toEqual([page, expected().slice(5 * page - 5, 5 * page)])
            expect(answer.headers.get('x-total-count')).toBe(String(COUNT))
          }
        }
        await expectPages()
        const [id] = expected() as [number]
        const summary = summaries.get(id) === null ? 'Summary 4' : null
        await send('PATCH', `/Documents/${id}`, JSON.stringify({ Summary: summary }))
        summaries.set(id, summary)
        await expectPages()
        expect((await walk(path, 'next')).flat()).toEqual(expected())
        expect((await walk(`${path}&page=10`, 'previous')).reverse().flat()).toEqual(expected())
      },
    )
  })

  test('copied values of a new entity follow their source, and a row that it refers to cannot be deleted. D11, D16', async () => {
    await send('PATCH', `/Employees/${authorId}`, '{"KnownAs":"Augusta"}')
    expect((await send('GET', '/Documents?Author=Augusta+Byron&PageSize=50')).body).toHaveLength(7)
    expect(faultOf(await send('DELETE', `/Employees/${authorId}`))).toMatchObject({
      status: 409,
      code: 'StillReferenced',
    })
    const missing = faultOf(await send('POST', '/Documents', '{"AuthorId":999999}'))
    expect(missing).toMatchObject({ status: 409, code: 'ReferenceNotFound', target: 'AuthorId' })
  })

  describe('kinds and rules of a new entity', () => {
    const permit = (code: string, more: object = {}) =>
      send('POST', '/Permits', JSON.stringify({ Code: code, From: '2026-01-31', ...more }))

    test('a date, an integer and a oneOf are answered as they were sent', async () => {
      const created = await permit('A-1', { State: 'Void (lost)', Until: '2026-02-28', Zones: -5 })
      expect([created.status, created.text]).toEqual([
        201,
        `{"id":1,"code":"A-1","state":"Void (lost)","from":"2026-01-31","until":"2026-02-28","zones":-5,"documentId":null,"document":null}`,
      ])
      expect((await send('GET', '/Permits/1')).text).toBe(created.text)
    })

    test.each([
      ['{"From":"2026-01-31"}', 'Code', 'Code is required: it must be a text of at most 10 characters.'],
      ['{"Code":"","From":"2026-01-31"}', 'Code', 'Code is required: it must be a text of at most 10 characters.'],
      ['{"Code":"B","From":null}', 'From', 'From is required: it must be a date like 2024-01-31.'],
      ['{"Code":"B","From":"2026-02-30"}', 'From', 'From must be a date that exists, in the years 0001 to 9999.'],
      ['{"Code":"B","From":"2026-01-31","Until":"2026-01-30"}', 'Until', 'Until must not be before From.'],
      ['{"Code":"B","From":"2026-01-31","Zones":41}', 'Zones', 'Zones must be an integer from -5 to 40.'],
      ['{"Code":"B","From":"2026-01-31","Zones":1.5}', 'Zones', 'Zones must be an integer from -5 to 40, or null.'],
      [
        '{"Code":"B","From":"2026-01-31","State":"granted"}',
        'State',
        'State must be one of Requested, Granted, Void (lost); for granted write Granted.',
      ],
    ])('a create with the body %s is refused', async (body, target, message) => {
      expect(faultOf(await send('POST', '/Permits', body))).toEqual({ status: 400, code: 'InvalidValue', target, message })
    })

    test('a PUT must have all required properties; a PATCH may leave them out, but not set them to null', async () => {
      expect(faultOf(await send('PUT', '/Permits/1', '{"From":"2026-01-31"}'))).toMatchObject({ target: 'Code' })
      expect((await send('PATCH', '/Permits/1', '{"Zones":3}')).body).toMatchObject({ code: 'A-1', zones: 3 })
      const taken = faultOf(await send('PATCH', '/Permits/1', '{"From":null}'))
      expect(taken).toMatchObject({ status: 400, code: 'InvalidValue', target: 'From' })
      expect(faultOf(await send('PATCH', '/Permits/1', '{"Until":"2026-01-01"}'))).toMatchObject({ target: 'Until' })
    })

    test('a create, PUT or PATCH with a unique value of another row gets 409', async () => {
      const exists = { status: 409, code: 'AlreadyExists', target: 'Code' }
      expect(faultOf(await permit('A-1'))).toMatchObject(exists)
      const { body } = await permit('A-2')
      expect(faultOf(await send('PATCH', `/Permits/${body.id}`, '{"Code":"A-1"}'))).toMatchObject(exists)
      expect(faultOf(await send('PUT', `/Permits/${body.id}`, '{"Code":"A-1","From":"2026-01-31"}'))).toMatchObject(exists)
      // Writing its own unique value again is no conflict.
      expect((await send('PATCH', `/Permits/${body.id}`, '{"Code":"A-2","Zones":1}')).status).toBe(200)
      expect((await send('PATCH', '/Permits/1', '{"Code":"a-1"}')).status).toBe(200)
      expect((await send('PATCH', `/Permits/${body.id}`, '{"Code":"A-1"}')).status).toBe(200)
    })

    test('all taken unique values, and references to missing rows, are listed in one error', async () => {
      const { body: document } = await send('POST', '/Documents', '{"Title":"Plan"}')
      expect((await permit('D-1', { DocumentId: document.id })).status).toBe(201)
      const { Error: error } = (await permit('D-1', { DocumentId: document.id })).body
      expect([error.Code, error.Details.map(({ Target }: Json) => Target)]).toEqual(['AlreadyExists', ['Code', 'DocumentId']])
      const missing = (await permit('D-1', { DocumentId: 999_999 })).body.Error
      expect(missing.Details.map(({ Code, Target }: Json) => `${Code} ${Target}`).sort()).toEqual([
        'AlreadyExists Code',
        'ReferenceNotFound DocumentId',
      ])
    })

    test('a bulk create creates no row if a unique value is taken, in the table or twice in the body', async () => {
      const rowOf = (code: string, others: object = {}) => ({ Code: code, From: '2026-01-31', ...others })
      const several = async (rows: readonly object[], query = '') => {
        const { status, body } = await send('POST', `/Permits${query}`, JSON.stringify(rows))
        return status < 400
          ? [status, body.rows ?? body.map(({ code }: Json) => code)]
          : [status, ...body.Error.Details.map(({ Code, Target }: Json) => `${Code} ${Target}`)]
      }
      const total = async () => (await send('GET', '/Permits?PageSize=1')).headers.get('x-total-count')
      expect(await several([rowOf('M-1'), rowOf('M-2')])).toEqual([201, ['M-1', 'M-2']])
      const before = await total()
      const taken = [409, 'AlreadyExists [1].Code', 'AlreadyExists [2].Code']
      for (const query of ['', '?dryRun=1'])
        expect(await several([rowOf('M-3'), rowOf('M-1'), rowOf('M-2')], query)).toEqual(taken)
      expect(await several([rowOf('M-3'), rowOf('M-4'), rowOf('M-3')])).toEqual([409, 'AlreadyExists [2].Code'])
      const missing = [rowOf('M-3'), rowOf('M-1', { DocumentId: 999_999 })]
      expect((await several(missing)).slice(1).sort()).toEqual(['AlreadyExists [1].Code', 'ReferenceNotFound [1].DocumentId'])
      expect(await total()).toBe(before)
      expect(await several([rowOf('M-3'), rowOf('M-4')], '?dryRun=1')).toEqual([200, 2])
      // Of concurrent creates with a common value, one succeeds, and the others leave none of their rows.
      for (let round = 0; round < 20; round++) {
        const codeOf = (at: number) => `N-${round}-${at}`
        const rowsBefore = Number(await total())
        const race = await Promise.all([1, 2, 3, 4].map((at) => several([rowOf(codeOf(at)), rowOf(codeOf(9))])))
        expect(race.map(([status]) => status).sort()).toEqual([201, 409, 409, 409])
        for (const [status, ...faults] of race) if (status === 409) expect(faults).toEqual(['AlreadyExists [1].Code'])
        expect(Number(await total())).toBe(rowsBefore + 2)
      }
    })

    test('concurrent bulk creates with the same values in opposite orders do not deadlock: one succeeds', async () => {
      for (const round of ['O', 'P', 'Q']) {
        const rows = Array.from({ length: 1_000 }, (_, at) => ({ Code: `${round}-${at}`, From: '2026-01-31' }))
        const bodies = [rows, rows.toReversed(), rows, rows.toReversed()].map((body) => JSON.stringify(body))
        const answers = await Promise.all(bodies.map((body) => send('POST', '/Permits', body)))
        expect([round, ...answers.map(({ status }) => status).sort()]).toEqual([round, 201, 409, 409, 409])
      }
    })

    test('of concurrent writes of a unique value one succeeds, and each request gets its own answer', async () => {
      for (const round of ['r', 's']) {
        const answers = await Promise.all(Array.from({ length: 24 }, (_, at) => permit(`${round}${at % 3}`, { Zones: at })))
        const made = answers.filter(({ status }) => status === 201)
        expect(made.map(({ body }) => body.code).sort()).toEqual([0, 1, 2].map((at) => `${round}${at}`))
        // Each answer belongs to its request.
        for (const [at, { status, body }] of answers.entries())
          if (status === 201) expect([body.code, body.zones]).toEqual([`${round}${at % 3}`, at])
          else expect(body.Error).toMatchObject({ Code: 'AlreadyExists', Target: 'Code' })
        const ids = made.map(({ body }) => body.id)
        const patches = await Promise.all(ids.map((id) => send('PATCH', `/Permits/${id}`, `{"Code":"${round}-new"}`)))
        expect(patches.map(({ status }) => status).sort()).toEqual([200, 409, 409])
      }
    })

    test.each([
      ['k-1', '{"Code":"K-1","From":"2026-05-01"}'],
      ['k-2', '[{"Code":"K-2","From":"2026-05-01"},{"Code":"K-3","From":"2026-05-01"}]'],
    ])('a repeated create with the Idempotency-Key %s gets the same answer', async (key, body) => {
      const once = () => send('POST', '/Permits', body, { 'idempotency-key': key })
      const [first, second] = [await once(), await once()]
      expect([first.status, second.status, second.text]).toEqual([201, 201, first.text])
      expect((await send('POST', '/Permits', body)).status).toBe(409)
    })

    test('lists of a new entity from memory equal those from PostgreSQL, for every operator and sort', async () => {
      const states = [null, 'Requested', 'Granted', 'Void (lost)']
      for (let at = 0; at < 40; at++)
        await permit(`L-${at}`, {
          State: states[at % 4],
          From: `20${10 + (at % 20)}-0${1 + (at % 9)}-1${at % 10}`,
          Until: at % 3 === 0 ? null : `2${at % 10}31-12-31`,
          Zones: at % 5 === 0 ? null : (at % 11) - 5,
        })
      const operands = { State: 'Granted', From: '2015-06-15', Until: '2431-12-31', Zones: '-2', Id: '20' }
      // A stream is never answered from memory.
      const streamed = async (query: string) => {
        const { text } = await send('GET', `/Permits?${query}`, undefined, { accept: 'application/x-ndjson' })
        const lines = text.split('\n').slice(0, -1)
        return { total: String(lines.length), rows: lines.slice(0, 50).map((line) => JSON.parse(line)) }
      }
      const totals = new Set<unknown>()
      for (const [name, operand] of Object.entries(operands))
        for (const filter of ['', '=', '!=', ...['=', '!=', '<', '<=', '>', '>='].map((prefix) => prefix + operand)]) {
          const query = `${filter === '' ? '' : `${name}=${encodeURIComponent(filter)}&`}sort=-${name},Until`
          const { headers, body } = await send('GET', `/Permits?${query}&PageSize=50`)
          const total = headers.get('x-total-count')
          expect([query, { total, rows: body }]).toEqual([query, await streamed(query)])
          totals.add(total)
        }
      expect(totals.size).toBeGreaterThan(10)
    })

    test('a new entity can be streamed as CSV and as NDJSON', async () => {
      const { text } = await send('GET', '/Permits?Code=A-2&Code=!=x', undefined, { accept: 'text/csv' })
      expect(text.split('\r\n')[0]).toBe('id,code,state,from,until,zones,documentId,document')
      const lost = await send('GET', '/Permits?State=Void+(lost)&sort=Id', undefined, { accept: 'application/x-ndjson' })
      expect(JSON.parse(lost.text.split('\n')[0] as string)).toMatchObject({ state: 'Void (lost)', from: '2026-01-31' })
    })

    test('the OpenAPI document of a new entity has its values, patterns and errors', async () => {
      const { paths, components } = (await send('GET', '/openapi.json')).body
      const { code, state, from, zones } = components.schemas.PermitWrite.properties
      expect([code.type, code.minLength, code.maxLength]).toEqual(['string', 1, 10])
      expect([state.type, state.enum]).toEqual([
        ['string', 'null'],
        ['Requested', 'Granted', 'Void (lost)', null],
      ])
      expect([from.type, from.format]).toEqual(['string', 'date'])
      expect([zones.type, zones.minimum, zones.maximum]).toEqual([['integer', 'null'], -5, 40])
      expect(components.schemas.PermitWrite.required).toBeUndefined()
      const schemaOf = ({ requestBody }: Json) => {
        const { schema } = requestBody.content['application/json']
        return schema.anyOf?.[0] ?? schema
      }
      const bodyOf = (path: string, method: string) => schemaOf(paths[path][method]).$ref.split('/').at(-1)
      expect(bodyOf('/Permits/{id}', 'patch')).toBe('PermitWrite')
      for (const body of [bodyOf('/Permits', 'post'), bodyOf('/Permits/{id}', 'put')])
        expect([body, components.schemas[body].required]).toEqual(['PermitComplete', ['code', 'from']])
      expect(bodyOf('/Documents', 'post')).toBe('DocumentWrite')
      const parameters = paths['/Permits'].get.parameters.map(({ $ref, ...own }: Json) =>
        $ref ? components.parameters[$ref.split('/').at(-1)] : own,
      )
      const filter = parameters.find(({ name }: Json) => name === 'State').schema
      const pattern = new RegExp(filter.items.pattern, 'u')
      for (const text of ['Granted', '>=Void (lost)', '', '!=', '=Requested'])
        expect([text, pattern.test(text)]).toEqual([text, true])
      for (const text of ['granted', 'Void', '<', 'Void (lost) ']) expect([text, pattern.test(text)]).toEqual([text, false])
      const refused = paths['/Permits'].post.responses['409'].$ref.split('/').at(-1)
      expect(JSON.stringify(components.responses[refused])).toContain('AlreadyExists')
    })
  })

  test('properties can be named like SQL keywords, and like names in our statements', async () => {
    for (let at = 0; at < 20; at++) {
      const values = Object.fromEntries(ODD_NAMES.map((name, place) => [name, (at * (place + 3)) % 7]))
      expect((await send('POST', '/Users', JSON.stringify(values))).status).toBe(201)
    }
    for (const name of ODD_NAMES) {
      expect((await send('PATCH', '/Users/3', JSON.stringify({ [name]: 4 }))).body).toMatchObject({ id: 3, [name]: 4 })
      const list = `/Users?${name}=%3E1&sort=-${name},N`
      const whole = idsOf(await send('GET', `${list}&PageSize=50`))
      expect([name, (await walk(`${list}&PageSize=5`, 'next')).flat()]).toEqual([name, whole])
      const second = await send('GET', `${list}&PageSize=5&page=2`)
      expect([name, idsOf(second)]).toEqual([name, whole.slice(5, 10)])
    }
  })

  test('a server with a new entity exits with code 0 on SIGTERM, and has logged no error', async () => {
    program.kill('SIGTERM')
    expect(await program.ended).toBe(0)
    expect(program.output()).not.toMatch(/error/i)
  })
})

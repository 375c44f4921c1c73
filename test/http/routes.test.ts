import { beforeAll, describe, expect, test } from 'bun:test'
import { Admission } from '../../src/admit/admission.ts'
import { Keyring } from '../../src/admit/keyring.ts'
import { Limiters } from '../../src/admit/limiter.ts'
import { readConfig } from '../../src/config/config.ts'
import { describeApi } from '../../src/describe/openApi.ts'
import { Database } from '../../src/execute/database.ts'
import { ListReads } from '../../src/execute/listReads.ts'
import { LongWrites } from '../../src/execute/longWrites.ts'
import { createApp } from '../../src/http/app.ts'
import { createCors } from '../../src/http/cors.ts'
import { Cursors } from '../../src/model/cursor.ts'
import { defineEntity, identity } from '../../src/model/entity.ts'
import { parseNamedView } from '../../src/rights/namedViews.ts'
import { entities } from '../support/entities.ts'
import { quietLog } from '../support/quietLog.ts'
import { sendRaw } from '../support/raw.ts'
import { wholeAccess, wholeRights } from '../support/rights.ts'
import { createRow } from '../support/rows.ts'
import { KEY, tablesFor } from '../support/server.ts'
import { exchange } from '../support/socket.ts'
import { useServer } from '../support/start.ts'

const config = readConfig({ RATE_LIMIT_CLIENTS: '1' })

/** Put together as a worker does; nothing is asked, so it opens no connection. */
function partsOf() {
  const options = { url: 'postgres://nobody@127.0.0.1:9/none', poolSize: 1, prepare: true }
  const database = new Database(options)
  return {
    entities,
    database,
    listReads: new ListReads({ sharedPool: database, listPool: database, connections: 1, mayCancel: true }),
    longWrites: new LongWrites(options),
    cursors: new Cursors(''),
    memory: null,
    addCors: null,
    migrationFiles: [],
    limits: { ofKeys: config.rateLimits, anonymous: config.rateLimitsAnonymous },
    documentNeedsKey: false,
    signIn: null,
    admission: new Admission(
      new Keyring(KEY, () => wholeRights(entities)),
      new Limiters(config, tablesFor(config, []), null),
      null,
      {} as never,
    ),
    log: quietLog(),
    views: [],
    baseUrl: () => 'http://127.0.0.1',
    isDraining: () => false,
    isWaiting: () => false,
  }
}

const appOf = () => createApp(partsOf())

test('app.routes has the operations of the OpenAPI document', () => {
  const facts = { baseUrl: '', limits: config.rateLimits, anonymousLimits: config.rateLimitsAnonymous, documentNeedsKey: false }
  const described = Object.entries(describeApi(entities.map(wholeAccess), facts).paths).flatMap(([path, item]) =>
    Object.keys(item).flatMap((method) =>
      method === 'parameters' ? [] : [`${method.toUpperCase()} ${path.replace(/\{\w+\}/, ':id')}`],
    ),
  )
  const routes = appOf().routes.flatMap(({ method, path }) => (method === 'HEAD' ? [] : [`${method} ${path}`]))
  expect(routes).toContain('PATCH /Absences/:id')
  const others = routes.filter((route) => !described.includes(route))
  expect(described.filter((route) => !routes.includes(route))).toEqual([])
  // Files of pages, and the wildcard.
  for (const route of others) expect(route).toMatch(/^\w+ \/(\*|(docs|explore)\/:id|favicon\.ico|robots\.txt)$/)
})

test('a start fails if an entity has the path of another entity or of a page', () => {
  for (const plural of ['COMPANIES', 'Livez', 'Errors', 'Rights']) {
    const firm = defineEntity('Firm', { id: identity() }, { plural })
    const start = () => createApp({ ...partsOf(), entities: [...entities, firm] })
    expect(start).toThrow(`two entities or pages claim /${plural.toLowerCase()}`)
  }
})

test('D105: a start fails if a route of APP_FILE begins with the name of a view, in upper or lower case', () => {
  const views = [parseNamedView('Directory', 'Employees', entities)]
  const startWith = (method: string, path: string) => () =>
    createApp({ ...partsOf(), views }, [{ method, path, isOpen: true, handle: async () => new Response('x') }])
  for (const path of ['/Directory', '/directory', '/Directory/:id', '/DIRECTORY/:id/greet', '/Directory/export'])
    for (const method of ['GET', 'POST'])
      expect(startWith(method, path)).toThrow(
        `ROLES_FILE cannot have the view Directory: APP_FILE has the route ${method} ${path}`,
      )
  for (const path of ['/Directories', '/Office/Directory', '/:name']) expect(startWith('GET', path)).not.toThrow()
})

test('if a route of APP_FILE passes on a response of the API, each common header occurs once', async () => {
  const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit', 'RateLimit-Policy']
  const names = [
    'X-Request-Id',
    'X-Content-Type-Options',
    ...limits,
    'Access-Control-Allow-Origin',
    'Access-Control-Expose-Headers',
  ]
  const passedOn = { ...Object.fromEntries(names.map((name) => [name, 'passed-on'])), ETag: '"1"' }
  const own = { method: 'GET', path: '/Passed', isOpen: true, handle: async () => new Response('x', { headers: passedOn }) }
  const { headers } = await createApp({ ...partsOf(), addCors: createCors('*') }, [own]).handle(
    new Request('http://localhost/Passed'),
  )
  expect(names.filter((name) => headers.get(name)?.includes('passed-on') !== false)).toEqual([])
  expect(headers.get('etag')).toBe('"1"')
})

describe('a URL in which the framework would find another path', () => {
  const server = useServer()

  test('an HTTPS URL whose host is named like a path leads to the path of the URL', async () => {
    for (const host of ['livez', 'changes']) {
      const { headers } = await appOf().handle(new Request(`https://${host}/`))
      expect(headers.get('cache-control')).toBe('max-age=300')
    }
  })

  test('an HTTP/1.0 request without a Host gets 404 if only the end of its path is a known path', async () => {
    for (const path of ['/nothing/livez', '/nothing/Companies', '/nothing/Companies/1']) {
      const answer = await exchange(server.url, `GET ${path} HTTP/1.0\r\nAuthorization: ApiKey ${KEY}\r\n\r\n`)
      expect([path, answer.slice(9, 12)]).toEqual([path, '404'])
    }
  })
})

describe('/Companies and /companies are answered alike:', () => {
  const server = useServer()
  beforeAll(async () => void (await createRow(server, '/Companies', { Name: 'Acme' })))

  const both = (line: string) => Promise.all(['/Companies', '/companies'].map((path) => sendRaw(server, line.replace('~', path))))

  test.each([
    ...[
      '',
      '/',
      '//',
      '/summary',
      '/%53ummary',
      '/1/changes',
      '/1',
      '/1/',
      '/%31',
      '/1%20',
      '/1//',
      '/%',
      '/%2F',
      '/1%2F2',
      '/%ff',
      '/..',
      '/*',
      '/:id',
    ],
    ...['/1?x=1', '/1;a'],
    '?PageSize=5&page=2',
  ])('GET /Companies%s', async (rest) => {
    const [one, other] = await both(`GET ~${rest}`)
    const plain = (text?: string) => text?.replaceAll('/companies', '/Companies')
    expect([one?.status, plain(one?.body)]).toEqual([other?.status as number, plain(other?.body)])
  })

  test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PURGE'])(
    'method %s, of the collection and of a row',
    async (method) => {
      for (const rest of ['', '/999999']) {
        const answers = await both(`${method} ~${rest}`)
        const [one, other] = answers.map(({ status, head, body }) => ({ status, allow: /^Allow: .*$/m.exec(head)?.[0], body }))
        expect(one).toEqual(other as NonNullable<typeof one>)
      }
    },
  )
})

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type AnyElysia, Elysia } from 'elysia'
import { addRest, addRoute, bearerOf, checkElysia, createElysia, ownRoutesOf } from '../../src/http/elysia.ts'
import { exchange } from '../support/socket.ts'

// What src/http/elysia.ts relies on: an update of Elysia or of its bearer plugin that moves any of it fails here.

const appOf = () =>
  createElysia(async ({ request, error }) => {
    if (request.url.endsWith('/again')) throw error
    return new Response(`failed: ${(error as Error).message}`, { status: 503 })
  })

describe('checkElysia', () => {
  test('accepts the installed version of Elysia', () => {
    expect(() => checkElysia(appOf())).not.toThrow()
  })

  test.each<[what: string, move: (app: AnyElysia) => void]>([
    ['the options of Bun.serve', (app) => Object.assign(app.config, { serve: {} })],
    ['the handler of errors', (app) => Object.assign(app.event, { error: [] })],
    ['the match of routes', (app) => Object.assign(app.config, { handler: { standardHostname: true } })],
    ['the list of routes', (app) => Object.defineProperty(app, 'routes', { value: [] })],
  ])('throws an error that names %s and the file if another version of Elysia has moved it', (what, move) => {
    const app = appOf()
    move(app)
    expect(() => checkElysia(app)).toThrow(`src/http/elysia.ts was written for: ${what}`)
  })

  test('throws an error that names the hook of the bearer plugin if another version has moved it', () => {
    for (const hook of [null, () => ({}), () => ({ bearer: 'ApiKey x' })])
      expect(() => checkElysia(appOf(), hook)).toThrow('src/http/elysia.ts was written for: the hook of the bearer plugin')
  })
})

test('The bearer plugin reads the key after the scheme ApiKey, and nothing after another scheme', () => {
  expect(bearerOf('ApiKey roster_1')).toBe('roster_1')
  expect(bearerOf('Bearer roster_1')).toBeUndefined()
})

describe('requests over a socket', () => {
  const app = appOf()
  /** Answers with what the handler got. */
  const tell = (route: string) => (request: Request, id: string) =>
    Response.json({ route, method: request.method, id, isRead: request.bodyUsed })
  for (const method of ['GET', 'POST', 'PURGE']) {
    addRoute(app, method, '/things/:id', tell('thing'))
    addRoute(app, method, '/things/:id/parts', tell('parts'))
    addRoute(app, method, '/things', tell('things'))
  }
  addRoute(app, 'GET', '/throws', () => {
    throw new Error('at once')
  })
  for (const path of ['/rejects', '/again']) addRoute(app, 'GET', path, () => Promise.reject(new Error('later')))
  addRest(app, (request) => tell('rest')(request, ''))
  let url: string
  beforeAll(() => {
    app.listen({ hostname: '127.0.0.1', port: 0 })
    url = `http://127.0.0.1:${app.server?.port}`
  })
  afterAll(() => app.server?.stop(true))

  /** A host as short as a host can be. */
  const send = async (line: string, headers = '', body = '') => {
    const answer = await exchange(url, `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n${body}`)
    const end = answer.indexOf('\r\n\r\n')
    return { status: Number(answer.split(' ')[1]), head: answer.slice(0, end), text: answer.slice(end + 4) }
  }

  // Bun matches the routes of the methods that it knows, Elysia those of others.
  test.each(['GET', 'POST', 'PURGE'])('A route for %s gets its parameter decoded, and the body unread', async (method) => {
    const told = async (path: string) => {
      const body = method === 'POST' ? '{"a":1}' : ''
      const headers = method === 'POST' ? 'Content-Type: application/json\r\nContent-Length: 7\r\n' : ''
      return JSON.parse((await send(`${method} ${path}`, headers, body)).text)
    }
    const isRead = false
    expect(await told('/things/1?x=2')).toEqual({ route: 'thing', method, id: '1', isRead })
    expect(await told('/things/%31%202')).toEqual({ route: 'thing', method, id: '1 2', isRead })
    expect(await told('/things/12/parts')).toEqual({ route: 'parts', method, id: '12', isRead })
    expect(await told('/things')).toEqual({ route: 'things', method, id: '', isRead })
  })

  test('Paths and methods that no other route has are handled by the last route', async () => {
    for (const line of ['GET /Things', 'GET /', 'GET //', 'GET /things//parts', 'PUT /things', 'OPTIONS /things/1', 'TRACE /x'])
      expect(JSON.parse((await send(line)).text)).toMatchObject({ route: 'rest', method: line.split(' ')[0] })
  })

  test('An error that a handler throws or rejects with is answered by the error handler', async () => {
    expect(await send('GET /throws')).toMatchObject({ status: 503, text: 'failed: at once' })
    expect(await send('GET /rejects')).toMatchObject({ status: 503, text: 'failed: later' })
  })

  test('An error that the error handler itself throws becomes an empty 500, without source code', async () => {
    const { status, head, text } = await send('GET /again')
    expect([status, text]).toEqual([500, ''])
    expect(head).toContain('X-Content-Type-Options: nosniff')
  })

  test('A body that is longer than the limits of Elysia and Bun reaches the handler', async () => {
    expect(await send('POST /things', `Content-Length: ${2 ** 31}\r\n`, '{')).toMatchObject({ status: 200 })
  })
})

describe('ownRoutesOf', () => {
  test('returns the method and path of each route, whether it is open, and its handler', async () => {
    const app = new Elysia()
      .get('/reports/:id', ({ params }) => params.id, { detail: { security: [] } })
      .post('/reports', () => 'made')
    const routes = ownRoutesOf(app, 'app.ts')
    expect(routes.map(({ method, path, isOpen }) => [method, path, isOpen])).toEqual([
      ['GET', '/reports/:id', true],
      ['POST', '/reports', false],
    ])
    const answer = await routes[0]?.handle(new Request('http://localhost/reports/7'))
    expect(await answer?.text()).toBe('7')
  })

  test('refuses a value that is no Elysia app, and routes that the API cannot check', () => {
    expect(() => ownRoutesOf({} as never, 'app.ts')).toThrow('app.ts has no default export that is an Elysia app')
    for (const app of [new Elysia().all('/x', () => ''), new Elysia().get('/x/*', () => '')])
      expect(() => ownRoutesOf(app, 'app.ts')).toThrow('app.ts cannot have the route')
  })
})

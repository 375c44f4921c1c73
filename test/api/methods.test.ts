import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sendRaw } from '../support/raw.ts'
import { createRow } from '../support/rows.ts'
import { errorOf, startServer, type TestServer } from '../support/server.ts'

const COLLECTION = ['GET', 'HEAD', 'OPTIONS', 'POST']
const ITEM = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'PUT']
const PAGE = ['GET', 'HEAD', 'OPTIONS']

let server: TestServer
let item: string
beforeAll(async () => {
  server = await startServer()
  item = `/Companies/${(await createRow(server, '/Companies', { Name: 'Acme' })).id}`
})
afterAll(() => server.stop())

const allowOf = (headers: Headers) => headers.get('allow')?.split(', ').sort()

describe('4.1 Methods and paths', () => {
  test.each(['/Companies', '/Companies/1', '/', '/livez', '/readyz', '/errors/NotFound'])('D19: HEAD %s', async (path) => {
    const get = await server.get(path)
    const { status, text, headers } = await server.send('HEAD', path)
    const type = get.headers.get('content-type')
    expect({ status, text, type: headers.get('content-type') }).toEqual({ status: 200, text: '', type })
    expect(headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)))
  })

  test('D19: HEAD answers the status of GET where there is nothing', async () => {
    for (const path of ['/Companies/999999', '/Nowhere', '/Companies?Nmae=x']) {
      const { status, text } = await server.send('HEAD', path)
      expect({ path, status, text }).toEqual({ path, status: (await server.get(path)).status, text: '' })
      expect(status).toBeGreaterThanOrEqual(400)
    }
  })

  test.each([
    ['/Companies', COLLECTION],
    ['/absences/', COLLECTION],
    ['/Companies/1', ITEM],
    ['/Employees/999999', ITEM],
    ['/', PAGE],
    ['/livez', PAGE],
  ])('D19: OPTIONS %s is 204 with Allow', async (path, methods) => {
    const { status, text, headers } = await server.send('OPTIONS', path)
    expect({ status, text, allow: allowOf(headers) }).toEqual({ status: 204, text: '', allow: methods })
  })

  test.each([
    ['PUT', '/Companies', COLLECTION],
    ['PATCH', '/Companies', COLLECTION],
    ['DELETE', '/Companies', COLLECTION],
    ['POST', '/Companies/1', ITEM],
    ['POST', '/', PAGE],
    ['DELETE', '/livez', PAGE],
  ])('D19: %s %s is 405 with Allow', async (method, path, methods) => {
    const answer = await server.send(method, path)
    expect(errorOf(answer)).toEqual({ status: 405, code: 'MethodNotAllowed', target: 'Api' })
    expect(allowOf(answer.headers)).toEqual(methods)
  })

  test('D19: a refused method changes nothing', async () => {
    await server.remove('/Companies')
    await server.send('POST', item, { Name: 'Other' })
    expect((await server.get(item)).body.name).toBe('Acme')
  })

  test.each([
    '/Nowhere',
    '/Company',
    '/Companies/1/2',
    '/Companies/1/Employees',
    '/Companies%2F1',
    '/errors/NoSuchCode',
    '/docs/nothing.js',
    '/%ZZ',
    '/__proto__',
  ])('D19: the path %s is unknown: 404', async (path) => {
    expect(errorOf(await server.get(path))).toEqual({ status: 404, code: 'NotFound', target: 'Api' })
  })

  test.each(['//Companies', '//Companies/1', '/Companies//1'])('D19: an empty segment is not skipped: %s', async (path) => {
    expect((await sendRaw(server, `GET ${path}`)).status).toBe(404)
  })

  test('D19: OPTIONS on an unknown path is 404', async () => {
    expect(errorOf(await server.send('OPTIONS', '/Nowhere'))).toMatchObject({ status: 404, code: 'NotFound' })
  })
})

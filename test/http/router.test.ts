import { beforeEach, expect, test } from 'bun:test'
import company from '../../src/entities/company.ts'
import { Database } from '../../src/execute/database.ts'
import { ListReads } from '../../src/execute/listReads.ts'
import { addResource } from '../../src/http/endpoints.ts'
import { defineEndpoint, Router } from '../../src/http/router.ts'
import { Cursors } from '../../src/model/cursor.ts'
import { defineEntity, identity } from '../../src/model/entity.ts'
import { Resource } from '../../src/operations/resource.ts'
import type { ResourceRequest } from '../../src/operations/resourceRequest.ts'
import { respondEmpty } from '../../src/respond/reply.ts'

const handler = () => respondEmpty()
const home = defineEndpoint({ GET: handler }, { isOpen: true })
const live = defineEndpoint({ GET: handler }, { isOpen: true })
const pages = defineEndpoint({ GET: handler }, { isOpen: true })
// Opens a connection with its first statement, and there is none here.
const database = new Database({ url: 'postgres://nobody@127.0.0.1:9/none', poolSize: 1, prepare: true })
const listReads = new ListReads({ quick: database, own: database, places: 1, mayCancel: true })
const parts = { database, listReads, longWrites: null, cursors: new Cursors('secret'), memory: null }

let router: Router<ResourceRequest>
beforeEach(() => {
  router = new Router()
  router.add('', home)
  router.add('livez', live)
  router.add('errors/*', pages)
  addResource(router, new Resource(company, [company], parts))
})

const allowed = (path: string) => {
  const found = router.find(path)
  return found && [found.endpoint.allow, found.id]
}
const COLLECTION = 'GET, HEAD, POST, OPTIONS'
const ITEM = 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'

test.each([
  ['is the collection', [COLLECTION, ''], ['/Companies', '/COMPANIES/', '/companies/', '/%43ompanies']],
  ['is one of them', [ITEM, '7'], ['/Companies/7', '/companies/7/', '/Companies/%37']],
  ['is one by a text that cannot be decoded', [ITEM, '%ZZ'], ['/Companies/%ZZ']],
  ['is one by dots', [ITEM, '..'], ['/Companies/..']],
  ['is nothing', null, ['/Company', '/Companies//', '/Companies//7', '/Companies/7//', '/Companies/7/employees', '//']],
  ['is nothing of the pages', null, ['/livez/7', '/errors', '/errors/', '/x', '/%ZZ', '/constructor']],
])('D1: a path %s', (_, expected, paths) => {
  for (const path of paths) expect([path, allowed(path)]).toEqual([path, expected])
})

test('the root, pages, and pages with a name', () => {
  expect(router.find('/')).toEqual({ endpoint: { ...home, route: '/' }, id: '' })
  expect(router.find('/Livez/')).toEqual({ endpoint: { ...live, route: '/livez' }, id: '' })
  expect(router.find('/errors/NotFound')).toEqual({ endpoint: { ...pages, route: '/errors/{id}' }, id: 'NotFound' })
})

test('D33: pages are open, entities are not', () => {
  const isOpen = (path: string) => router.find(path)?.endpoint.isOpen
  expect(['/', '/livez', '/errors/x', '/Companies', '/Companies/1'].map(isOpen)).toEqual([true, true, true, false, false])
})

test('D19: Allow names the methods; HEAD comes with GET, OPTIONS with every path', () => {
  expect(defineEndpoint({ GET: handler }).allow).toBe('GET, HEAD, OPTIONS')
  expect(defineEndpoint({ POST: handler }).allow).toBe('POST, OPTIONS')
})

test('two entities with one path stop the start, as does an entity with the path of a page', () => {
  const claim = (plural: string) => () =>
    addResource(router, new Resource(defineEntity('Firm', { id: identity() }, { plural }), [], parts))
  expect(claim('COMPANIES')).toThrow('two entities or pages claim /companies')
  expect(claim('Livez')).toThrow('two entities or pages claim /livez')
  expect(claim('Errors')).toThrow('two entities or pages claim /errors')
})

test('the first segments, for a hint', () => {
  expect(router.names).toEqual(['livez', 'companies'])
})

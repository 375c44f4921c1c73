import { beforeEach, expect, test } from 'bun:test'
import company from '../../src/entities/company.ts'
import { Database } from '../../src/execute/database.ts'
import { ListReads } from '../../src/execute/listReads.ts'
import { addResource } from '../../src/http/endpoints.ts'
import { defineEndpoint, Router } from '../../src/http/router.ts'
import { Cursors } from '../../src/model/cursor.ts'
import { defineEntity, identity } from '../../src/model/entity.ts'
import { Resource } from '../../src/operations/resource.ts'
import { respondEmpty } from '../../src/respond/reply.ts'

const handler = () => respondEmpty()
const home = defineEndpoint({ GET: handler }, { isOpen: true })
const live = defineEndpoint({ GET: handler }, { isOpen: true })
const pages = defineEndpoint({ GET: handler }, { isOpen: true })
// Opens a connection with its first statement, and there is none here.
const database = new Database({ url: 'postgres://nobody@127.0.0.1:9/none', poolSize: 1, prepare: true })
const listReads = new ListReads({ quick: database, own: database, places: 1, mayCancel: true })
const parts = { database, listReads, longWrites: null, cursors: new Cursors('secret'), memory: null }

let router: Router
beforeEach(() => {
  router = new Router()
  router.add('', home)
  router.add('livez', live)
  router.add('errors/*', pages)
  addResource(router, new Resource(company, [company], parts))
})

test.each([
  ['is one by a text that cannot be decoded', '%ZZ', ['/Companies/%ZZ']],
  ['is one by what its escapes stand for', '7', ['/Companies/%37', '/%43ompanies/7/']],
  ['is one by dots', '..', ['/Companies/..']],
  ['is nothing', undefined, ['//', '/Companies//7', '/livez/7', '/errors', '/errors/', '/%ZZ', '/constructor']],
])('D1: a path %s', (_, id, paths) => {
  for (const path of paths) expect([path, router.find(path)?.id]).toEqual([path, id])
})

test('the root, pages, and pages with a name', () => {
  expect(router.find('/')).toEqual({ endpoint: { ...home, route: '/' }, id: '' })
  expect(router.find('/Livez/')).toEqual({ endpoint: { ...live, route: '/livez' }, id: '' })
  expect(router.find('/errors/NotFound')).toEqual({ endpoint: { ...pages, route: '/errors/{id}' }, id: 'NotFound' })
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

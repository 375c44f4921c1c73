import type { RawResponse } from '../../support/connection.ts'
import type { Random } from '../../support/random.ts'
import { randomBody } from '../../support/randomBodies.ts'
import type { RandomRequest } from '../../support/randomRequests.ts'
import { KEY } from '../../support/server.ts'
import type { Surface } from '../../support/surface.ts'

const AUTHORIZED: [string, string] = ['Authorization', `ApiKey ${KEY}`]

/** Makes a request whose response has a cursor or an ETag, from which another request can be made. */
export function followable(random: Random, { collections }: Surface): RandomRequest {
  const { plural, properties } = random.pick(collections)
  const list = `/${plural}?PageSize=5&page=${1 + random.below(4)}&sort=${random.pick(['', '-'])}${random.pick(properties).name}`
  const target = random.chance(50) ? list : `/${plural}/${1 + random.below(120)}`
  return { method: 'GET', target, headers: [AUTHORIZED], body: null }
}

/** Makes a request from a response: a valid request, or an altered one. Null if the response has no cursor and no ETag. */
export function followOf(random: Random, surface: Surface, target: string, { headers }: RawResponse): RandomRequest | null {
  const links = [...(headers.get('link') ?? '').matchAll(/<https?:\/\/[^/]+([^>]+)>/g)].map(([, link]) => link as string)
  const etag = headers.get('etag')
  if (etag !== undefined && (links.length === 0 || random.chance(50))) return byTag(random, surface, target, etag)
  if (links.length === 0) return null
  return {
    method: 'GET',
    target: random.pick(alterations)(random.pick(links), random),
    headers: [AUTHORIZED],
    body: null,
  }
}

const alterations: readonly ((link: string, random: Random) => string)[] = [
  (link) => link,
  (link, random) => replaced(link, link.indexOf('cursor=') + 7 + random.below(20), random),
  (link, random) => replaced(link, link.length - 1 - random.below(20), random),
  (link, random) => link.slice(0, -1 - random.below(30)),
  (link) => `${link}&${link.slice(link.indexOf('cursor='))}`,
  (link) => link.replace(/^\/\w+/, (path) => (path === '/Companies' ? '/Absences' : '/Companies')),
  (link) => `${link}&Id=>3`,
  (link) => link.replace(/sort=-?/, (sort) => (sort === 'sort=' ? 'sort=-' : 'sort=')),
  (link) => link.replace('PageSize=5', 'PageSize=50'),
  (link) => link.replace(/page=\d+/, 'page=999999999'),
  (link) => link.toLowerCase(),
  (link) => `${link}${'A'.repeat(500)}`,
  (link) => link.replace(/cursor=.*/, (cursor) => `cursor=${encodeURIComponent(cursor.slice(7))}%3D%3D`),
]

function replaced(text: string, at: number, random: Random): string {
  return text.slice(0, at) + random.pick(['A', 'b', '-', '_', '9', '%41', '.', '=']) + text.slice(at + 1)
}

function byTag(random: Random, surface: Surface, target: string, etag: string): RandomRequest {
  const value = random.pick([
    ...[etag, etag, `"x", ${etag}`, `W/${etag}`, etag.replace(/^W\//, ''), etag.slice(1), replaced(etag, 2, random), `${etag},`],
    etag.repeat(40),
  ])
  const isRow = /\/\d+$/.test(target)
  const method = isRow ? random.pick(['GET', 'GET', 'PUT', 'PATCH', 'PATCH', 'DELETE']) : 'GET'
  const name = method === 'GET' || random.chance(20) ? 'If-None-Match' : 'If-Match'
  const plural = target.split(/[/?]/)[1]
  const collection = surface.collections.find((one) => one.plural === plural)
  const body = method[0] === 'P' && collection ? randomBody(random, collection) : null
  const headers: [string, string][] = [AUTHORIZED, [name, value]]
  if (body !== null) headers.push(['Content-Type', 'application/json'])
  return { method, target, headers, body }
}

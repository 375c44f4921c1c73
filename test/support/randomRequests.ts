import { hostileTexts } from './hostile.ts'
import { type Collection, collections, type Field, properties } from './model.ts'
import type { Random } from './random.ts'
import { randomBody, randomText } from './randomBodies.ts'
import { KEY } from './server.ts'

export interface RandomRequest {
  method: string
  target: string
  headers: [string, string][]
  body: Buffer | null
}

/** More than 16 KiB of head is refused before it is a request. */
const TARGET_LENGTH_MAX = 12_000

/** Any request at all, as long as it is HTTP: valid, nearly valid, or nonsense. */
export function randomRequest(random: Random): RandomRequest {
  const collection = random.pick(collections)
  const method = random.chance(4)
    ? random.pick(['TRACE', 'PURGE', 'MKCOL', 'PROPFIND', 'QUERY', 'REPORT'])
    : random.pick([
        'GET',
        'GET',
        'GET',
        'GET',
        'GET',
        'POST',
        'POST',
        'POST',
        'PUT',
        'PATCH',
        'DELETE',
        'HEAD',
        'OPTIONS',
      ])
  const listed = method === 'GET' || method === 'HEAD' || random.chance(5)
  const query = listed && random.chance(75) ? `?${randomQuery(random, collection)}` : ''
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(method) ? random.chance(97) : random.chance(3)
  const body = hasBody ? randomBody(random, collection) : null
  return {
    method,
    target: (randomPath(random, collection, method) + query).slice(0, TARGET_LENGTH_MAX),
    headers: randomHeaders(random, hasBody),
    body,
  }
}

function randomPath(random: Random, collection: Collection, method: string): string {
  if (random.chance(12))
    return random.pick([
      ...[
        '/',
        '/livez',
        '/readyz',
        '/errors/NotFound',
        '/errors/x',
        '/errors',
        '//',
        '/Companies//1',
        '/Companies/..',
        '/./Companies',
      ],
      ...[
        '/company',
        '/Employee',
        '/%43ompanies',
        '/Companies%2F1',
        '/docs',
        '/openapi.json',
        '/favicon.ico',
        '/*',
        '/%',
        '/%ff',
      ],
      `/${encodeURIComponent(random.pick(hostileTexts))}`,
      `/Companies/${'9'.repeat(random.below(9_000))}`,
    ])
  const name = random.chance(10)
    ? random.pick([collection.toLowerCase(), collection.toUpperCase(), `${collection}/`])
    : collection
  const single =
    method === 'POST' ? random.chance(3) : method === 'GET' || method === 'HEAD' ? random.chance(30) : random.chance(95)
  return single ? `/${name.replace('/', '')}/${randomId(random, method)}` : `/${name}`
}

function randomId(random: Random, method: string): string {
  // Few deletes hit, so that the other methods have something left.
  if (random.chance(80)) return String(1 + random.below(method === 'DELETE' ? 1_500 : 120))
  return random.pick([
    ...[
      '0',
      '-1',
      '01',
      '1.0',
      '1e3',
      '0x10',
      '+1',
      '%201',
      '1%20',
      '%EF%BC%91',
      'NaN',
      'null',
      '9007199254740991',
      '9007199254740992',
    ],
    ...[
      '9223372036854775807',
      '99999999999999999999999',
      '1/',
      '1//',
      '%31',
      encodeURIComponent(random.pick(hostileTexts)),
    ],
  ])
}

function randomQuery(random: Random, collection: Collection): string {
  if (random.chance(2)) return 'Id=%3E0&'.repeat(25 + random.below(30))
  if (random.chance(2)) return `Name=${'x'.repeat(random.below(9_000))}`
  const parameters = random.times(5, () => randomParameter(random, collection))
  return parameters.join(random.chance(3) ? random.pick(['&&', ';', '?', '&=&']) : '&')
}

/** As it looks; it is none. */
const CURSOR = '7qvIoxlUaIXzj6m3yS-QkTE8WyIyMDI2LTA0LTA1IDA5OjAwOjAwKzAwIiwiMTEiXQ'

function randomParameter(random: Random, collection: Collection): string {
  const kind = random.below(10)
  if (kind === 0) return `${random.pick(['PageSize', 'pagesize', 'PAGESIZE'])}=${randomInteger(random)}`
  if (kind === 1) return `${random.pick(['page', 'Page'])}=${randomInteger(random)}`
  if (kind === 2 && random.chance(20)) return `cursor=${encodeURIComponent(random.mangle(CURSOR).toWellFormed())}`
  if (kind <= 3) return `sort=${random.times(4, () => randomSort(random, collection)).join(',')}`
  const field = random.pick(properties[collection])
  const name = random.chance(5)
    ? encodeURIComponent(random.chance(50) ? random.mangle(field.name).toWellFormed() : random.pick(hostileTexts))
    : field.name
  const operator = random.pick(['', '', '', '=', '==', '!=', '<', '<=', '>', '>=', '<>', '!', '%3C', '%3E%3D'])
  return `${name}=${operator}${randomOperand(random, field)}`
}

function randomInteger(random: Random): string {
  if (random.chance(80)) return String(random.below(12))
  return random.pick([
    '-1',
    '',
    '75',
    '1.5',
    'abc',
    '0x10',
    '%20',
    '9'.repeat(400),
    '-0',
    '1e9',
    '١',
    'null',
    '1&page=2',
  ])
}

function randomSort(random: Random, collection: Collection): string {
  const name = random.chance(5)
    ? encodeURIComponent(random.pick(['Period', 'nme', '', ...hostileTexts]))
    : random.pick(properties[collection]).name
  return random.pick(['+', '-', '%2B', '%20', '', '-', random.chance(5) ? '--' : '']) + name
}

function randomOperand(random: Random, field: Field): string {
  if (random.chance(6)) return random.pick(['%', '%Z1', '%C3', '%C3%28', '%ED%A0%80', '%00', '%u0041', '%F4%90%80%80'])
  if (random.chance(8)) return encodeURIComponent(random.pick(hostileTexts))
  if (random.chance(5)) return ''
  const fitting = random.chance(92)
    ? field.kind
    : random.pick(['text', 'integer', 'boolean', 'decimal', 'instant'] as const)
  return encodeURIComponent(randomText(random, fitting))
}

function randomHeaders(random: Random, hasBody: boolean): [string, string][] {
  const headers: [string, string][] = []
  const oddKeys = [
    '',
    'ApiKey',
    'ApiKey wrong',
    `Bearer ${KEY}`,
    `ApiKey${KEY}`,
    `apikey   ${KEY}`,
    `ApiKey ${KEY} `,
    'ApiKey a b',
    '\xff',
    `ApiKey ${'k'.repeat(3_000)}`,
  ]
  if (random.chance(94)) headers.push(['Authorization', `ApiKey ${KEY}`])
  else if (random.chance(80)) headers.push(['Authorization', random.pick(oddKeys)])
  const oddTypes = [
    'application/merge-patch+json',
    'APPLICATION/JSON; charset=UTF-8',
    'application/jsonx',
    'text/json',
    'application/json; charset=latin1',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    '',
    ';',
    'application/json, text/html',
  ]
  if (hasBody && random.chance(95)) headers.push(['Content-Type', 'application/json'])
  else if (hasBody && random.chance(90)) headers.push(['Content-Type', random.pick(oddTypes)])
  if (random.chance(10))
    headers.push([
      'X-Request-Id',
      random.pick(['abc-1', 'x'.repeat(128), 'x'.repeat(129), 'a b', '<x>', '', '\xe9', "';--"]),
    ])
  if (random.chance(10))
    headers.push(
      random.pick([
        ['Accept', 'text/html'],
        ['Accept-Encoding', 'gzip, br'],
        ['If-None-Match', '*'],
        ['Range', 'bytes=0-1'],
        ['Cookie', 'a=b; __proto__=1'],
        ['X-Forwarded-For', "1.2.3.4, '"],
        ['X-HTTP-Method-Override', 'DELETE'],
        ['Origin', 'null'],
      ]),
    )
  return headers
}

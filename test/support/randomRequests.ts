import { hostileTexts } from './hostile.ts'
import type { Random } from './random.ts'
import { randomBody, randomText } from './randomBodies.ts'
import { KEY } from './server.ts'
import type { AimedCollection, AimedField, Surface } from './surface.ts'

export interface RandomRequest {
  method: string
  target: string
  headers: [string, string][]
  body: Buffer | null
}

/** Maximum length of a target: Bun itself refuses a head of over 16 KiB. */
const TARGET_LENGTH_MAX = 12_000
/** Methods; some are drawn more often than others. */
const METHODS = [
  ...['GET', 'GET', 'GET', 'GET', 'GET', 'POST', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'],
] as const
const ODD_METHODS = ['TRACE', 'PURGE', 'MKCOL', 'PROPFIND', 'QUERY', 'REPORT']

/** Draws any request that is HTTP: valid, nearly valid, or nonsense. */
export function randomRequest(random: Random, surface: Surface): RandomRequest {
  const collection = random.pick(surface.collections)
  const method = random.chance(4) ? random.pick(ODD_METHODS) : random.pick(METHODS)
  const listed = method === 'GET' || method === 'HEAD' || random.chance(5)
  const query = listed && random.chance(75) ? `?${randomQuery(random, collection)}` : ''
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(method) ? random.chance(97) : random.chance(3)
  const body = hasBody ? randomBody(random, collection) : null
  return {
    method,
    target: (randomPath(random, surface, collection, method) + query).slice(0, TARGET_LENGTH_MAX),
    headers: randomHeaders(random, surface, hasBody),
    body,
  }
}

const ODD_PATHS = [
  ...['//', '/Companies//1', '/Companies/..', '/./Companies', '/company', '/Employee', '/%43ompanies', '/Companies%2F1'],
  ...['/favicon.ico', '/*', '/%', '/%ff', '/errors/x', '/robots.txt', '/Companies/1/2', '/%2e%2e/Companies'],
  ...['/Companies;a=b', '/Companies/%c0%af', '/Companies/1%00', '/Companies/%F0%9F%98%80', '/docs/scalar.js', '/docs/..'],
]

function randomPath(random: Random, { pages }: Surface, { plural }: AimedCollection, method: string): string {
  if (random.chance(12)) {
    const kind = random.below(10)
    if (kind < 4) return random.pick(pages).replace(/\{\w+\}/, random.pick(['NotFound', 'notfound', 'x', '%4eotFound']))
    if (kind < 8) return random.pick(ODD_PATHS)
    return kind === 8 ? `/${encodeURIComponent(random.pick(hostileTexts))}` : `/${plural}/${'9'.repeat(random.below(9_000))}`
  }
  const name = random.chance(10) ? random.pick([plural.toLowerCase(), plural.toUpperCase(), `${plural}/`]) : plural
  const single =
    method === 'POST' ? random.chance(3) : method === 'GET' || method === 'HEAD' ? random.chance(30) : random.chance(95)
  return single ? `/${name.replace('/', '')}/${randomId(random, method)}` : `/${name}`
}

const ODD_IDS = [
  ...['0', '-1', '01', '1.0', '1e3', '0x10', '+1', '%201', '1%20', '%EF%BC%91', 'NaN', 'null', '9007199254740991'],
  ...['9007199254740992', '9223372036854775807', '99999999999999999999999', '1/', '1//', '%31', '1;2', "1'", '1%0a'],
]

function randomId(random: Random, method: string): string {
  // Few deletes hit a row, so that rows are left for the other methods.
  if (random.chance(80)) return String(1 + random.below(method === 'DELETE' ? 1_500 : 120))
  return random.chance(95) ? random.pick(ODD_IDS) : encodeURIComponent(random.pick(hostileTexts))
}

function randomQuery(random: Random, collection: AimedCollection): string {
  if (random.chance(2)) return 'Id=%3E0&'.repeat(25 + random.below(30))
  if (random.chance(2)) return `Name=${'x'.repeat(random.below(9_000))}`
  const parameters = random.times(5, () => randomParameter(random, collection))
  return parameters.join(random.chance(3) ? random.pick(['&&', ';', '?', '&=&']) : '&')
}

/** A text that looks like a cursor, but is not valid. */
const CURSOR = '7qvIoxlUaIXzj6m3yS-QkTE8WyIyMDI2LTA0LTA1IDA5OjAwOjAwKzAwIiwiMTEiXQ'
const OPERATORS = ['', '', '', '=', '==', '!=', '<', '<=', '>', '>=', '<>', '!', '%3C', '%3E%3D']

function randomParameter(random: Random, collection: AimedCollection): string {
  const kind = random.below(10)
  if (kind === 0) return `${random.pick(['PageSize', 'pagesize', 'PAGESIZE'])}=${randomInteger(random)}`
  if (kind === 1) return `${random.pick(['page', 'Page'])}=${randomInteger(random)}`
  if (kind === 2 && random.chance(20)) return `cursor=${encodeURIComponent(random.mangle(CURSOR).toWellFormed())}`
  if (kind <= 3) return `sort=${random.times(4, () => randomSort(random, collection)).join(',')}`
  const field = random.pick(collection.properties)
  const name = random.chance(5)
    ? encodeURIComponent(random.chance(50) ? random.mangle(field.name).toWellFormed() : random.pick(hostileTexts))
    : field.name
  return `${name}=${random.pick(OPERATORS)}${randomOperand(random, field)}`
}

const ODD_INTEGERS = [
  ...['-1', '', '75', '1.5', 'abc', '0x10', '%20', '9'.repeat(400), '-0', '1e9', '١', 'null', '1&page=2'],
  ...['4', '5', '50', '51', '2147483648', '9007199254740993', '1000000000000', '-9'],
]

function randomInteger(random: Random): string {
  return random.chance(80) ? String(random.below(12)) : random.pick(ODD_INTEGERS)
}

function randomSort(random: Random, { properties }: AimedCollection): string {
  const name = random.chance(5)
    ? encodeURIComponent(random.pick(['Period', 'nme', '', ...hostileTexts]))
    : random.pick(properties).name
  return random.pick(['+', '-', '%2B', '%20', '', '-', random.chance(5) ? '--' : '']) + name
}

const ODD_ESCAPES = ['%', '%Z1', '%C3', '%C3%28', '%ED%A0%80', '%00', '%u0041', '%F4%90%80%80', '%C0%80', '%FE', '%EF%BF%BF']

function randomOperand(random: Random, field: AimedField): string {
  if (random.chance(6)) return random.pick(ODD_ESCAPES)
  if (random.chance(8)) return encodeURIComponent(random.pick(hostileTexts))
  if (random.chance(5)) return ''
  const fitting = random.chance(92)
    ? field.kind
    : random.pick(['text', 'integer', 'boolean', 'decimal', 'instant', 'date', 'oneOf'] as const)
  return encodeURIComponent(randomText(random, fitting))
}

const ODD_KEYS = [
  ...['', 'ApiKey', 'ApiKey wrong', `Bearer ${KEY}`, `ApiKey${KEY}`, `apikey   ${KEY}`, `ApiKey ${KEY} `, 'ApiKey a b'],
  ...['\xff', `ApiKey ${'k'.repeat(3_000)}`, `ApiKey ${KEY}, ApiKey ${KEY}`, `ApiKey\t${KEY}`, 'ApiKey roster_a_b'],
]
const ODD_TYPES = [
  ...[
    'application/merge-patch+json',
    'application/x-ndjson',
    'application/x-ndjson; charset=utf-8',
    'APPLICATION/JSON; charset=UTF-8',
    'application/jsonx',
    'text/json',
    '',
    ';',
  ],
  ...['application/json; charset=latin1', 'application/xml', 'multipart/form-data; boundary=x', 'application/json, text/html'],
  ...['application/x-www-form-urlencoded', `application/${'x'.repeat(3_000)}+json`, 'application/json;', '\xe9/json'],
]
const ODD_HEADERS: readonly [string, string][] = [
  ['Accept', 'text/html'],
  ['Accept', `text/html;q=0.${'9'.repeat(500)}, */*;q=x,,;`],
  ['Accept-Encoding', 'gzip, br'],
  ['Accept-Encoding', 'gzip;q=0, *;q=1e9, identity;q=-1'],
  ['Range', 'bytes=0-1'],
  ['Cookie', 'a=b; __proto__=1'],
  ['X-Forwarded-For', "1.2.3.4, '"],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Origin', 'null'],
  ['Content-Encoding', 'gzip'],
  ['If-Modified-Since', 'Sat, 21 Nov 2026 13:05:00 GMT'],
  ['Prefer', 'return=minimal'],
  ['__proto__', '1'],
  ['X-Long', 'x'.repeat(9_000)],
  ['Upgrade', 'websocket'],
]
/** Values for any header in the document. Each header accepts a few of them, and refuses the others. */
const HEADER_VALUES = [
  ...['*', '"1"', 'W/"1"', '"a", "b"', '""', '"', 'W/', '', ' ', ',', '*, *', '1', 'abc-1', 'x'.repeat(128), 'x'.repeat(129)],
  ...['x'.repeat(255), 'x'.repeat(256), '"'.repeat(255), 'a b', '<x>', '\xe9', "';--", 'null', '0', '"\xff"', '"a\tb"'],
  ...['8e03978e-40d5-43dd-bc93-6894a57f9324', '"8e03978e-40d5-43dd-bc93-6894a57f9324"', '"1",'.repeat(300), '9'.repeat(40)],
]

function randomHeaders(random: Random, surface: Surface, hasBody: boolean): [string, string][] {
  const headers: [string, string][] = []
  if (random.chance(94)) headers.push(['Authorization', `ApiKey ${KEY}`])
  else if (random.chance(80)) headers.push(['Authorization', random.pick(ODD_KEYS)])
  if (hasBody && random.chance(95)) headers.push(['Content-Type', 'application/json'])
  else if (hasBody && random.chance(90)) headers.push(['Content-Type', random.pick(ODD_TYPES)])
  if (random.chance(20)) headers.push([random.pick(surface.headers), random.pick(HEADER_VALUES)])
  if (random.chance(10)) headers.push(random.pick(ODD_HEADERS))
  if (random.chance(2)) headers.push(random.pick(headers.length > 0 ? headers : ODD_HEADERS))
  return headers
}

/** Returns the bytes of a request, sometimes with its body in chunks. */
export function bytesOf({ method, target, headers, body }: RandomRequest, host: string, random: Random): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, `Host: ${host}`]
  for (const [name, value] of headers) lines.push(`${name}: ${value}`)
  if (!body) return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  const chunked = random.chance(15)
  lines.push(chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`)
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  return Buffer.concat(chunked ? [head, ...chunks(body, 1 + random.below(5_000))] : [head, body])
}

function chunks(body: Buffer, length: number): Buffer[] {
  const parts: Buffer[] = []
  for (let start = 0; start < body.length; start += length) {
    const part = body.subarray(start, start + length)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
  }
  return [...parts, Buffer.from('0\r\n\r\n')]
}

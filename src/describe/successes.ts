import type { Entity } from '../model/entity.ts'
import { PAGE_SIZE_MAX, SUMMARY_PAGES } from '../parse/parameters.ts'
import { headersOf, objectSchema, refTo, type Schema } from './headers.ts'
import type { Operation, PageName } from './operations.ts'

const json = (schema: Schema) => ({ content: { 'application/json': { schema } } })
const row = (name: string) => refTo('schemas', name)
/** With `fields` it has some of its properties. D56 */
const read = (entity: Entity) => ({ anyOf: [row(entity.name), row(`${entity.name}Choice`)] })
const written = (entity: Entity) => json(row(`${entity.name}Written`))
const LISTED = { 'X-Total-Count': 'X-Total-Count', ETag: 'ListVersion' }
/** Streams have none. */
const OF_PAGES = { 'X-Total-Count': 'PageTotal', ETag: 'PageVersion' }
const OF_STREAMS = {
  'Content-Disposition': 'Content-Disposition',
  'Content-Encoding': 'Content-Encoding',
  Vary: 'Vary',
  'X-Changes-After': 'X-Changes-After',
}
const LINKS = { Location: 'PageLinks', Link: 'PageLinks' }
/** Headers of a write's response. */
const WRITTEN = { 'Idempotency-Replayed': 'Idempotency-Replayed' }
const VERSION = { ETag: 'RowVersion' }

type HeadersOf = (own?: Record<string, string>) => { headers: Record<string, Schema> }

/** The `responses` of an operation that succeeds. */
export function successesOf(operation: Operation): Record<string, Schema> {
  const { success, entity, isUnlimited } = operation
  const headers: HeadersOf = (own = {}) => ({ headers: headersOf(own, { isUnlimited }) })
  switch (success) {
    case 'list':
      return listed('row', read(entity as Entity), PAGE_SIZE_MAX, headers)
    case 'summary':
      return listed('group', row(`${(entity as Entity).name}Group`), SUMMARY_PAGES.max, headers)
    case 'row':
      return {
        200: { description: 'The row.', ...headers(VERSION), ...json(read(entity as Entity)) },
        304: { description: 'The row has the version that the client has.', ...headers(VERSION) },
      }
    case 'created':
      return {
        201: {
          description: 'The new row; of an array, the new rows as an array in the order in which they were sent.',
          ...headers({ Location: 'CreatedLocation', ETag: 'CreatedVersion', ...WRITTEN }),
          ...written(entity as Entity),
        },
      }
    case 'updated':
      return {
        200: { description: 'The row as it is now.', ...headers({ ...VERSION, ...WRITTEN }), ...written(entity as Entity) },
      }
    case 'deleted':
      return { 204: { description: 'The row is deleted.', ...headers(WRITTEN) } }
    case 'changes':
      return {
        200: {
          description: 'A page of changes.',
          ...headers({ 'Content-Encoding': 'Content-Encoding', Vary: 'Vary' }),
          ...json(row('Changes')),
        },
      }
    case 'history':
      return { 200: { description: 'A page of the row’s changes.', ...headers(), ...json(row('History')) } }
    default:
      return pageSuccesses(success, headers)
  }
}

/** Pages and streams of rows, or of groups. */
function listed(one: 'row' | 'group', items: Schema, maxItems: number, headers: HeadersOf): Record<string, Schema> {
  const pages = one === 'row' ? 'A page, and links to others' : 'A page of groups'
  const csv = { type: 'string', description: `Every ${one}, below a line with the names. RFC 4180.` }
  return {
    200: {
      description: `${pages}; or every ${one}, without total, tag and links.`,
      ...headers({ ...OF_PAGES, ...LINKS, ...OF_STREAMS }),
      content: { ...json({ type: 'array', items, maxItems }).content, 'text/csv': { schema: csv } },
    },
    304: { description: `The page that the client has: ${one}s, total and links are the same.`, ...headers(LISTED) },
  }
}

const STORED = { ETag: 'ETag', Vary: 'Vary' }
const HTML = { 'Content-Security-Policy': 'Content-Security-Policy' }

function pageSuccesses(page: PageName, headers: HeadersOf): Record<string, Schema> {
  if (page === 'live' || page === 'ready') return { 200: { description: 'It does.', ...headers(), ...json(pageSchemas[page]) } }
  const stored = page === 'document' ? STORED : { ...STORED, ...HTML }
  const encoded = { ...stored, 'Content-Encoding': 'Content-Encoding' }
  return {
    200: { description: 'The page.', ...headers(encoded), content: contentOf(page) },
    304: { description: 'It has not changed.', ...headers(stored) },
  }
}

/** Programs get JSON, and browsers HTML where there is a page for people too. */
function contentOf(page: PageName): Schema {
  const html = { 'text/html': { schema: text } }
  if (page === 'docs' || page === 'explore') return html
  const { content } = json(pageSchemas[page])
  return page === 'document' ? content : { ...content, ...html }
}

const text = { type: 'string' }
const uri = { type: 'string', format: 'uri' }
const errorKind = {
  code: refTo('schemas', 'ErrorCode'),
  status: { type: 'integer', minimum: 400, maximum: 599 },
  title: { ...text, description: 'What it means.' },
  explanation: { ...text, description: 'Why it comes.' },
  remedy: { ...text, description: 'What to do.' },
  reference: uri,
}
const texts = { type: 'object', additionalProperties: text }

const pageSchemas: Readonly<Record<Exclude<PageName, 'docs' | 'explore'>, Schema>> = {
  root: objectSchema({ name: text, version: text, resources: { type: 'object', additionalProperties: uri } }),
  live: objectSchema({ status: { const: 'live' } }),
  ready: objectSchema({ status: { const: 'ready' } }),
  document: {
    type: 'object',
    required: ['openapi', 'info', 'servers', 'paths', 'components'],
    properties: {
      openapi: { type: 'string', pattern: '^3[.]1[.][0-9]+$' },
      info: { type: 'object' },
      servers: { type: 'array', items: { type: 'object' } },
      paths: { type: 'object' },
      components: { type: 'object' },
    },
  },
  errors: objectSchema({ errors: { type: 'array', items: objectSchema(errorKind) } }),
  error: objectSchema({
    ...errorKind,
    example: objectSchema({
      when: { type: ['string', 'null'], description: 'What must be so, beside the request.' },
      request: objectSchema({ method: text, target: text, headers: texts, body: { type: ['string', 'null'] } }),
      answer: refTo('schemas', 'Error'),
    }),
  }),
}

// Successful responses in the OpenAPI document, and 304.
import { type Static, Type } from '@sinclair/typebox'
import { FILTERED_ROWS_MAX } from '../compile/filteredRows.ts'
import type { ErrorCode } from '../errors.ts'
import type { Entity } from '../model/entity.ts'
import type { View } from '../model/view.ts'
import { LIST_PAGES, SUMMARY_PAGES } from '../parse/parameters.ts'
import { hasEvents } from './accesses.ts'
import type { errorSchemas } from './errorAnswers.ts'
import { headersOf } from './headers.ts'
import type { Operation, PageName } from './operations.ts'
import { mapOf, objectSchema, oneOf, orNull, type Part, type Schema, schemaRef } from './schema.ts'

const json = (schema: Schema) => ({ 'application/json': { schema } })
const row = (name: string) => schemaRef(name)
const written = (entity: Entity) => json(row(`${entity.name}Written`))
const LISTED = { 'X-Total-Count': 'X-Total-Count', ETag: 'ListVersion' }
/** Headers of pages. Streams do not have them. */
const OF_PAGES = { 'X-Total-Count': 'PageTotal', ETag: 'PageVersion' }
const COMPRESSED = { 'Content-Encoding': 'Content-Encoding', Vary: 'Vary' }
const DOWNLOADED = { 'Content-Disposition': 'Content-Disposition' }
const TOKEN = { 'X-Changes-After': 'X-Changes-After' }
const LINKS = { Location: 'PageLinks', Link: 'Link' }
/** Headers of a write's response. */
const WRITTEN = { 'Idempotency-Replayed': 'Idempotency-Replayed' }
const VERSION = { ETag: 'RowVersion' }
const READ_VERSION = { ETag: 'ReadVersion' }

/** Schema of the answer to a deletion by filters. */
const deletedRows = objectSchema({
  rows: Type.Integer({ minimum: 0, maximum: FILTERED_ROWS_MAX, description: 'How many rows were deleted.' }),
  ids: Type.Array(Type.Integer({ format: 'int64', minimum: 1 }), { maxItems: FILTERED_ROWS_MAX, description: 'Their ids.' }),
})

type AnswerOf = (description: string, headers?: Record<string, string>, content?: Part) => Part

/** Returns the successful `responses` of an operation. */
export function successesOf({ success, entity, isUnlimited }: Operation): Record<string, Part> {
  const answer: AnswerOf = (description, headers = {}, content) => ({
    description,
    headers: headersOf(headers, isUnlimited),
    ...(content ? { content } : {}),
  })
  switch (success) {
    case 'list':
      return listed('row', entity as View, LIST_PAGES.max, answer)
    case 'summary':
      return listed('group', entity as View, SUMMARY_PAGES.max, answer)
    case 'row':
      return {
        200: answer('The row.', READ_VERSION, json(row((entity as Entity).name))),
        304: answer('The row has the version that the client has.', READ_VERSION),
      }
    case 'created': {
      const description = 'The new row; of an array, the new rows as an array in the order in which they were sent.'
      const headers = { Location: 'CreatedLocation', ETag: 'CreatedVersion', ...WRITTEN }
      return { 201: answer(description, headers, written(entity as Entity)) }
    }
    case 'updated':
      return { 200: answer('The row as it is now.', { ...VERSION, ...WRITTEN }, written(entity as Entity)) }
    case 'deleted':
      return { 204: answer('The row is deleted.', WRITTEN) }
    case 'updatedRows': {
      const rows = json(Type.Array(row(`${(entity as Entity).name}Written`), { maxItems: FILTERED_ROWS_MAX }))
      return { 200: answer('The rows as they are now, ordered by id; none if none matched.', WRITTEN, rows) }
    }
    case 'deletedRows':
      return { 200: answer('The number and the ids of the deleted rows; 0 if none matched.', WRITTEN, json(deletedRows)) }
    case 'changes':
      return { 200: answer('A page of changes.', COMPRESSED, json(row('Changes'))) }
    case 'history':
      return { 200: answer('A page of the row’s changes.', {}, json(row('History'))) }
    case 'rights':
      return { 200: answer('Your rights.', {}, json(Type.Array(row('KeyRight')))) }
    default:
      return pageSuccesses(success, answer)
  }
}

/** Returns the responses of pages and streams, with rows or with groups. */
function listed(one: 'row' | 'group', read: View, maxItems: number, answer: AnswerOf): Record<string, Part> {
  const items = row(one === 'row' ? read.name : `${read.name}Group`)
  const pages = one === 'row' ? 'A page, and links to others' : 'A page of groups'
  const csv = Type.String({ description: `Every ${one}, after a line with the names. RFC 4180.` })
  const content = { ...json(Type.Array(items, { maxItems })), 'text/csv': { schema: csv } }
  const token = hasEvents({ read }) ? TOKEN : {}
  const headers = { ...OF_PAGES, ...LINKS, ...DOWNLOADED, ...token, ...COMPRESSED }
  return {
    200: answer(`${pages}; or every ${one}, without total, tag and links.`, headers, content),
    304: answer(`The page that the client has: ${one}s, total and links are the same.`, LISTED),
  }
}

const STORED = { ETag: 'ETag', Vary: 'Vary' }
const HTML = { 'Content-Security-Policy': 'Content-Security-Policy' }

function pageSuccesses(page: PageName, answer: AnswerOf): Record<string, Part> {
  if (page === 'live' || page === 'ready') return { 200: answer('It does.', {}, json(pageSchemas[page])) }
  const stored = page === 'document' ? STORED : { ...STORED, ...HTML }
  return {
    200: answer('The page.', { ...stored, ...COMPRESSED }, contentOf(page)),
    304: answer('It has not changed.', stored),
  }
}

/** Returns the content of a page of the server: JSON, and also HTML if there is a page for people. */
function contentOf(page: PageName): Part {
  const html = { 'text/html': { schema: text } }
  if (page === 'docs' || page === 'explore') return html
  const content = json(pageSchemas[page])
  return page === 'document' ? content : { ...content, ...html }
}

const text = Type.String()
const uri = Type.String({ format: 'uri' })
/** Schema of an object of any form. `Type.Object` would add an empty list of properties. */
const object = Type.Unsafe<object>({ type: 'object' })

const errorKind = {
  code: schemaRef<ErrorCode>('ErrorCode'),
  status: Type.Integer({ minimum: 400, maximum: 599 }),
  title: Type.String({ description: 'What it means.' }),
  explanation: Type.String({ description: 'Why it comes.' }),
  remedy: Type.String({ description: 'What to do.' }),
  reference: uri,
}

const pageSchemas = {
  root: objectSchema({ name: text, version: text, resources: mapOf(uri) }),
  live: objectSchema({ status: oneOf(['live']) }),
  ready: objectSchema({ status: oneOf(['ready']) }),
  document: Type.Object({
    openapi: Type.String({ pattern: '^3[.]1[.][0-9]+$' }),
    info: object,
    servers: Type.Array(object),
    paths: object,
    components: object,
  }),
  errors: objectSchema({ errors: Type.Array(objectSchema(errorKind)) }),
  error: objectSchema({
    ...errorKind,
    example: objectSchema({
      when: orNull(Type.String({ description: 'What must be so, beside the request.' })),
      request: objectSchema({ method: text, target: text, headers: mapOf(text), body: orNull(text) }),
      answer: schemaRef<Static<(typeof errorSchemas)['Error']>>('Error'),
    }),
  }),
} satisfies Record<Exclude<PageName, 'docs' | 'explore'>, Schema>

/** JSON of a page of the server, by the name of the page. */
export type PageJson = { readonly [Name in keyof typeof pageSchemas]: Static<(typeof pageSchemas)[Name]> }

// Operations of the API: method, path, texts, and the errors that each may answer. http/endpoints.ts routes them.
import type { ErrorCode } from '../errors.ts'
import type { Access } from '../model/access.ts'
import type { Property } from '../model/entity.ts'
import { isNamedView } from '../model/namedView.ts'
import { snakeCase, withArticle } from '../model/names.ts'
import type { View } from '../model/view.ts'
import { collectionOf, hasEvents, shownView } from './accesses.ts'
import { bodiesOf } from './rows.ts'

/** A method at a path. HEAD and OPTIONS are left out: each path answers OPTIONS, and each path with GET answers HEAD. */
export interface Operation {
  readonly operationId: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Parameters in braces: `/Companies/{id}`. */
  readonly path: string
  readonly summary: string
  readonly description: string
  /** Codes of all errors that the operation may answer. */
  readonly codes: readonly ErrorCode[]
  /** Name of the response on success, by which `successesOf` finds its description. */
  readonly success: Success
  /** The entity as the key reads it; null for the change feed, the rights of a key, and the server's own pages. */
  readonly entity: View | null
  /** Name of the schema of the request body; null: the operation has no body. */
  readonly body: string | null
  /** True if no key is needed. */
  readonly isOpen: boolean
  /** True if its requests count against no rate limit. */
  readonly isUnlimited: boolean
}

type Success =
  | 'list'
  | 'summary'
  | 'row'
  | 'created'
  | 'updated'
  | 'deleted'
  | 'updatedRows'
  | 'deletedRows'
  | 'changes'
  | 'history'
  | 'rights'
  | PageName
/** Pages of the server that the document describes. */
export type PageName = 'root' | 'live' | 'ready' | 'document' | 'errors' | 'error' | 'docs' | 'explore'

const EVERYWHERE = ['InvalidHost', 'UriTooLong'] as const
const BEHIND_KEYS = ['Unauthorized', 'Forbidden', 'RateLimitExceeded'] as const
const FROM_DATABASE = ['InternalError', 'ServiceUnavailable'] as const
/** Errors of every write. */
const WRITES = ['OutcomeUnknown', 'ReadOnly'] as const
/** Errors of writes with an `Idempotency-Key`. D43, D44 */
const REPEATABLE = ['InProgress', 'IdempotencyMismatch'] as const
const WITHOUT_PARAMETERS = ['InvalidQueryString', 'UnknownParameter'] as const
/** Errors of `If-Match` and `If-None-Match`. */
const CONDITIONAL = ['InvalidHeader', 'PreconditionFailed'] as const
/** Errors of lists and of summaries. */
const PAGED = [
  ...WITHOUT_PARAMETERS,
  'InvalidFilter',
  'TooManyFilters',
  'InvalidSort',
  'InvalidPageSize',
  'InvalidPage',
  'InvalidForm',
  'InvalidMay',
  'TooCostly',
  ...CONDITIONAL,
] as const
/** Errors of summaries. D76 */
const SUMMARIZED = [...PAGED, 'InvalidGroupBy', 'InvalidZone', 'InvalidAggregate', 'TooManyGroups'] as const
/** Errors of reading one row. */
const READ = [...WITHOUT_PARAMETERS, ...CONDITIONAL, 'InvalidFields', 'NotFound'] as const
const WITH_BODY = [
  'InvalidJson',
  'UnknownProperty',
  'DuplicateProperty',
  'InvalidValue',
  'ValidationFailed',
  'RequestTimeout',
  'PayloadTooLarge',
  'UnsupportedMediaType',
  'Conflict',
] as const

/** Errors of creating several rows in one request. D59 */
const OF_ROWS = ['InvalidRows', 'InvalidDryRun'] as const
/** Errors of writes whose rows are found by a property. D115 */
const OF_MATCH = ['InvalidMatch', 'AlreadyExists', 'ReferenceNotFound'] as const

/** Errors of writes of all rows that match filters. D113 */
const FILTERED = [
  'FilterRequired',
  'InvalidFilter',
  'TooManyFilters',
  'InvalidMay',
  'InvalidDryRun',
  'TooManyRows',
  'TooCostly',
] as const

/** Returns the operations on an entity to which the key has a right. Spec 4.1 */
function operationsOn(access: Access): Operation[] {
  const { read, create, update } = access
  const collection = collectionOf(access)
  const { name, plural } = collection
  const one = isNamedView(collection) ? `a row of the ${wordsOf(name)}` : withArticle(wordsOf(name))
  const many = isNamedView(collection) ? `the ${wordsOf(name)}` : wordsOf(plural)
  const { names: bodies } = bodiesOf(access)
  const list = `/${plural}`
  const row = `${list}/{id}`
  const on = (
    method: Operation['method'],
    path: string,
    success: Success,
    [operationId, summary, description]: readonly [string, string, string],
    codes: readonly ErrorCode[],
  ): Operation => ({
    operationId,
    method,
    path,
    summary,
    description,
    success,
    entity: shownView(access),
    body: bodies[method] ?? null,
    isOpen: false,
    isUnlimited: false,
    codes: [...new Set([...codes, ...EVERYWHERE, ...BEHIND_KEYS, ...FROM_DATABASE, ...(method === 'GET' ? [] : WRITES)])],
  })
  const preset = (create?.rights ?? []).flatMap(({ presets }) => [...presets.keys()])
  const created = writtenCodes([...(create?.settable ?? []), ...preset])
  const changed = writtenCodes([...(update?.settable ?? [])])
  const updated = [...changed, 'NotFound'] as const
  // Only a key that may read rows can find them, by filters or by a property.
  const canFilter = read !== null
  const createText = CREATE + (canFilter ? MATCH : '')
  const createdCodes = [...created, ...OF_ROWS, ...(canFilter ? OF_MATCH : [])]
  const updateRowsTexts = [`updateMany${plural}`, `Update ${many} by filters`, UPDATE_ROWS] as const
  const deleteRowsTexts = [`deleteMany${plural}`, `Delete ${many} by filters`, DELETE_ROWS] as const
  const operations: readonly (readonly [isAllowed: boolean, operation: Operation])[] = [
    [
      read !== null,
      on('GET', list, 'list', [`list${plural}`, `List ${many}`, LIST], [...PAGED, 'InvalidCursor', 'InvalidFields']),
    ],
    [create !== null, on('POST', list, 'created', [`create${name}`, `Create ${one}`, createText], createdCodes)],
    [canFilter && update !== null, on('PATCH', list, 'updatedRows', updateRowsTexts, [...changed, ...FILTERED])],
    [canFilter && access.delete !== null, on('DELETE', list, 'deletedRows', deleteRowsTexts, REMOVED_ROWS)],
    [read !== null, on('GET', `${list}/Summary`, 'summary', [`summarize${plural}`, `Summarize ${many}`, SUMMARY], SUMMARIZED)],
    [read !== null, on('GET', row, 'row', [`get${name}`, `Get ${one}`, GET], READ)],
    [update?.isComplete === true, on('PUT', row, 'updated', [`replace${name}`, `Replace ${one}`, REPLACE], updated)],
    [update !== null, on('PATCH', row, 'updated', [`update${name}`, `Update ${one}`, UPDATE], updated)],
    [access.delete !== null, on('DELETE', row, 'deleted', [`delete${name}`, `Delete ${one}`, DELETE], REMOVED)],
    [
      hasEvents(access),
      on('GET', `${row}/Changes`, 'history', [`list${name}Changes`, `List the changes of ${one}`, HISTORY], CHANGED),
    ],
  ]
  return operations.flatMap(([isAllowed, operation]) => (isAllowed ? operation : []))
}

/** Errors of a write that sets some of these properties. */
function writtenCodes(properties: readonly Property[]): ErrorCode[] {
  return [
    ...WITHOUT_PARAMETERS,
    ...CONDITIONAL,
    ...WITH_BODY,
    ...REPEATABLE,
    ...(properties.some(({ unique }) => unique !== null) ? (['AlreadyExists'] as const) : []),
    ...(properties.some(({ reference }) => reference !== null) ? (['ReferenceNotFound'] as const) : []),
  ]
}

/** Errors of deletions. Any deletion can be refused by a trigger, or by a foreign key of a table without an entity. */
const REMOVED = [...WITHOUT_PARAMETERS, ...CONDITIONAL, ...REPEATABLE, 'NotFound', 'Conflict', 'StillReferenced'] as const

const REMOVED_ROWS = [...WITHOUT_PARAMETERS, ...CONDITIONAL, ...REPEATABLE, ...FILTERED, 'Conflict', 'StillReferenced'] as const

/** Errors of pages of changes. */
const CHANGED = [...WITHOUT_PARAMETERS, 'InvalidPageSize', 'InvalidToken', 'TokenExpired', 'NotFound'] as const
/** Operation of the change feed of all entities. D57 */
const changesOperation: Operation = {
  operationId: 'listChanges',
  method: 'GET',
  path: '/Changes',
  success: 'changes',
  summary: 'List what has changed',
  entity: null,
  body: null,
  isOpen: false,
  isUnlimited: false,
  description:
    'Returns a page of changes: rows that were created, updated or deleted, in their order. Send `next` as `after` to get the following page. As NDJSON (`Accept: application/x-ndjson`) the response is a stream of all changes, one per line, which stays open for later ones. A line with only `next` has a token after all changes so far. If the server ends the stream, a last line with `Error` says why.',
  codes: [...CHANGED, 'InvalidFilter', 'InvalidWait', 'InvalidForm', ...EVERYWHERE, ...BEHIND_KEYS, ...FROM_DATABASE],
}

/** Operation that returns the rights of the key itself. D88 */
const rightsOperation: Operation = {
  operationId: 'listRights',
  method: 'GET',
  path: '/Rights',
  success: 'rights',
  summary: 'List your rights',
  entity: null,
  body: null,
  isOpen: false,
  isUnlimited: false,
  description:
    'Returns what you may do with the key or token of the request, right by right, as text and as data: which rows, by filters; which properties you see or set; and which values a changed row may have.',
  codes: [...WITHOUT_PARAMETERS, ...EVERYWHERE, ...BEHIND_KEYS, 'ServiceUnavailable'],
}

const LIST =
  'Returns a page of the rows that match every filter, in the order of `sort`, with the exact total and links to other pages. As CSV (`Accept: text/csv`) or NDJSON (`Accept: application/x-ndjson`, one JSON object per line) the response has all rows. If an NDJSON stream ends early, its last line is an error.'
const SUMMARY =
  'Groups the rows that match every filter by up to 3 properties or periods of dates. Each group has its count, and sums, averages, least and greatest values. Sums are exact; averages are rounded half away from zero to 8 places. As CSV (`Accept: text/csv`) or NDJSON (`Accept: application/x-ndjson`) the response has all groups. `X-Total-Count` is the number of groups, up to 250,000.'
const CREATE =
  'Creates a row with the properties of the body; omitted ones become null, or false if they are booleans. An array of objects, or one object per line (`Content-Type: application/x-ndjson`), creates up to 1,000 rows, all or none. The response is then an array, or lines with `Accept: application/x-ndjson`. With `?dryRun=1` everything is checked, references too, and nothing is written: the response is 200 with the number of rows that would be created, `{"rows": 1}`. Every 100 rows or 200 KiB count as one request, rounded up. Errors name their row by its index, from 0: `[3].Name`.'
const MATCH =
  ' With `?match=` and the name of a property, a row of the body updates the stored row that has its value of this property: omitted properties stay as they are, and a stored row with equal values is not written. The other rows are created. All rows are written, or none. The response is 200, with the result for each row in the order of the body: `[{"result": "created", "row": {...}}]`, or `updated` or `unchanged`.'
const GET = 'Returns the row with every property; a property without a value is null.'
const REPLACE = 'Sets every property; omitted ones become null, or false if they are booleans.'
const UPDATE = 'Sets the properties that the body names, and no other; an object is merged part by part.'
const OF_FILTERS =
  'At least one filter is required, and up to 1,000 rows may match. With `?dryRun=1` everything is checked and nothing is written: the response is 200 with the number of rows, `{"rows": 3}`. Every 100 rows count as one request, rounded up. If one row cannot be written, none is, and the error names that row.'
const UPDATE_ROWS = `Sets the properties that the body names in all rows that match every filter, or in none. The response has the rows, ordered by id; as lines with \`Accept: application/x-ndjson\`. ${OF_FILTERS}`
const DELETE_ROWS = `Permanently deletes all rows that match every filter, or none, for example if a row that is not deleted refers to one of them. The response has their ids. ${OF_FILTERS}`
const HISTORY = 'Returns who has changed the row, by key or person, when, and which properties; also for a deleted row.'
const ERROR = 'Its meaning, cause and remedy, with an example.'
const DOCUMENT =
  'With a key or token, the document has what you may do with that and nothing else; a key or token that is sent must be valid. Send its ETag as `If-None-Match` to learn whether it has changed.'
const DELETE = 'Permanently deletes the row, unless other rows refer to it.'

/** Operations of the server's own pages, which need no key. */
const pageOperations: readonly Operation[] = [
  page('/', 'root', ['describeServer', 'What the server is', 'Its name, its version, and the addresses of its resources.']),
  page('/openapi.json', 'document', ['describeApi', 'This document', DOCUMENT], ['Unauthorized', 'ServiceUnavailable']),
  page('/explore', 'explore', ['getExplorer', 'A page to look at the data', 'Tables and summaries in a browser, with a key.']),
  page('/docs', 'docs', ['getDocs', 'This document for people', 'A page in which every operation can be tried.']),
  page('/errors', 'errors', ['listErrors', 'All error codes', 'The meaning, cause and remedy of each.']),
  page('/errors/{code}', 'error', ['getError', 'An error code', ERROR], ['NotFound']),
  page('/livez', 'live', ['getLiveness', 'Whether the server runs', 'It counts against no limit.']),
  page('/readyz', 'ready', ['getReadiness', 'Whether the server can serve', 'It counts against no limit.'], FROM_DATABASE),
]

function page(
  path: string,
  success: PageName,
  [operationId, summary, description]: readonly [string, string, string],
  codes: readonly ErrorCode[] = [],
): Operation {
  const isUnlimited = success === 'live' || success === 'ready'
  return {
    operationId,
    method: 'GET',
    path,
    summary,
    description,
    success,
    entity: null,
    body: null,
    isOpen: true,
    isUnlimited,
    codes: [...codes, ...EVERYWHERE, ...(isUnlimited ? [] : ['RateLimitExceeded' as const])],
  }
}

/** Returns the operations of a key with these accesses. `documentNeedsKey`: true if the document itself needs a key. */
export function operationsOf(accesses: readonly Access[], documentNeedsKey: boolean): Operation[] {
  const changes = accesses.some(hasEvents) ? [changesOperation] : []
  const pages = pageOperations.map((page) => (page.success === 'document' ? { ...page, isOpen: !documentNeedsKey } : page))
  return [...accesses.flatMap(operationsOn), ...changes, rightsOperation, ...pages]
}

/** Returns a name as words: `AbsenceType` becomes `absence type`. */
const wordsOf = (name: string) => snakeCase(name).replaceAll('_', ' ')

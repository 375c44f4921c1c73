import { formatRules, longestOf, policyText, type Rule } from '../model/limits.ts'

/** Headers of answers. `limits`: those that hold for a key without its own. */
export function headerSchemas(limits: readonly Rule[], baseUrl: string): Record<string, Schema> {
  const longest = limits[longestOf(limits)]?.period ?? '12h'
  return {
    'X-Request-Id': {
      required: true,
      description: 'The id of the request: its own, or a new one. The log has it too.',
      schema: { type: 'string', pattern: '^[0-9A-Za-z_.:/+=~-]{1,128}$' },
      example: '4bf92f35-77b3',
    },
    'X-Content-Type-Options': {
      required: true,
      description: 'The type is the one declared.',
      schema: { const: 'nosniff' },
    },
    'X-RateLimit-Limit': {
      required: true,
      description: `The longest period of the key’s limits (${formatRules(limits)} unless it has its own), or the one that was hit.`,
      schema: { type: 'string', pattern: '^[1-9][0-9]*[smhd]$' },
      example: longest,
    },
    'X-RateLimit-Remaining': {
      required: true,
      description: 'Requests left in that period, after this one.',
      schema: { type: 'integer', minimum: 0 },
      example: 24_999,
    },
    'X-RateLimit-Reset': {
      required: true,
      description: 'When the oldest request leaves that period; on a 429, when a retry is admitted.',
      schema: {
        type: 'string',
        format: 'date-time',
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$',
      },
      example: '2026-11-22T18:00:30Z',
    },
    RateLimit: {
      required: true,
      description: 'The same for programs: the period, the requests left in it, and the seconds until `X-RateLimit-Reset`.',
      schema: { type: 'string', pattern: '^"[1-9][0-9]*[smhd]";r=[0-9]+;t=[0-9]+$' },
      example: `"${longest}";r=24999;t=43200`,
    },
    'RateLimit-Policy': {
      required: true,
      description: 'All limits: each by its period, the requests that it admits, and its seconds.',
      schema: {
        type: 'string',
        pattern: '^"[1-9][0-9]*[smhd]";q=[0-9]+;w=[0-9]+(?:, "[1-9][0-9]*[smhd]";q=[0-9]+;w=[0-9]+)*$',
      },
      example: policyText(limits),
    },
    'Cache-Control': {
      description: 'Data is not to be kept; a page may be kept, or asked for again by its ETag.',
      schema: { type: 'string' },
      example: 'no-store',
    },
    Vary: { description: 'The headers of a request by which answers differ.', schema: { type: 'string' } },
    ETag: {
      required: true,
      description: 'For `If-None-Match`.',
      schema: { type: 'string', pattern: '^(?:W/)?"[^"]+"$' },
    },
    RowVersion: {
      required: true,
      description: 'The version of the row, for `If-Match` and `If-None-Match`. Every write of the row makes another one.',
      schema: { type: 'string', pattern: '^"[^"]+"$' },
      example: '"1kzp-4711"',
    },
    VersionNow: {
      description: 'The version that the row has now.',
      schema: { type: 'string', pattern: '^"[^"]+"$' },
      example: '"1kzp-4711"',
    },
    ListVersion: {
      required: true,
      description: 'For `If-None-Match`: the same while the rows of the page, the total and the links are.',
      schema: { type: 'string', pattern: '^W/"[^"]+"$' },
      example: 'W/"2x8ho4dv6x1kz"',
    },
    PageTotal: {
      description: 'Rows that match the filters, on all pages; of a page.',
      schema: { type: 'integer', minimum: 0 },
      example: 6,
    },
    PageVersion: {
      description: 'For `If-None-Match`: the same while the rows of the page, the total and the links are; of a page.',
      schema: { type: 'string', pattern: '^W/"[^"]+"$' },
      example: 'W/"2x8ho4dv6x1kz"',
    },
    'Content-Disposition': {
      description: 'The name of the file that a CSV is.',
      schema: { type: 'string', pattern: '^attachment; filename="[A-Za-z0-9]+[.]csv"$' },
      example: 'attachment; filename="Employees.csv"',
    },
    'Content-Security-Policy': {
      description: 'What a page may load: nothing of other hosts.',
      schema: { type: 'string' },
    },
    'Content-Encoding': { description: 'Where the client accepts it.', schema: { const: 'gzip' } },
    'X-Total-Count': {
      required: true,
      description: 'Rows that match the filters, on all pages.',
      schema: { type: 'integer', minimum: 0 },
      example: 6,
    },
    'X-Changes-After': {
      description: 'For `after` of `GET /Changes`: what has changed since before the first row was read; of NDJSON.',
      schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
      example: 'YmU4MWI3NjZkZTE5LjgxMS4w',
    },
    PageLinks: {
      description:
        'Links to the `first`, `previous`, `next` and `last` page, each only where it applies; none: no header. `Link` has the same with `prev`, and is left out of long heads.',
      schema: { type: 'string', pattern: '^<[^>]+>; rel="[a-z]+"(?:, <[^>]+>; rel="[a-z]+")*$' },
      example: `<${baseUrl}/Companies?PageSize=5&page=2>; rel="next", <${baseUrl}/Companies?PageSize=5&page=2>; rel="last"`,
    },
    CreatedLocation: {
      description: 'The address of the new row; where several were created, there is none.',
      schema: { type: 'string', format: 'uri' },
      example: `${baseUrl}/Companies/7`,
    },
    CreatedVersion: {
      description: 'The version of the new row, for `If-Match` and `If-None-Match`; where several were created, there is none.',
      schema: { type: 'string', pattern: '^"[^"]+"$' },
      example: '"1kzp-4711"',
    },
    Allow: {
      required: true,
      description: 'The methods that are answered here.',
      schema: { type: 'string', pattern: '^[A-Z]+(?:, [A-Z]+)*$' },
      example: 'GET, HEAD, OPTIONS',
    },
    'WWW-Authenticate': { required: true, description: 'The scheme of keys.', schema: { const: 'ApiKey' } },
    RetryAfter: {
      required: true,
      description: 'Seconds to wait before a retry.',
      schema: { type: 'integer', minimum: 1 },
      example: 60,
    },
    'Idempotency-Replayed': {
      description: 'The answer is that of an earlier request with the same `Idempotency-Key`.',
      schema: { const: 'true' },
    },
    RetryAfterIfAny: {
      description: 'Seconds to wait before a retry; not there where a retry would fare no better, or may do harm.',
      schema: { type: 'integer', minimum: 1 },
      example: 1,
    },
  }
}

/** The headers of an answer by the schemas' names, beside those that every answer has. */
export function headersOf(
  own: Readonly<Record<string, string>>,
  { isUnlimited }: { isUnlimited: boolean },
): Record<string, Schema> {
  const names = ['X-Request-Id', 'X-Content-Type-Options', ...(isUnlimited ? [] : LIMITS), 'Cache-Control']
  const all = { ...Object.fromEntries(names.map((name) => [name, name])), ...own }
  return Object.fromEntries(Object.entries(all).map(([header, schema]) => [header, refTo('headers', schema)]))
}

const LIMITS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit', 'RateLimit-Policy']

/** A JSON Schema, as OpenAPI 3.1 has it: draft 2020-12. */
export type Schema = Readonly<Record<string, unknown>>

/** Reference to a part of `components`: `refTo('schemas', 'Error')`. */
export function refTo(section: 'schemas' | 'parameters' | 'headers' | 'responses' | 'examples', name: string): Schema {
  return { $ref: `#/components/${section}/${name}` }
}

// Response headers in the OpenAPI document.
import { Type } from '@sinclair/typebox'
import { formatRules, longestOf, policyText, type Rule } from '../model/limits.ts'
import { oneOf, type Part, refTo } from './schema.ts'

/** Returns a header that a response may lack. */
const sometimes = (description: string, value: Part): Part => ({ description, ...value })
/** Returns a header that a response always has. */
const always = (description: string, value: Part): Part => ({ required: true, description, ...value })
const text = (pattern: string, example?: string) => ({ schema: Type.String({ pattern }), example })
const from = (minimum: number, example: number) => ({ schema: Type.Integer({ minimum }), example })
const onlyOne = (value: string) => ({ schema: oneOf([value]) })
const VERSION = text('^"[^"]+"$', '"1kzp-4711"')
const LIST_VERSION = text('^W/"[^"]+"$', 'W/"2x8ho4dv6x1kz"')
const LIST_VERSION_MEANING = 'For `If-None-Match`: the same while the rows of the page, the total and the links are'
const PERIOD = '"[1-9][0-9]*[smhd]"'
const WAIT = 'Seconds to wait before a retry'
const OF_ONE = 'where several were created, there is none'

/**
 * Returns the schemas of response headers. `limits`: limits of a key that has no limits of its own. `takesTokens`: true if
 * persons can send tokens.
 */
export function headerSchemas(limits: readonly Rule[], baseUrl: string, takesTokens: boolean): Record<string, Part> {
  const links = text(
    '^<[^>]+>; rel="[a-z]+"(?:, <[^>]+>; rel="[a-z]+")*$',
    `<${baseUrl}/Companies?PageSize=5&page=2>; rel="next", <${baseUrl}/Companies?PageSize=5&page=2>; rel="last"`,
  )
  return {
    'X-Request-Id': always(
      'The id of the request: its own, or a new one. The log has it too.',
      text('^[0-9A-Za-z_.:/+=~-]{1,128}$', '4bf92f35-77b3'),
    ),
    'X-Content-Type-Options': always('The type is the one declared.', onlyOne('nosniff')),
    ...limitHeaders(limits),
    'Cache-Control': sometimes('Data must not be cached; pages may be cached, or revalidated by their ETag.', {
      schema: Type.String(),
      example: 'no-store',
    }),
    Vary: sometimes('The request headers by which responses differ.', { schema: Type.String() }),
    ETag: always('For `If-None-Match`.', text('^(?:W/)?"[^"]+"$')),
    RowVersion: always('The version of the row, for `If-Match` and `If-None-Match`. Every write of the row changes it.', VERSION),
    ReadVersion: always(
      'The version of the row, for `If-Match` and `If-None-Match`. With properties of other rows it is weak, and only for `If-None-Match`.',
      text('^(?:W/)?"[^"]+"$', '"1kzp-4711"'),
    ),
    VersionNow: sometimes('The version that the row has now.', VERSION),
    ListVersion: always(`${LIST_VERSION_MEANING}.`, LIST_VERSION),
    PageTotal: sometimes('Number of rows that match the filters, on all pages; only with a page.', from(0, 6)),
    PageVersion: sometimes(`${LIST_VERSION_MEANING}; of a page.`, LIST_VERSION),
    'Content-Disposition': sometimes(
      'The name of the file that a CSV is.',
      text('^attachment; filename="[A-Za-z0-9]+[.]csv"$', 'attachment; filename="Employees.csv"'),
    ),
    'Content-Security-Policy': sometimes('What a page may load: nothing of other hosts.', { schema: Type.String() }),
    'Content-Encoding': sometimes('Where the client accepts it.', onlyOne('gzip')),
    'X-Total-Count': always('Number of rows that match the filters, on all pages.', from(0, 6)),
    'X-Changes-After': sometimes(
      'Token for `after` of `GET /Changes`, from before the first row was read; only with NDJSON.',
      text('^[A-Za-z0-9_-]+$', 'YmU4MWI3NjZkZTE5LjgxMS4w'),
    ),
    PageLinks: sometimes(
      'Links to the `first`, `previous`, `next` and `last` page, each only if it applies; no header without links.',
      links,
    ),
    Link: sometimes('The links of `Location`, with `prev` for `previous`; omitted if the headers are long.', links),
    CreatedLocation: sometimes(`The address of the new row; ${OF_ONE}.`, {
      schema: Type.String({ format: 'uri' }),
      example: `${baseUrl}/Companies/7`,
    }),
    CreatedVersion: sometimes(`The version of the new row, for \`If-Match\` and \`If-None-Match\`; ${OF_ONE}.`, VERSION),
    Allow: always('The methods that are answered here.', text('^[A-Z]+(?:, [A-Z]+)*$', 'GET, HEAD, OPTIONS')),
    'WWW-Authenticate': takesTokens
      ? always('The schemes of keys and of tokens.', text('^ApiKey, Bearer( error="invalid_token")?$', 'ApiKey, Bearer'))
      : always('The scheme of keys.', onlyOne('ApiKey')),
    RetryAfter: always(`${WAIT}. The header \`RetryAfter\` has the same.`, from(1, 60)),
    'Idempotency-Replayed': sometimes(
      'The response is that of an earlier request with the same `Idempotency-Key`.',
      onlyOne('true'),
    ),
    RetryAfterIfAny: sometimes(`${WAIT}; missing if a retry would not help, or could do harm.`, from(1, 1)),
  }
}

function limitHeaders(limits: readonly Rule[]): Record<string, Part> {
  const longest = limits[longestOf(limits)]?.period ?? '12h'
  return {
    'X-RateLimit-Limit': always(
      `The longest period of the key’s limits (${formatRules(limits)} unless it has its own), or the one that was hit.`,
      text('^[1-9][0-9]*[smhd]$', longest),
    ),
    'X-RateLimit-Remaining': always('Requests left in that period, after this one.', from(0, 24_999)),
    'X-RateLimit-Reset': always('When the oldest request leaves that period; on a 429, when a retry is admitted.', {
      schema: Type.String({ format: 'date-time', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$' }),
      example: '2026-11-22T18:00:30Z',
    }),
    RateLimit: always(
      'The same for programs: the period, the requests left in it, and the seconds until `X-RateLimit-Reset`.',
      text(`^${PERIOD};r=[0-9]+;t=[0-9]+$`, `"${longest}";r=24999;t=43201`),
    ),
    'RateLimit-Policy': always(
      'All limits: each by its period, the requests that it admits, and its seconds.',
      text(`^${PERIOD};q=[0-9]+;w=[0-9]+(?:, ${PERIOD};q=[0-9]+;w=[0-9]+)*$`, policyText(limits)),
    ),
  }
}

/** Returns the headers of a response. `own`: headers that not every response has, with the names of their schemas. */
export function headersOf(own: Readonly<Record<string, string>>, isUnlimited: boolean): Record<string, Part> {
  const names = ['X-Request-Id', 'X-Content-Type-Options', ...(isUnlimited ? [] : LIMITS), 'Cache-Control']
  const all = [...names.map((name) => [name, name] as const), ...Object.entries(own)]
  return Object.fromEntries(all.map(([header, schema]) => [header, refTo('headers', schema)]))
}

const LIMITS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit', 'RateLimit-Policy']

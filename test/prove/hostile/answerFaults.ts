import { type ErrorCode, errorTable } from '../../../src/errors.ts'
import type { Conformance } from '../../support/conformance.ts'
import type { RawResponse } from '../../support/connection.ts'
import { LEAK } from '../../support/hostile.ts'
import type { RandomRequest } from '../../support/randomRequests.ts'
import { uriLength } from '../../support/uri.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const SANE_ID = /^[\w.:/+=~-]{1,128}$/
const ERROR_KEYS = 'Code,Reference,Target,Message,Details'
const FAULT_KEYS = 'Code,Target,Message'

/** Returns faults of a response to a valid HTTP request: of its shape, and by the OpenAPI document. Spec 7, D31, D40 */
export function faultsOfAnswer(
  { method, target, headers: sent }: RandomRequest,
  response: RawResponse,
  url: string,
  described: Conformance,
): string[] {
  const { status, headers, body, headBytes } = response
  // Bun itself refuses a head of over 16 KiB, and bytes that are not HTTP. Its response has no body, and no headers of Roster.
  if (isBareRefusal(response)) return hasOddBytes({ target, headers: sent }) ? [] : [`${status} is no answer of ours`]
  const faults = described.faultsOf({ method, target }, { status, headers, text: body })
  if (headBytes > (uriLength(target) <= 700 ? 4_096 : 16_384)) faults.push(`the head has ${headBytes} bytes`)
  const own = sent.findLast(([name]) => name === 'X-Request-Id')?.[1] ?? ''
  const id = headers.get('x-request-id') ?? ''
  const isGiven = sent.filter(([name]) => name === 'X-Request-Id').length === 1 && SANE_ID.test(own)
  if (isGiven ? id !== own : !UUID.test(id) && !SANE_ID.test(id)) faults.push(`the request id is ${id}`)
  if ((status === 204 || status === 304 || method === 'HEAD') && body !== '') faults.push('there is a body')
  if (status === 405 && !headers.get('allow')) faults.push('405 without Allow')
  if (status === 401 && headers.get('www-authenticate') !== 'ApiKey') faults.push('401 without WWW-Authenticate')
  faults.push(...(method === 'HEAD' ? [] : faultsOfShape(response, url)))
  if (status === 200 && method !== 'HEAD' && headers.has('x-total-count')) faults.push(...faultsOfList(response))
  return faults
}

/** Returns faults that no response may have, whatever the request was. `url`: address of the server. */
export function faultsOfShape({ status, headers, body }: RawResponse, url: string): string[] {
  const faults: string[] = []
  if (!(status >= 200 && status < 500)) faults.push(`the status is ${status}: ${body.slice(0, 200)}`)
  if (!headers.has('x-request-id')) faults.push('there is no X-Request-Id')
  if (headers.get('x-content-type-options') !== 'nosniff') faults.push('there is no X-Content-Type-Options')
  if (status >= 400 && body !== '') faults.push(...faultsOfError(status, headers, body, url))
  const leak = status >= 400 ? LEAK.exec(body) : null
  if (leak) faults.push(`internal text: ${leak[0]}`)
  return faults
}

/** True if the response is from Bun itself: it has neither Roster's headers nor a body. */
export function isBareRefusal({ status, headers, body }: RawResponse): boolean {
  return BARE.includes(status) && body === '' && !headers.has('x-request-id')
}

const BARE = [400, 413, 414, 417, 431, 505]

/** True if the request has bytes that no HTTP client sends, so that Bun may refuse it. */
export function hasOddBytes({ target, headers }: Pick<RandomRequest, 'target' | 'headers'>): boolean {
  const bytes = target.length + headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0)
  const isOdd = ([, value]: [string, string]) => /[^\x20-\x7e\t\x80-\xff]/.test(value)
  return bytes > 15_000 || /[^\x21-\x7e]/.test(target) || headers.some(isOdd)
}

/** Returns faults of an error page for browsers. The page must have the status, the code and a policy, and no scripts. */
function faultsOfPage(status: number, headers: RawResponse['headers'], body: string): string[] {
  const code = /href="[./]*errors\/(\w+)">\1</.exec(body)?.[1] as ErrorCode
  const isOwn = errorTable[code]?.status === status && /default-src 'none'/.test(headers.get('content-security-policy') ?? '')
  return isOwn && !/<(script|iframe|img|object)/i.test(body) ? [] : [`a page of ${status} that is not ours: ${body}`]
}

function faultsOfError(status: number, headers: RawResponse['headers'], body: string, url: string): string[] {
  if (headers.get('content-type') === 'text/html; charset=utf-8') return faultsOfPage(status, headers, body)
  if (headers.get('content-type') !== 'application/json; charset=utf-8') return [`an error as ${headers.get('content-type')}`]
  const { Error: error, ...rest } = JSON.parse(body)
  const faults: string[] = []
  if (Object.keys(rest).length > 0 || String(Object.keys(error ?? {})) !== ERROR_KEYS)
    return [`an error of another shape: ${body}`]
  const code = error.Code as ErrorCode
  if (errorTable[code]?.status !== status) faults.push(`${error.Code} with ${status}`)
  if (error.Reference !== `${url}/errors/${code}`) faults.push(`the reference is ${error.Reference}`)
  if (typeof error.Target !== 'string' || !/\S/.test(error.Message)) faults.push(`target or message is missing: ${body}`)
  for (const detail of error.Details ?? []) {
    const isWhole = String(Object.keys(detail)) === FAULT_KEYS && /\S/.test(detail.Message) && detail.Code in errorTable
    if (!isWhole) faults.push(`a detail of another shape: ${JSON.stringify(detail)}`)
  }
  return faults
}

function faultsOfList({ headers, body }: RawResponse): string[] {
  const total = headers.get('x-total-count') ?? ''
  const records = JSON.parse(body)
  const isList = Array.isArray(records) && /^\d+$/.test(total) && records.length <= Math.min(50, Number(total))
  return isList ? [] : [`a list of ${records.length} with a total of ${total}`]
}

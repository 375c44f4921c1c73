// Errors in the OpenAPI document: the body, examples, and the responses of operations, shared where they are equal.
import { type ErrorCode, errorTable } from '../errors.ts'
import type { ErrorEntry } from '../errorTable/entry.ts'
import { bodyOfError } from '../respond/error.ts'
import { headersOf, objectSchema, refTo, type Schema } from './headers.ts'
import type { Operation } from './operations.ts'

const entries = new Map(Object.entries(errorTable))
const entryOf = (code: ErrorCode) => entries.get(code) as ErrorEntry

/** Codes whose `Details` may have several faults of the body. */
const CODES: readonly ErrorCode[] = ['UnknownProperty', 'DuplicateProperty', 'InvalidValue', 'AlreadyExists', 'ReferenceNotFound']

/** Parts of the error body. Spec 7, D38 */
export const errorSchemas: Readonly<Record<string, Schema>> = {
  ErrorCode: { description: 'What programs read; it does not change.', type: 'string', enum: [...entries.keys()] },
  ErrorReference: { description: 'A page that explains the code.', type: 'string', format: 'uri' },
  ErrorTarget: { description: 'The property, parameter or header at fault, or `Body` or `Api`.', type: 'string' },
  ErrorMessage: { description: 'For people.', type: 'string' },
  ErrorDetails: { description: 'Every fault of a body.', type: ['array', 'null'], items: refTo('schemas', 'Fault') },
  Fault: {
    description: 'One fault of a body.',
    ...objectSchema({
      Code: { type: 'string', enum: CODES },
      Target: refTo('schemas', 'ErrorTarget'),
      Message: refTo('schemas', 'ErrorMessage'),
    }),
  },
  Error: errorBody(refTo('schemas', 'ErrorCode')),
}

/** Schema of an error with only these codes. It has no `allOf`, which tools interpret in different ways. */
function errorBody(code: Schema): Schema {
  const parts = ['Reference', 'Target', 'Message', 'Details'].map((part) => [part, refTo('schemas', `Error${part}`)])
  return objectSchema({ Error: objectSchema({ Code: code, ...Object.fromEntries(parts) }) })
}

/** Examples of the errors that an operation may answer. */
export function errorExampleValues(operations: readonly Operation[], baseUrl: string): Record<string, Schema> {
  const codes = new Set(operations.flatMap(({ codes }) => codes))
  const values = [...codes].map((code) => {
    const { title, answer } = entryOf(code)
    return [code, { summary: title, value: bodyOfError(code, answer, baseUrl) }]
  })
  return Object.fromEntries(values)
}

/** Headers of a status: those of all its responses, or of some codes. */
const ownHeaders: Readonly<Record<number, Record<string, string>>> = {
  401: { 'WWW-Authenticate': 'WWW-Authenticate' },
  405: { Allow: 'Allow' },
  409: { 'Retry-After': 'RetryAfterIfAny' },
  412: { ETag: 'VersionNow' },
  // The header `RetryAfter` has the same value, and is described in words: generated Go would have the name twice.
  429: { 'Retry-After': 'RetryAfter' },
  503: { 'Retry-After': 'RetryAfterIfAny' },
}

/** Error responses of operations. Operations with the same errors share one response in `components.responses`. */
export class ErrorAnswers {
  readonly components: Record<string, Schema> = {}

  /** Returns the `responses` of an operation, except successful ones. */
  of({ codes, isUnlimited }: Operation): Record<string, Schema> {
    const byStatus = Map.groupBy(codes, (code) => entryOf(code).status)
    return Object.fromEntries([...byStatus].map(([status, ofStatus]) => [status, this.share(status, ofStatus, isUnlimited)]))
  }

  private share(status: number, codes: readonly ErrorCode[], isUnlimited: boolean): Schema {
    const answer = answerOf(status, codes, isUnlimited)
    const wanted = `${isUnlimited ? 'Unlimited' : ''}${codes.length === 1 ? codes[0] : GROUPS[status]}`
    let name = wanted
    // `BadRequest2` if `BadRequest` is another response.
    for (let number = 2; !Bun.deepEquals((this.components[name] ??= answer), answer); number++) name = wanted + number
    return refTo('responses', name)
  }
}

/** Names of responses with several codes, by status. */
const GROUPS: Readonly<Record<number, string>> = { 400: 'BadRequest', 409: 'Refused', 503: 'NotAnswered' }

function answerOf(status: number, codes: readonly ErrorCode[], isUnlimited: boolean): Schema {
  return {
    description: codes.map((code) => `\`${code}\`: ${entryOf(code).title}.`).join(' '),
    headers: headersOf(ownHeaders[status] ?? {}, isUnlimited),
    content: {
      'application/json': {
        schema: errorBody({ type: 'string', enum: codes }),
        examples: Object.fromEntries(codes.map((code) => [code, refTo('examples', code)])),
      },
    },
  }
}

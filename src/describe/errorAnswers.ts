// Errors in the OpenAPI document: the body, examples, and the responses of operations, shared where they are equal.
import { type ErrorCode, errorTable } from '../errors.ts'
import type { ErrorEntry } from '../errorTable/entry.ts'
import { bodyOfError } from '../respond/error.ts'
import { headersOf, objectSchema, refTo, type Schema } from './headers.ts'
import type { Operation } from './operations.ts'

const entries = new Map(Object.entries(errorTable))
const entryOf = (code: ErrorCode) => entries.get(code) as ErrorEntry

/** Codes that a body may have several faults of. */
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

/** With these codes alone: no `allOf`, which tools read in different ways. */
function errorBody(code: Schema): Schema {
  const parts = ['Reference', 'Target', 'Message', 'Details'].map((part) => [part, refTo('schemas', `Error${part}`)])
  return objectSchema({ Error: objectSchema({ Code: code, ...Object.fromEntries(parts) }) })
}

/** An example of each error that an operation may answer. */
export function errorExampleValues(operations: readonly Operation[], baseUrl: string): Record<string, Schema> {
  const codes = new Set(operations.flatMap(({ codes }) => codes))
  const values = [...codes].map((code) => {
    const { title, answer } = entryOf(code)
    return [code, { summary: title, value: bodyOfError(code, answer, baseUrl) }]
  })
  return Object.fromEntries(values)
}

/** Headers that all answers of a status have, or some of its codes. */
const ownHeaders: Readonly<Record<number, Record<string, string>>> = {
  401: { 'WWW-Authenticate': 'WWW-Authenticate' },
  405: { Allow: 'Allow' },
  409: { 'Retry-After': 'RetryAfterIfAny' },
  412: { ETag: 'VersionNow' },
  // `RetryAfter`, which says the same, is described in words: in Go both are called `RetryAfter`.
  429: { 'Retry-After': 'RetryAfter' },
  503: { 'Retry-After': 'RetryAfterIfAny' },
}

/** The errors of operations by status. Operations with the same errors share an answer of `components.responses`. */
export class ErrorAnswers {
  readonly components: Record<string, Schema> = {}

  /** The `responses` of an operation, but for those of its success. */
  of({ codes, isUnlimited }: Operation): Record<string, Schema> {
    const byStatus = Map.groupBy(codes, (code) => entryOf(code).status)
    return Object.fromEntries([...byStatus].map(([status, ofStatus]) => [status, this.share(status, ofStatus, isUnlimited)]))
  }

  private share(status: number, codes: readonly ErrorCode[], isUnlimited: boolean): Schema {
    const answer = answerOf(status, codes, isUnlimited)
    const wanted = `${isUnlimited ? 'Unlimited' : ''}${codes.length === 1 ? codes[0] : GROUPS[status]}`
    let name = wanted
    // `BadRequest2` where `BadRequest` is another one.
    for (let number = 2; !Bun.deepEquals((this.components[name] ??= answer), answer); number++) name = wanted + number
    return refTo('responses', name)
  }
}

/** Names of responses of a status with several codes. */
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

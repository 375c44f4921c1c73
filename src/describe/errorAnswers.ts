// Errors in the OpenAPI document: the body, examples, and the responses of operations, shared where they are equal.
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { type ErrorCode, errorTable } from '../errors.ts'
import type { ErrorEntry } from '../errorTable/entry.ts'
import { bodyOfError } from '../respond/error.ts'
import { headersOf } from './headers.ts'
import type { Operation } from './operations.ts'
import { objectSchema, oneOf, orNull, type Part, refTo, schemaRef } from './schema.ts'

const entries = new Map(Object.entries(errorTable))
const entryOf = (code: ErrorCode) => entries.get(code) as ErrorEntry

/** Codes of errors whose `Details` can list several faults of the body. */
const CODES: readonly string[] = [
  'UnknownProperty',
  'DuplicateProperty',
  'InvalidValue',
  'AlreadyExists',
  'ReferenceNotFound',
  'Forbidden',
]

const faultSchema = objectSchema(
  {
    Code: oneOf(CODES),
    Target: schemaRef<string>('ErrorTarget'),
    Message: schemaRef<string>('ErrorMessage'),
  },
  { description: 'One fault of a body.' },
)

/** Schema of an error with only these codes. It has no `allOf`, which tools interpret in different ways. */
function errorBody<Code extends TSchema>(code: Code) {
  return objectSchema({
    Error: objectSchema({
      Code: code,
      Reference: schemaRef<string>('ErrorReference'),
      Target: schemaRef<string>('ErrorTarget'),
      Message: schemaRef<string>('ErrorMessage'),
      Details: schemaRef<readonly Static<typeof faultSchema>[] | null>('ErrorDetails'),
    }),
  })
}

/** Schemas of the error body and of its parts. Spec 7, D38 */
export const errorSchemas = {
  ErrorCode: oneOf([...entries.keys()], { description: 'What programs read; it does not change.' }),
  ErrorReference: Type.String({ description: 'A page that explains the code.', format: 'uri' }),
  ErrorTarget: Type.String({ description: 'The property, parameter or header at fault, or `Body` or `Api`.' }),
  ErrorMessage: Type.String({ description: 'For people.' }),
  ErrorDetails: orNull(Type.Array(schemaRef('Fault'), { description: 'Every fault of a body.' })),
  Fault: faultSchema,
  Error: errorBody(schemaRef<ErrorCode>('ErrorCode')),
}

/**
 * Returns examples of the errors that the operations may answer. An example has no body if its body would contain one of the
 * `hidden` names.
 */
export function errorExampleValues(
  operations: readonly Operation[],
  baseUrl: string,
  hidden: readonly string[],
): Record<string, Part> {
  const codes = new Set(operations.flatMap(({ codes }) => codes))
  const words = hidden.map((name) => new RegExp(`\\b${RegExp.escape(name)}\\b`))
  const values = [...codes].map((code) => {
    const { title, answer } = entryOf(code)
    const value = bodyOfError(code, answer, baseUrl)
    const text = JSON.stringify(value)
    return [code, words.some((word) => word.test(text)) ? { summary: title } : { summary: title, value }]
  })
  return Object.fromEntries(values)
}

/** Headers by the status of a response. Some are only in responses with certain error codes. */
const ownHeaders: Readonly<Record<number, Record<string, string>>> = {
  401: { 'WWW-Authenticate': 'WWW-Authenticate' },
  405: { Allow: 'Allow' },
  409: { 'Retry-After': 'RetryAfterIfAny' },
  412: { ETag: 'VersionNow' },
  // The response also has the header `RetryAfter` with the same value. It is only described in words, because Go code that is
  // generated from both headers would have two fields of one name.
  429: { 'Retry-After': 'RetryAfter' },
  503: { 'Retry-After': 'RetryAfterIfAny' },
}

/** Error responses of operations. Operations with the same errors share one response in `components.responses`. */
export class ErrorAnswers {
  readonly components: Record<string, Part> = {}

  /** Returns the error responses of an operation, by status. */
  of({ codes, isUnlimited }: Operation): Record<string, Part> {
    const byStatus = Map.groupBy(codes, (code) => entryOf(code).status)
    return Object.fromEntries([...byStatus].map(([status, ofStatus]) => [status, this.share(status, ofStatus, isUnlimited)]))
  }

  /** Returns a reference to the response in `components`. Adds the response first if no equal response is there. */
  private share(status: number, codes: readonly ErrorCode[], isUnlimited: boolean): Part {
    const answer = answerOf(status, codes, isUnlimited)
    const wanted = `${isUnlimited ? 'Unlimited' : ''}${codes.length === 1 ? codes[0] : GROUPS[status]}`
    for (let number = 1; ; number++) {
      // `BadRequest2` if `BadRequest` is the name of a different response.
      const name = number === 1 ? wanted : wanted + number
      this.components[name] ??= answer
      if (Bun.deepEquals(this.components[name], answer)) return refTo('responses', name)
    }
  }
}

/** Names of responses with several codes, by status. */
const GROUPS: Readonly<Record<number, string>> = { 400: 'BadRequest', 409: 'Refused', 503: 'NotAnswered' }

function answerOf(status: number, codes: readonly ErrorCode[], isUnlimited: boolean): Part {
  return {
    description: codes.map((code) => `\`${code}\`: ${entryOf(code).title}.`).join(' '),
    headers: headersOf(ownHeaders[status] ?? {}, isUnlimited),
    content: {
      'application/json': {
        schema: errorBody(oneOf(codes)),
        examples: Object.fromEntries(codes.map((code) => [code, refTo('examples', code)])),
      },
    },
  }
}

import { describe, expect, test } from 'bun:test'
import { ApiError, type ErrorCode, errorTable, faultsError } from '../../src/errors.ts'
import { respondError, respondFailure } from '../../src/respond/error.ts'

const BASE = 'https://api.example.com/hr'

test('spec 7: the error body, D38: with a reference that this server serves', () => {
  const { status, headers, body } = respondError(new ApiError('InvalidSort', 'No.', { target: 'sort' }), BASE)
  expect(status).toBe(400)
  expect(headers).toEqual({ 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' })
  expect(body).toBe(
    '{"Error":{"Code":"InvalidSort","Reference":"https://api.example.com/hr/errors/InvalidSort","Target":"sort","Message":"No.","Details":null}}',
  )
})

test('the target is Api unless the error names one', () => {
  expect(JSON.parse(respondError(new ApiError('NotFound', 'x'), BASE).body ?? '').Error.Target).toBe('Api')
})

test('headers of the error go out beside the content type', () => {
  const error = new ApiError('MethodNotAllowed', 'x', { headers: { Allow: 'GET' } })
  expect(respondError(error, BASE).headers).toMatchObject({
    'Content-Type': 'application/json; charset=utf-8',
    Allow: 'GET',
  })
})

test('D38: details in Pascal case', () => {
  const error = faultsError([
    { code: 'InvalidValue', target: 'Name', message: 'a' },
    { code: 'UnknownProperty', target: 'Nmae', message: 'b' },
  ])
  expect(JSON.parse(respondError(error, BASE).body ?? '').Error.Details).toEqual([
    { Code: 'InvalidValue', Target: 'Name', Message: 'a' },
    { Code: 'UnknownProperty', Target: 'Nmae', Message: 'b' },
  ])
})

describe('every code has the status of the table', () => {
  for (const code of Object.keys(errorTable) as ErrorCode[])
    test(code, () => expect(respondError(new ApiError(code, 'x'), BASE).status).toBe(errorTable[code].status))
})

test('D39: a failure of ours shows the request id and nothing else', () => {
  const { status, body } = respondFailure('id-1', BASE)
  expect(status).toBe(500)
  expect(JSON.parse(body ?? '')).toEqual({
    Error: {
      Code: 'InternalError',
      Reference: `${BASE}/errors/InternalError`,
      Target: 'Api',
      Message: 'The server failed. Its log has the details under request id id-1.',
      Details: null,
    },
  })
})

test('the cause of an error does not reach the client', () => {
  const error = new ApiError('ServiceUnavailable', 'x', { cause: new Error('password=hunter2') })
  expect(respondError(error, BASE).body).not.toContain('hunter2')
})

import type { ErrorCode } from '../errors.ts'
import { about, api, type ErrorExample, fault } from './errorExample.ts'
import { changeExamples, createExamples, repeatExamples, summaryExamples } from './moreErrorExamples.ts'

const FILTERS = Array.from({ length: 33 }, (_, index) => `Id=!=${index + 1}`).join('&')
const COMPANY = '{"Name": "Blue Moon", "Enabled": true}'

/** For each code a request that it answers. Tests send each of them to a real server. */
export const errorExamples: Readonly<Record<ErrorCode, ErrorExample>> = {
  InvalidHost: {
    method: 'GET',
    target: '/Companies',
    headers: { Host: 'a.example, b.example' },
    answer: api('The Host header is not valid.'),
  },
  InvalidHeader: {
    method: 'PATCH',
    target: '/Companies/1',
    headers: { 'If-Match': '4711' },
    body: COMPANY,
    answer: about(
      'If-Match',
      'If-Match is * or one or more tags as ETag has them, in double quotes and separated by commas, not 4711. Did you mean "4711"?',
    ),
  },
  InvalidQueryString: {
    method: 'GET',
    target: '/Companies?Name=100%',
    answer: api('The query string has a bad percent escape, or bytes that are not UTF-8, in "100%".'),
  },
  UnknownParameter: {
    method: 'GET',
    target: '/Absences?Statsu=Approved',
    answer: about('Statsu', 'Absences has no parameter "Statsu". Did you mean Status?'),
  },
  InvalidFilter: {
    method: 'GET',
    target: '/Companies?Enabled=%3Efalse',
    answer: about('Enabled', 'Enabled is true or false: it can be compared with =, != and [], not with >.'),
  },
  TooManyFilters: {
    method: 'GET',
    target: `/Companies?${FILTERS}`,
    answer: api('A request may have up to 32 filters.'),
  },
  InvalidSort: {
    method: 'GET',
    target: '/Companies?sort=-Nmae',
    answer: about('sort', 'Companies cannot be sorted by "Nmae". Did you mean Name?'),
  },
  InvalidPageSize: {
    method: 'GET',
    target: '/Companies?PageSize=many',
    answer: about('PageSize', 'PageSize must be an integer; 5 to 50 make a difference.'),
  },
  InvalidPage: {
    method: 'GET',
    target: '/Companies?page=0',
    answer: about('page', 'page must be an integer of 1 or more.'),
  },
  InvalidCursor: {
    method: 'GET',
    target: '/Companies?page=2&cursor=altered',
    answer: about('cursor', 'The cursor is not one of this list: it was altered, or the filters or the sort were.'),
  },
  InvalidFields: {
    method: 'GET',
    target: '/Companies?fields=Id,Nmae',
    answer: about('fields', 'Companies have no property "Nmae". Did you mean Name?'),
  },
  InvalidForm: {
    method: 'GET',
    target: '/Companies?bom=yes',
    answer: about('bom', 'bom is 1 or 0.'),
  },
  InvalidJson: {
    method: 'PUT',
    target: '/Companies/1',
    body: `[${COMPANY}]`,
    answer: about('Body', 'The body must be a JSON object.'),
  },
  UnknownProperty: {
    method: 'POST',
    target: '/Companies',
    body: '{"Nmae": "Blue Moon"}',
    answer: fault('UnknownProperty', 'Nmae', 'Company has no property "Nmae". Did you mean Name?'),
  },
  DuplicateProperty: {
    method: 'POST',
    target: '/Companies',
    body: '{"Name": "Blue Moon", "name": "Red Sun"}',
    answer: fault('DuplicateProperty', 'Name', 'Name is given twice, in names that differ by case.'),
  },
  InvalidValue: {
    method: 'PATCH',
    target: '/Companies/1',
    body: '{"Enabled": "yes"}',
    answer: fault('InvalidValue', 'Enabled', 'Enabled must be true or false.'),
  },
  ValidationFailed: {
    method: 'POST',
    target: '/Absences',
    body: '{"Start": "2026-02-30T09:00:00Z", "Reason": 5}',
    answer: {
      Target: 'Body',
      Message: 'The body has 2 faults; Details lists them.',
      Details: [
        { Code: 'InvalidValue', Target: 'Start', Message: 'Start must be a date and time that exist.' },
        {
          Code: 'InvalidValue',
          Target: 'Reason',
          Message: 'Reason must be a text of at most 100 characters, or null.',
        },
      ],
    },
  },
  Unauthorized: {
    method: 'GET',
    target: '/Companies',
    rights: null,
    answer: api('The request needs a valid key in the header Authorization: ApiKey <key>.'),
  },
  Forbidden: {
    method: 'POST',
    target: '/Companies',
    body: COMPANY,
    rights: '*:read',
    answer: api('The key does not have the right Companies:write.'),
  },
  NotFound: {
    method: 'GET',
    target: '/Companies/999',
    answer: api('There is no Company with id 999.'),
  },
  MethodNotAllowed: {
    method: 'DELETE',
    target: '/Companies',
    answer: api('DELETE is not among the methods here: GET, HEAD, POST, OPTIONS.'),
  },
  ReadOnly: {
    method: 'POST',
    target: '/Companies',
    body: COMPANY,
    when: 'the database of the server is a standby, or read-only',
    answer: api('The database of this server takes no writes; nothing was written. Send writes to the server of the primary.'),
  },
  RequestTimeout: {
    method: 'POST',
    target: '/Companies',
    body: COMPANY,
    when: 'the body has not arrived after 10 seconds',
    answer: about('Body', 'The body took longer than 10 seconds.'),
  },
  Conflict: {
    method: 'POST',
    target: '/Companies',
    body: '{"Name": "Zenith Water"}',
    when: 'the operator has made names of companies unique',
    answer: api('The write does not agree with what is stored; nothing was written.'),
  },
  AlreadyExists: {
    method: 'POST',
    target: '/Companies',
    body: '{"Name": "Zenith Water"}',
    when: 'names of companies are declared unique',
    answer: fault('AlreadyExists', 'Name', 'Name is not free: another Company has this value.'),
  },
  ReferenceNotFound: {
    method: 'POST',
    target: '/Absences',
    body: '{"EmployeeId": 999, "Status": "Requested"}',
    answer: fault('ReferenceNotFound', 'EmployeeId', 'EmployeeId names no Employee: there is none with id 999.'),
  },
  StillReferenced: {
    method: 'DELETE',
    target: '/Companies/1',
    answer: api('Company 1 was not deleted: other rows refer to it.'),
  },
  PreconditionFailed: {
    method: 'PUT',
    target: '/Companies/1',
    headers: { 'If-Match': '"1kzp-2097"' },
    body: COMPANY,
    answer: about('If-Match', 'Company 1 now has the version "1kzp-4711", which If-Match does not name; nothing was written.'),
  },
  PayloadTooLarge: {
    method: 'PUT',
    target: '/Companies/1',
    headers: { 'Content-Type': 'application/json', 'Content-Length': '1048577' },
    when: 'the body has more than 1 MiB',
    answer: about('Body', 'The body may have up to 1 MiB.'),
  },
  UriTooLong: {
    method: 'GET',
    target: '/Companies?sort=Name,Name,Name',
    when: 'it goes on like that for more than 3 KiB',
    answer: api('Path and query string together, percent-encoded, may have up to 3 KiB.'),
  },
  UnsupportedMediaType: {
    method: 'PATCH',
    target: '/Companies/1',
    headers: { 'Content-Type': 'text/plain' },
    body: COMPANY,
    answer: about('Body', 'The body must be declared as application/json, not as text/plain.'),
  },
  RateLimitExceeded: {
    method: 'GET',
    target: '/Companies',
    when: 'the key has a limit of one request a minute, which was sent just before',
    answer: api('The limit of 1 per 1m is reached; retry after 60 s.'),
  },
  InternalError: {
    method: 'POST',
    target: '/Companies',
    headers: { 'X-Request-Id': '4bf92f35-77b3' },
    body: COMPANY,
    when: 'the server has a fault of its own',
    answer: api('The server failed. Its log has the details under request id 4bf92f35-77b3.'),
  },
  ...repeatExamples,
  ...createExamples,
  ...summaryExamples,
  ...changeExamples,
  ServiceUnavailable: {
    method: 'GET',
    target: '/Companies',
    when: 'the database is away',
    answer: api('The database does not answer at the moment; retry after the seconds in Retry-After.'),
  },
  TooCostly: {
    method: 'GET',
    target: '/Absences?Reason=%21%3DHoliday&sort=-Period.Days,Reason&page=1000',
    when: 'there are very many absences',
    answer: api(
      'The list took longer than 3 seconds, or sorted too many rows, and was ended. To get it: filter with = or a range that few rows match; !=, [begins], [contains] and no filter at all read every row; sort by one property, such as Period.Days; follow the link "next" page by page instead of asking for page 1000.',
    ),
  },
}

/** The body of the answer to a code's example. `baseUrl` without a slash at the end. */
export function exampleBody(code: ErrorCode, baseUrl: string) {
  const { Target, Message, Details } = errorExamples[code].answer
  return { Error: { Code: code, Reference: `${baseUrl}/errors/${code}`, Target, Message, Details } }
}

// Server errors, status 500 and above: meaning, cause, remedy and example of each.
import { api, COMPANY, type ErrorEntry } from './entry.ts'

/** Entries by code. Spec 7. */
export const serverErrors = {
  InternalError: {
    status: 500,
    title: 'The server failed',
    explanation: 'The fault is the server’s. Its log has the details under the request id that the answer carries.',
    remedy: 'Send the request id to the operator of the server.',
    request: 'POST /Companies',
    headers: { 'X-Request-Id': '4bf92f35-77b3' },
    body: COMPANY,
    when: 'the server has a fault of its own',
    answer: api('The server failed. Its log has the details under request id 4bf92f35-77b3.'),
  },
  ServiceUnavailable: {
    status: 503,
    title: 'The database does not answer',
    explanation: 'It is away, slower than its deadline, full, or denies us its files or tables.',
    remedy: 'Retry after the seconds in the header Retry-After.',
    request: 'GET /Companies',
    when: 'the database is away',
    answer: api('The database does not answer at the moment; retry after the seconds in Retry-After.'),
  },
  OutcomeUnknown: {
    status: 503,
    title: 'The write may have been done',
    explanation:
      'The connection to the database was lost, or it did not answer in time, when the write had been sent to it: it is done, or will be, or never.',
    remedy:
      'With an Idempotency-Key, send the same request again after the seconds in the header Retry-After: it is done once. Without one, read what is stored before you send it again.',
    request: 'POST /Companies',
    body: COMPANY,
    when: 'the connection to the database is lost while it is at the write',
    answer: api(
      'The write may have been done, or not. Read what is stored before you send it again, or send an Idempotency-Key with it.',
    ),
  },
  TooCostly: {
    status: 503,
    title: 'The list would cost too much',
    explanation:
      'The database ended it after 3 seconds, or since it would have sorted more rows than fit into the room for that. The same list would end so again, so there is no Retry-After.',
    remedy:
      'Narrow it as the message says: filter by = or a range that few rows match, sort by one property, and follow the links of a page instead of asking for a late one by its number.',
    request: 'GET /Absences?Reason=%21%3DHoliday&sort=-Period.Days,Reason&page=1000',
    when: 'there are very many absences',
    answer: api(
      'The list took longer than 3 seconds, or sorted too many rows, and was ended. To get it: filter with = or a range that few rows match; !=, [begins], [contains] and no filter at all read every row; sort by one property, such as Period.Days; follow the link "next" page by page instead of asking for page 1000.',
    ),
  },
} satisfies Record<string, ErrorEntry>

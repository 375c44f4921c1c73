import type { ErrorTexts } from './texts.ts'

/** Server errors: 500 and above. Spec 7. */
export const serverErrors = {
  InternalError: {
    status: 500,
    title: 'The server failed',
    explanation: 'The fault is the server’s. Its log has the details under the request id that the answer carries.',
    remedy: 'Send the request id to the operator of the server.',
  },
  ServiceUnavailable: {
    status: 503,
    title: 'The database does not answer',
    explanation: 'It is away, slower than its deadline, full, or denies us its files or tables.',
    remedy: 'Retry after the seconds in the header Retry-After.',
  },
  OutcomeUnknown: {
    status: 503,
    title: 'The write may have been done',
    explanation:
      'The connection to the database was lost, or it did not answer in time, when the write had been sent to it: it is done, or will be, or never.',
    remedy:
      'With an Idempotency-Key, send the same request again after the seconds in the header Retry-After: it is done once. Without one, read what is stored before you send it again.',
  },
  TooCostly: {
    status: 503,
    title: 'The list would cost too much',
    explanation:
      'The database ended it after 3 seconds, or since it would have sorted more rows than fit into the room for that. The same list would end so again, so there is no Retry-After.',
    remedy:
      'Narrow it as the message says: filter by = or a range that few rows match, sort by one property, and follow the links of a page instead of asking for a late one by its number.',
  },
} as const satisfies Record<string, ErrorTexts>

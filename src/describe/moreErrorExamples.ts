import { about, api, type ErrorExample } from './errorExample.ts'

/** Examples of the errors of several rows that are created together. */
export const createExamples = {
  InvalidDryRun: {
    method: 'POST',
    target: '/Companies?dryRun=yes',
    body: '[{"Name": "Blue Moon"}, {"Name": "Red Sun"}]',
    answer: about('dryRun', 'dryRun is 1 or 0.'),
  },
  InvalidRows: {
    method: 'POST',
    target: '/Companies',
    body: '[]',
    answer: about('Body', 'The body has no rows; it may have 1 to 1,000.'),
  },
} satisfies Record<string, ErrorExample>

/** Examples of errors of the change feed. */
export const changeExamples = {
  InvalidToken: {
    method: 'GET',
    target: '/Changes?after=altered',
    answer: about('after', 'after is the token of a change, next of a page, or now; this is none, or was altered.'),
  },
  InvalidWait: {
    method: 'GET',
    target: '/Changes?wait=long',
    answer: about('wait', 'wait must be an integer; 0 to 30 make a difference.'),
  },
  TokenExpired: {
    method: 'GET',
    target: '/Changes?after=MDAwMDAwMDAwMDAwLjQ3MTEuMQ',
    answer: about(
      'after',
      'The token is of another run of the changes: the database was restored, or was served without keeping them. Ask for a new one with after=now, and then read the lists whole.',
    ),
  },
} as const satisfies Record<string, ErrorExample>

const CREATE = { method: 'POST', target: '/Companies', body: '{"Name": "Blue Moon", "Enabled": true}' }
const KEY = '"8e03978e-40d5-43dd-bc93-6894a57f9324"'

/** Examples of the errors of writes that are sent again. */
export const repeatExamples = {
  InProgress: {
    ...CREATE,
    headers: { 'Idempotency-Key': KEY },
    when: 'another request with this key is not answered yet',
    answer: about(
      'Idempotency-Key',
      'Another request with this Idempotency-Key is under way; retry after the seconds in Retry-After.',
    ),
  },
  IdempotencyMismatch: {
    ...CREATE,
    headers: { 'Idempotency-Key': KEY },
    when: 'a write with this key was done before, whose method, path or body was another one',
    answer: about(
      'Idempotency-Key',
      'Idempotency-Key was used for another request: its method, its path or its body was another one.',
    ),
  },
  OutcomeUnknown: {
    ...CREATE,
    when: 'the connection to the database is lost while it is at the write',
    answer: api(
      'The write may have been done, or not. Read what is stored before you send it again, or send an Idempotency-Key with it.',
    ),
  },
} satisfies Record<string, ErrorExample>

/** Examples of the errors of summaries. */
export const summaryExamples = {
  InvalidGroupBy: {
    method: 'GET',
    target: '/Absences/Summary?groupBy=Type,moth(Start)',
    answer: about('groupBy', 'There is no "moth" of a date: year, quarter, month, week or day. Did you mean month?'),
  },
  InvalidAggregate: {
    method: 'GET',
    target: '/Absences/Summary?groupBy=Type&sum=Start',
    answer: about('sum', 'Start is a date-time like 2024-01-31T09:00:00Z: sum takes numbers.'),
  },
  TooManyGroups: {
    method: 'GET',
    target: '/Absences/Summary?groupBy=Id',
    when: 'there are more than 250,000 absences',
    answer: about(
      'groupBy',
      'A summary has up to 250,000 groups, and this one would have more: filter rows, or group by fewer properties or by longer periods.',
    ),
  },
} satisfies Record<string, ErrorExample>

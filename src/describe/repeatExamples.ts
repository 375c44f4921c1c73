import { about, api, type ErrorExample } from './errorExample.ts'

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

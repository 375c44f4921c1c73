import { about, type ErrorExample } from './errorExample.ts'

/** Of the changes. */
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

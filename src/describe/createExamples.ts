import { about, type ErrorExample } from './errorExample.ts'

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

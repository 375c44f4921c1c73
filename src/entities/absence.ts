import { copied, decimal, defineEntity, group, identity, instant, reference, text } from '../model/entity.ts'

export default defineEntity(
  'Absence',
  {
    id: identity(),
    status: text({ lengthMax: 100, examples: ['Requested', 'Approved', 'Declined', 'Cancelled'] }),
    employeeId: reference('Employee'),
    employee: copied('employeeId', 'displayName'),
    type: text({ lengthMax: 100, examples: ['Holiday'] }),
    reason: text({ lengthMax: 100, examples: ['Annual Leave'] }),
    start: instant(),
    end: instant(),
    period: group({
      prefered: text({ lengthMax: 100, examples: ['Hours'] }), // spelt so in the API
      days: decimal(8),
      hours: decimal(8),
    }),
  },
  { notBefore: [['end', 'start', 'away']] },
)

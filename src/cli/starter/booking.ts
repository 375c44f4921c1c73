import { date, defineEntity, identity, integer, oneOf, text } from '../../model/entity.ts'

// Other kinds of properties, such as decimal, uuid, json and reference: node_modules/roster/docs/entities.md

/** Entity of the rows in the table `booking`, which are served at `/Bookings`. */
export default defineEntity(
  'Booking',
  {
    id: identity(),
    reference: text({ lengthMax: 20, required: true, unique: true }),
    room: text({ lengthMax: 100, required: true }),
    status: oneOf(['Requested', 'Approved', 'Declined']),
    firstDay: date({ required: true }),
    lastDay: date(),
    seats: integer({ min: 1, max: 500 }),
  },
  { notBefore: [['lastDay', 'firstDay']] },
)

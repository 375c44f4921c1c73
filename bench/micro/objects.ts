// What a server without a declaration of its entities does to print one: an object written out by hand, then
// `JSON.stringify`. Values are made as database drivers make them: numbers of numbers (which loses digits that Roster
// keeps), `Date` of date-times.
import type { Row } from '../../src/model/sql.ts'

type Text = string | null | undefined

/** Date-times by way of `Date`, as drivers hand them out. */
export const absenceWithDates = builder((text) =>
  text == null ? null : `${new Date(text).toISOString().slice(0, 19)}Z`,
)

/** Date-times from PostgreSQL's text at once: kinder than what drivers do. */
export const absenceWithTexts = builder((text) => (text == null ? null : `${text.slice(0, 10)}T${text.slice(11, 19)}Z`))

const number = (text: Text) => (text == null ? null : Number(text))

function builder(instant: (text: Text) => string | null) {
  return ([id, status, employeeId, employee, type, reason, start, end, prefered, days, hours]: Row) => ({
    id: number(id),
    status,
    employeeId: number(employeeId),
    employee,
    type,
    reason,
    start: instant(start),
    end: instant(end),
    period:
      prefered === null && days === null && hours === null
        ? null
        : { prefered, days: number(days), hours: number(hours) },
  })
}

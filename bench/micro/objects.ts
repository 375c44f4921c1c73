// What a server without a declaration of its entities does to print one: an object written out by hand, then
// `JSON.stringify`. Values are made as database drivers make them: numbers of numbers (which loses digits that Roster
// keeps), `Date` of date-times.
import type { Row } from '../../src/model/sql.ts'

type Text = string | null | undefined

/** Date-times by way of `Date`, as drivers hand them out. */
export const withDates = builders((text) => (text == null ? null : `${new Date(text).toISOString().slice(0, 19)}Z`))

/** Date-times from PostgreSQL's text at once: kinder than what drivers do. */
export const withTexts = builders((text) => (text == null ? null : `${text.slice(0, 10)}T${text.slice(11, 19)}Z`))

const number = (text: Text) => (text == null ? null : Number(text))

function builders(instant: (text: Text) => string | null) {
  return {
    Company: ([id, name, enabled]: Row) => ({ id: number(id), name, enabled: enabled === 't' }),
    Absence: ([id, status, employeeId, employee, type, reason, start, end, prefered, days, hours]: Row) => ({
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
    }),
    Employee: (row: Row) => ({
      id: number(row[0]),
      employeeNumber: row[1],
      title: row[2],
      firstName: row[3],
      middleName: row[4],
      lastName: row[5],
      knownAs: row[6],
      displayName: row[7],
      workEmail: row[8],
      workPhone: row[9],
      workMobile: row[10],
      companyId: number(row[11]),
      company: row[12],
      department: row[13],
      division: row[14],
      location: row[15],
      jobTitle: row[16],
      jobLevel: row[17],
      managerId: number(row[18]),
      manager: row[19],
      type: row[20],
      status: row[21],
      started: instant(row[22]),
      continuousStart: instant(row[23]),
      contractEnd: instant(row[24]),
      employmentEnd: instant(row[25]),
    }),
  }
}

// Kinds of lists that clients request at the same time. Random values make each list different: see `load/requests.mjs`.
import type { Rows } from './data.ts'

export interface Kind {
  /** Name in tables and for `--after`. */
  readonly name: string
  readonly title: string
  /** Query string of a list of absences. */
  readonly query: string
}

const PAGE_SIZE = 20
/** Minimum fraction of the absences that have one status: `src/seed` gives one of four statuses to 15 of 16 absences. */
export const PART_OF_STATUS = 0.2
const SMALLER_PAGES = 0.9

/** Days in the ranges of new lists; each is up to a day longer. */
export const NEW_DAYS = 60
/** A range from one random second to another; of 10^13 ranges, hardly one is drawn twice. */
export const NEW_RANGE = `Start=%3E%3D{2016-07-01..2025-11-01}&Start=%3C{${NEW_DAYS}d..${NEW_DAYS + 1}d}`
export const NEW_STATUS = `absences of one status that begin within ${NEW_DAYS} days`

/** Returns the kinds of lists for tables with these numbers of rows. */
export function kindsFor({ absences, employees }: Rows): readonly Kind[] {
  const pages = Math.max(2, Math.floor((SMALLER_PAGES * PART_OF_STATUS * absences) / PAGE_SIZE))
  const early = Math.max(1, pages >> 2)
  const middle = Math.max(1, pages >> 1)
  const late = Math.max(1, pages - (pages >> 2))
  const greatIds = `Id=%3E{1..${Math.round(0.9 * absences)}!}`
  const smallIds = `Id=%3C%3D{${Math.round(0.1 * absences)}..${absences}!}`
  const anyStatus = 'Status={Requested|Approved|Declined|Cancelled}'
  return [
    kind('range', `${NEW_STATUS}, the latest first`, `Status=Approved&${NEW_RANGE}&sort=-Start`),
    kind('ids', 'absences of one status after a random id, the latest first', `Status=Approved&${greatIds}&sort=-Start`),
    kind('ids-below', 'absences of one status up to a random id, the latest first', `Status=Approved&${smallIds}&sort=-Start`),
    kind('employee', 'absences of a random employee, the latest first', `EmployeeId={1..${employees}!}&sort=-Start`),
    kind('pages', 'a random page of absences of one status, the latest first', `${anyStatus}&sort=-Start&page={1..${pages}!}`),
    kind(
      'deep-pages',
      `a page of about number ${middle.toLocaleString('en-US')} of absences of one status, the latest first`,
      `${anyStatus}&sort=-Start&page={${early}..${late}!}`,
    ),
    kind(
      'days',
      'holidays of more than a random number of days, the latest first',
      'Period.Days=%3E{5..45}.{10000000..99999999}&Type=Holiday&sort=-Start',
    ),
    kind(
      'by-days',
      'absences of one status after a random id, the longest first',
      `Status=Approved&${greatIds}&sort=-Period.Days`,
    ),
    kind(
      'by-id',
      'absences of one status that begin after a random second, by id',
      'Status=Approved&Start=%3E{2016-01-01..2025-11-01}&sort=Id',
    ),
  ]
}

function kind(name: string, title: string, query: string): Kind {
  return { name, title, query }
}

import type { Rows } from './data/table.ts'

/** How long the ranges are that a new list asks for; each is up to a day longer. */
export const NEW_DAYS = 60
/** From one to the other of these days, about as many absences begin on each: of all, one in 3,653. */
const FIRST_DAY = '2016-07-01'
const LAST_DAY = '2025-11-01'
const DAYS_OF_ALL = 3_653
/** 62 of 100 are approved, and a range has more of them or fewer by chance: so many of what is expected are there. */
const APPROVED_AT_LEAST = 0.9 * 0.6

/** From one random second to another: it hardly comes twice among 10^13, and the last ones have whole ranges too. */
const range = `Start=%3E%3D{${FIRST_DAY}..${LAST_DAY}}&Start=%3C{${NEW_DAYS}d..${NEW_DAYS + 1}d}`

/** Absences of one status and a range of dates that no request has asked for before, the latest first. */
export const newLists = `Status=Approved&${range}&sort=-Start`

/** Four conditions on such a range, sorted by start. */
export const newConditions = `Period.Hours=%3E%3D16&Type=!=Holiday&${range}&sort=Start`

/** How many pages each list of `newLists` has at least. */
export function pagesOfNewList({ absences }: Rows, pageSize: number): number {
  const expected = (absences * NEW_DAYS) / DAYS_OF_ALL
  return Math.max(1, Math.floor((APPROVED_AT_LEAST * expected) / pageSize))
}

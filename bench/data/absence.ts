import type { Random } from '../../test/support/random.ts'
import { drawsFor, shares } from './drawing.ts'
import { displayName } from './employee.ts'
import { instantOf, keyOf, type Rows, type Table, type Value } from './table.ts'

const SALT = 5

const STATUSES = shares([62, 'Approved'], [18, 'Requested'], [12, 'Cancelled'], [8, 'Declined'])
const PREFERRED = shares<Value>([70, 'Days'], [25, 'Hours'], [5, null])
const HOURS_OF_DAY = shares([8, 7.5], [5, 8], [2, 4])

interface Kind {
  readonly type: string
  readonly reasons: readonly Value[]
  /** How long at most. */
  readonly halfDaysMax: number
  /** How long before it begins it is asked for, at most. */
  readonly leadDaysMax: number
}

const SICK = shares<Value>([9, 'Cold'], [5, 'Flu'], [4, 'Migraine'], [3, 'Back Pain'], [1, 'Surgery'], [6, null])
const AWAY = shares<Value>([12, 'Annual Leave'], [2, 'Carried Over'], [1, 'Time in Lieu'], [1, null])

const KINDS = shares<Kind>(
  [55, { type: 'Holiday', reasons: AWAY, halfDaysMax: 30, leadDaysMax: 180 }],
  [25, { type: 'Sickness', reasons: SICK, halfDaysMax: 12, leadDaysMax: 1 }],
  [8, { type: 'Training', reasons: ['Conference', 'Course', 'First Aid', null], halfDaysMax: 10, leadDaysMax: 90 }],
  [5, { type: 'Appointment', reasons: ['Dentist', 'Doctor', null], halfDaysMax: 2, leadDaysMax: 30 }],
  [4, { type: 'Parental', reasons: ['Birth', 'Adoption', 'Child Sick'], halfDaysMax: 120, leadDaysMax: 120 }],
  [3, { type: 'Unpaid', reasons: ['Sabbatical', 'Moving House', null], halfDaysMax: 60, leadDaysMax: 180 }],
)

/** Absences are entered one after the other over ten years; the last ones begin in 2026. */
const ENTERED_FIRST = Date.UTC(2016, 0, 1, 8)
const ENTERED_DAYS = 3_653
/** When on its first day an absence begins; all end at 17:00. */
const BEGIN_MINUTES = shares([2, -60], [5, 0], [2, 30], [2, 60], [1, 300])
const END_MINUTES = 540

export const absence: Table = {
  name: 'absence',
  columns: [
    ...['id', 'employee_id', 'employee_key', 'status', 'type', 'reason', 'start', 'end'],
    ...['period_prefered', 'period_days', 'period_hours'],
  ],
  count: ({ absences }) => absences,
  row: (id, rows) => {
    const draws = drawsFor(SALT, id)
    const employeeId = 1 + draws.below(rows.employees)
    return [id, employeeId, keyOf(displayName(employeeId)), draws.pick(STATUSES), ...leave(id, draws, rows)]
  },
}

function leave(id: number, draws: Random, rows: Rows): Value[] {
  const { type, reasons, halfDaysMax, leadDaysMax } = draws.pick(KINDS)
  const reason = draws.pick(reasons)
  const enteredDay = Math.floor(((id - 1) / rows.absences) * ENTERED_DAYS)
  // Short ones are more frequent than long ones.
  const halfDays = 1 + Math.min(draws.below(halfDaysMax), draws.below(halfDaysMax))
  const startDay = enteredDay + draws.below(leadDaysMax + 1)
  const endDay = startDay + Math.ceil(halfDays / 2) - 1
  // One of a hundred has not ended yet.
  const end = draws.chance(1) ? null : instantOf(ENTERED_FIRST, endDay, END_MINUTES)
  const start = instantOf(ENTERED_FIRST, startDay, draws.pick(BEGIN_MINUTES))
  return [type, reason, start, end, ...period(halfDays / 2, draws)]
}

function period(days: number, draws: Random): Value[] {
  if (draws.chance(4)) return [null, null, null]
  return [draws.pick(PREFERRED), days, draws.chance(90) ? days * draws.pick(HOURS_OF_DAY) : null]
}

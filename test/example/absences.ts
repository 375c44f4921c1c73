// The absences with which the example begins. They are given by weeks from today, so that it never looks old.

type Leave = readonly [
  account: string,
  status: 'Requested' | 'Approved' | 'Declined' | 'Cancelled',
  type: string,
  reason: string,
  /** 0 is this week, 1 the next one. */
  week: number,
  /** 1 is Monday. */
  weekday: 1 | 2 | 3 | 4 | 5,
  /** Working days, also over a weekend. */
  days: number,
]

const HOURS_A_DAY = 8
const FIRST_HOUR = 8
const DAY_MS = 86_400_000

const LEAVES: readonly Leave[] = [
  ['bo', 'Approved', 'Holiday', 'Annual leave', -2, 1, 5],
  ['bo', 'Requested', 'Holiday', 'My sister gets married', 2, 4, 2],
  ['bo', 'Declined', 'Training', 'Conference in Lisbon', 3, 2, 3],
  ['amina', 'Approved', 'Holiday', 'إجازة سنوية', 1, 1, 3],
  ['amina', 'Requested', 'Training', 'Course in statistics', 4, 3, 2],
  ['amina', 'Cancelled', 'Holiday', 'Annual leave', 5, 1, 5],
  ['juergen', 'Approved', 'Sickness', 'Flu', -1, 3, 3],
  ['juergen', 'Requested', 'Holiday', 'Skiing with the children', 6, 1, 5],
  ['dimitris', 'Approved', 'Holiday', 'Ετήσια άδεια', 0, 1, 5],
  ['dimitris', 'Requested', 'Holiday', 'Long weekend with my parents, who come by ship from Thessaloniki', 3, 5, 1],
  ['mina', 'Approved', 'Parental leave', 'Child is ill', -1, 2, 1],
  ['mina', 'Requested', 'Holiday', 'Annual leave', 1, 4, 7],
  ['mina', 'Declined', 'Holiday', 'Annual leave', 0, 4, 2],
  ['zoe', 'Cancelled', 'Holiday', 'Weekend in Cork', 1, 5, 1],
  ['zoe', 'Approved', 'Training', 'First aid', 2, 2, 1],
  ['noor', 'Approved', 'Holiday', 'Annual leave', 4, 1, 10],
  ['noor', 'Requested', 'Holiday', 'Moving house', 2, 5, 1],
  ['sam', 'Approved', 'Sickness', 'Back pain', -2, 4, 4],
  ['sam', 'Requested', 'Holiday', 'Visit to Lagos', 3, 1, 5],
  ['olena', 'Approved', 'Training', 'Leadership course', 1, 2, 2],
  ['olena', 'Requested', 'Holiday', 'Відпустка', 5, 1, 10],
  ['tomas', 'Declined', 'Holiday', 'Annual leave', 2, 1, 5],
  ['tomas', 'Requested', 'Holiday', 'Annual leave', 4, 1, 5],
  ['grace', 'Approved', 'Holiday', 'Annual leave', -3, 1, 10],
  ['ingrid', 'Requested', 'Holiday', 'Annual leave', 3, 1, 5],
]

/** Returns the absences as bodies of `POST /Absences`. `employeeIds`: ids of the rows by account. */
export function absencesFrom(today: Date, employeeIds: ReadonlyMap<string, number>): object[] {
  return LEAVES.map(([account, status, type, reason, week, weekday, days]) => {
    const firstDay = startOfDay(today, week, weekday)
    const lastDay = firstDay + calendarDays(weekday, days) * DAY_MS
    return {
      EmployeeId: employeeIds.get(account),
      Status: status,
      Type: type,
      Reason: reason,
      Start: instantOf(firstDay, FIRST_HOUR),
      End: instantOf(lastDay, FIRST_HOUR + HOURS_A_DAY),
      Period: { Prefered: 'Days', Days: days, Hours: days * HOURS_A_DAY },
    }
  })
}

/** Midnight in UTC of a weekday, `week` weeks from that of `today`. */
function startOfDay(today: Date, week: number, weekday: number): number {
  const midnight = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate())
  const daysSinceMonday = (today.getUTCDay() + 6) % 7
  return midnight + (week * 7 + weekday - 1 - daysSinceMonday) * DAY_MS
}

/** Days from the first to the last working day, with the weekends between. */
function calendarDays(weekday: number, workingDays: number): number {
  const last = weekday - 1 + workingDays - 1
  return last + Math.floor(last / 5) * 2 - (weekday - 1)
}

function instantOf(dayMs: number, hour: number): string {
  return new Date(dayMs + hour * 3_600_000).toISOString().replace('.000', '')
}

import { DIVISIONS, FIRST_NAMES, JOBS, LAST_NAMES, LOCATIONS, NICKNAMES } from '../../src/seed/words.ts'
import type { Random } from '../../test/support/random.ts'
import { companyName } from './company.ts'
import { drawsFor, mixingOf, shares } from './drawing.ts'
import { firstOfTwo, instantOf, keyOf, type Rows, type Table, type Value } from './table.ts'

const NAME_SALT = 3
const SALT = 4

const TITLES = shares<Value>([9, 'Ms'], [9, 'Mr'], [2, 'Dr'], [1, 'Mx'], [4, null])
const LEVELS = shares<Value>([6, 'Junior'], [9, 'Intermediate'], [6, 'Senior'], [2, 'Principal'], [1, 'Executive'])
const TYPES = shares([14, 'FullTime'], [4, 'PartTime'], [2, 'Contractor'])
const STATUSES = shares([82, 'Current'], [4, 'Joining'], [5, 'Suspended'], [9, 'Leaving'])

const STARTED_FIRST = Date.UTC(2000, 0, 3, 8)
const STARTED_DAYS = 5_500
const ENDING_FIRST = Date.UTC(2026, 0, 31, 17)
const ENDING_DAYS = 1_500

export const employee: Table = {
  name: 'employee',
  columns: [
    ...['id', 'employee_number', 'title', 'first_name', 'middle_name', 'last_name', 'known_as', 'work_email'],
    ...[
      'work_phone',
      'work_mobile',
      'company_id',
      'company_key',
      'manager_id',
      'manager_key',
      'department',
      'division',
    ],
    ...['location', 'job_title', 'job_level', 'type', 'status'],
    ...['started', 'continuous_start', 'contract_end', 'employment_end'],
  ],
  count: ({ employees }) => employees,
  row: (id, rows) => {
    const draws = drawsFor(SALT, id)
    return [id, ...person(id, draws), ...employer(id, rows), ...job(draws), ...contract(draws)]
  },
}

/** Known as, else first name, then last name; every employee has one. */
export function displayName(id: number): string {
  const { firstName, lastName, knownAs } = nameOf(id)
  return `${knownAs ?? firstName} ${lastName}`
}

function nameOf(id: number) {
  const draws = drawsFor(NAME_SALT, id)
  const firstName = draws.pick(FIRST_NAMES)
  const lastName = draws.chance(6) ? `${draws.pick(LAST_NAMES)}-${draws.pick(LAST_NAMES)}` : draws.pick(LAST_NAMES)
  return { firstName, lastName, knownAs: draws.chance(12) ? draws.pick(NICKNAMES) : null }
}

function person(id: number, draws: Random): Value[] {
  const { firstName, lastName, knownAs } = nameOf(id)
  const number = String(id).padStart(6, '0')
  const mailbox = `${firstName}.${lastName}.${id}`.toLowerCase().replaceAll(/[ ']/g, '')
  return [
    ...[
      `E${number}`,
      draws.pick(TITLES),
      firstName,
      draws.chance(35) ? draws.pick(FIRST_NAMES) : null,
      lastName,
      knownAs,
    ],
    draws.chance(97) ? `${mailbox}@example.com` : null,
    draws.chance(60) ? `+44 20 7946 ${digits(draws, 4)}` : null,
    draws.chance(80) ? `+44 7700 9${digits(draws, 5)}` : null,
  ]
}

function digits(draws: Random, count: number): string {
  return String(draws.below(10 ** count)).padStart(count, '0')
}

/**
 * Company and manager. Companies stand in a line, each with its employees behind it, two for a company. In the first half
 * of the line they are uneven, the large ones first: of 100,000 companies the largest has 448 employees, a quarter have
 * one or two. In the second half each has its two. The first employee of each leads the next eight, and so on.
 */
function employer(id: number, { employees, companies }: Rows): Value[] {
  const ids = mixingOf(employees)
  const place = ids.placeOf(id)
  const uneven = firstOfTwo({ companies }) - 1
  const number = companyAt(place, uneven)
  const first = firstPlaceOf(number, uneven)
  const companyId = number < uneven ? mixingOf(uneven).idAt(number) : number + 1
  const company = [companyId, keyOf(companyName(companyId))]
  if (place === first) return [...company, null, null]
  const managerId = ids.idAt(first + Math.floor((place - first - 1) / 8))
  return [...company, managerId, keyOf(displayName(managerId))]
}

function companyAt(place: number, uneven: number): number {
  const part = place / 2 / uneven
  return part < 1 ? Math.floor(uneven * part * part) : Math.floor(place / 2)
}

function firstPlaceOf(company: number, uneven: number): number {
  if (company >= uneven) return 2 * company
  // The root is near; what `companyAt` says decides.
  let place = Math.floor(2 * uneven * Math.sqrt(company / uneven))
  while (place > 0 && companyAt(place - 1, uneven) >= company) place--
  while (companyAt(place, uneven) < company) place++
  return place
}

function job(draws: Random): Value[] {
  const [department, titles] = draws.pick(JOBS)
  const division = draws.chance(70) ? draws.pick(DIVISIONS) : null
  return [department, division, draws.pick(LOCATIONS), draws.pick(titles), draws.chance(85) ? draws.pick(LEVELS) : null]
}

function contract(draws: Random): Value[] {
  const type = draws.pick(TYPES)
  const status = draws.pick(STATUSES)
  const startedDay = draws.below(STARTED_DAYS)
  const started = instantOf(STARTED_FIRST, startedDay)
  // Of a predecessor of the company, for some.
  const continuous = draws.chance(8) ? instantOf(STARTED_FIRST, startedDay - draws.below(2_000)) : started
  const end = instantOf(ENDING_FIRST, draws.below(ENDING_DAYS))
  const contractEnd = type === 'Contractor' ? end : null
  return [type, status, started, continuous, contractEnd, status === 'Leaving' ? end : null]
}

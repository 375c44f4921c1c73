import type { DecimalSample, Draft } from '../../../support/arbitraries.ts'
import type { Collection, Value } from '../../../support/model.ts'
import type { Random } from '../../../support/random.ts'
import { bodyOf } from '../../../support/records.ts'
import { TEXTS } from '../randomList.ts'
import type { Change, RowsModel } from './rowsModel.ts'

/** A write by a client, and what it comes to. */
export interface Plan {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly collection: Collection
  readonly path: string
  /** JSON; undefined: none. */
  readonly body?: string
  /** Of its answer. */
  readonly status: number
  /** `id`: of the row, as the answer has it. */
  changes(id: number): Change[]
}

/** So few rows are written again and again. */
const HOT = 8
/** Writes keep about so many. */
export const ABSENCES = 6_000
const COMPANIES = 25
const EMPLOYEES = 70
/** A rename goes on to the rows that refer to the renamed one. */
const COPIED = /^(Name|KnownAs|FirstName|LastName)$/

type Draw = (random: Random, model: RowsModel) => Value | DecimalSample

const text: Draw = (random) => random.pick([...TEXTS, null])
/** More of them, as the names of people. */
const word: Draw = (random) => random.pick([`t${random.below(300)}`, `t${random.below(300)}`, 'a', 'b', null])
const instantIn =
  (year: number): Draw =>
  (random) =>
    random.chance(8) ? null : printInstant(year, random.below(400))
const decimalOf =
  (parts: number, end: number): Draw =>
  (random) => {
    const value = random.below(end) / parts
    return random.chance(12) ? null : { written: String(value), printed: value.toFixed(8) }
  }
const idOf =
  (collection: Collection, percent: number): Draw =>
  (random, { rows }) =>
    random.chance(percent) ? random.pick([...rows[collection].keys(), null]) : null

const DRAWS: Record<Collection, Record<string, Draw>> = {
  Companies: { Name: text, Enabled: (random) => random.chance(50) },
  Employees: {
    ...{ KnownAs: text, FirstName: text, LastName: word, Department: text, Status: text },
    ...{ Started: instantIn(2023), CompanyId: idOf('Companies', 80), ManagerId: idOf('Employees', 30) },
  },
  Absences: {
    ...{ Status: text, Type: word, Reason: text, Start: instantIn(2024), End: instantIn(2026) },
    ...{ 'Period.Prefered': text, 'Period.Days': decimalOf(2, 60), 'Period.Hours': decimalOf(8, 4_000) },
    EmployeeId: idOf('Employees', 90),
  },
}

export function randomPlan(model: RowsModel, random: Random, renames: boolean, companies: boolean): Plan {
  const all = ['Absences', 'Absences', 'Absences', 'Employees', companies ? 'Companies' : 'Absences'] as const
  const collection = random.pick(all)
  const most = { Companies: COMPANIES, Employees: EMPLOYEES, Absences: ABSENCES }[collection]
  const ids = [...model.rows[collection].keys()]
  const isFull = ids.length > most
  if (random.chance(isFull ? 10 : 25)) return creation(model, random, collection)
  const id = random.pick(random.chance(40) ? ids.slice(0, HOT) : ids)
  if (random.chance(isFull ? 25 : 12)) return removal(model, collection, id)
  return changeOf(model, random, collection, id, renames)
}

function creation(model: RowsModel, random: Random, collection: Collection): Plan {
  const draft = drawn(model, random, collection, 80, true)
  const changes = (id: number) => model.put(collection, id, draft)
  return { method: 'POST', collection, path: `/${collection}`, body: bodyOf(draft), status: 201, changes }
}

export function removal(model: RowsModel, collection: Collection, id: number): Plan {
  const isReferredTo = model.isReferredTo(collection, id)
  const changes = () => (isReferredTo ? [] : model.remove(collection, id))
  return { method: 'DELETE', collection, path: `/${collection}/${id}`, status: isReferredTo ? 409 : 204, changes }
}

/** Complete or partial; now and then it changes nothing, or is refused since the end would be before the start. */
export function changeOf(model: RowsModel, random: Random, collection: Collection, id: number, renames: boolean): Plan {
  const isComplete = random.chance(20) && (renames || collection === 'Absences')
  const draft = drawn(model, random, collection, isComplete ? 80 : 30, renames)
  if (draft.ManagerId === id) delete draft.ManagerId
  const whole: Draft = isComplete ? draft : { ...model.rows[collection].get(id), ...draft }
  const { Start, End } = whole
  const isRefused = typeof Start === 'string' && typeof End === 'string' && End < Start
  const changes = () => (isRefused ? [] : model.put(collection, id, whole))
  const [method, status] = [isComplete ? 'PUT' : 'PATCH', isRefused ? 400 : 200] as const
  return { method, collection, path: `/${collection}/${id}`, body: bodyOf(draft), status, changes }
}

/** A change that goes on to all rows that refer to this one. */
export function rename(model: RowsModel, random: Random, collection: 'Companies' | 'Employees', id: number): Plan {
  const draft = { [collection === 'Companies' ? 'Name' : 'KnownAs']: `n${random.below(1_000)}` }
  const changes = () => model.put(collection, id, { ...model.rows[collection].get(id), ...draft })
  return { method: 'PATCH', collection, path: `/${collection}/${id}`, body: bodyOf(draft), status: 200, changes }
}

/** Of each property a value with that probability. */
function drawn(model: RowsModel, random: Random, collection: Collection, percent: number, renames: boolean): Draft {
  const draws = Object.entries(DRAWS[collection]).filter(([name]) => renames || !COPIED.test(name))
  const chosen = draws.filter(() => random.chance(percent))
  return Object.fromEntries(chosen.map(([name, draw]) => [name, draw(random, model)]))
}

/** Many of them, with ties. */
function printInstant(year: number, day: number): string {
  return new Date(Date.UTC(year, 0, 1 + day)).toISOString().replace('.000Z', 'Z')
}

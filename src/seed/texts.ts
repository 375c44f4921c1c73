// Generated texts, by the names of columns and the examples of entities.
import type { Entity, Property } from '../model/entity.ts'
import { integer, join, param, type Sql, sql } from '../model/sql.ts'
import { FEW_NULLS, type RandomValues } from './randomValues.ts'
import * as words from './words.ts'

/** SQL of a text, and the number of rows in 16 in which it is null. */
interface GeneratedText {
  readonly text: Sql
  readonly nulls: number
}

type Make = (random: RandomValues, entity: Entity) => GeneratedText

const LEVELS = ['Junior', 'Intermediate', 'Senior', 'Principal', 'Executive']
const JOBS = words.JOBS.flatMap(([, jobs]) => jobs)
const DEPARTMENTS = words.JOBS.map(([department]) => department)

/**
 * Groups of values that belong together: if the only example of a property is in a group, its values are drawn from the group.
 */
const FAMILIES = [
  ['FullTime', 'FullTime', 'FullTime', 'PartTime', 'Contractor'],
  ['Current', 'Current', 'Current', 'Current', 'Joining', 'Suspended', 'Leaving'],
  ['Holiday', 'Holiday', 'Holiday', 'Sickness', 'Sickness', 'Training', 'Appointment', 'Parental', 'Unpaid'],
  ['Days', 'Days', 'Hours'],
]

/**
 * Texts of a property by the value of another property in the same row, such as reasons by the type of an absence. Either
 * property is recognized by its only example.
 */
const PAIRS: ReadonlyMap<string, readonly string[]> = new Map([
  ['Holiday', ['Annual Leave', 'Annual Leave', 'Carried Over', 'Time in Lieu']],
  ['Sickness', ['Cold', 'Flu', 'Back Pain']],
  ['Training', ['Course', 'Conference']],
  ['Appointment', ['Dentist', 'Doctor']],
  ['Parental', ['Child Care']],
  ['Unpaid', ['Moving House', 'Sabbatical']],
])

const number = sql`lpad(made.n::text, greatest(6, length(made.n::text)), '0')`
const pickOf =
  (texts: readonly string[], nulls = FEW_NULLS) =>
  (random: RandomValues) => ({ text: random.pick(texts), nulls })

/** Texts by column name; the first match counts. A column without a match gets two words. */
const BY_COLUMN: readonly (readonly [column: RegExp, make: Make])[] = [
  [/(^|_)(first|given)_name$|^forename$/, pickOf(words.FIRST_NAMES, 0)],
  [/(^|_)middle_name$/, pickOf(words.FIRST_NAMES, 10)],
  [/(^|_)(last|family)_name$|^surname$/, pickOf(words.LAST_NAMES, 0)],
  [/known_as$|nickname$/, pickOf(words.NICKNAMES, 14)],
  [/mail$/, (random) => ({ text: mailbox(random), nulls: FEW_NULLS })],
  // These numbers are reserved for use in films.
  [/phone|mobile|fax$/, (random) => ({ text: sql`'+44 20 7946 0' || lpad((${random.below(1_000)})::text, 3, '0')`, nulls: 4 })],
  [/(^|_)(number|code)$/, (_, entity) => ({ text: sql`${param(entity.name.slice(0, 1))} || ${number}`, nulls: 0 })],
  [/(^|_)(location|city|office|site)$/, pickOf(words.LOCATIONS)],
  [/(^|_)(department|team)$/, pickOf(DEPARTMENTS)],
  [/(^|_)(division|region)$/, pickOf(words.DIVISIONS, 4)],
  [/(^|_)(job_title|position|role)$/, pickOf(JOBS)],
  [/(^|_)(level|grade)$/, pickOf(LEVELS, 2)],
  [/^title$/, (random, entity) => (isPerson(entity) ? pickOf(['Ms', 'Mr', 'Dr', 'Mx'], 3)(random) : twoWords(random))],
  [/^name$|(^|_)(company|employer|customer|supplier)$/, organisation],
]

/** Returns a text for each row, at most as long as the property allows; different in each row if the property is unique. */
export function textOf(entity: Entity, property: Property, randomOf: (property: Property) => RandomValues): Sql {
  const random = randomOf(property)
  const { text, nulls } = paired(entity, property, random, randomOf) ?? generated(property, random, entity)
  const lengthMax = integer(property.kind.lengthMax ?? 100)
  if (property.unique === null) return random.orNull(sql`rtrim(left(${text}, ${lengthMax}))`, property.kind.nullable ? nulls : 0)
  // The row number makes the text unique. The text before the number is cut to fit.
  return sql`ltrim(left(${text}, greatest(0, ${lengthMax} - length(made.n::text) - 1)) || ' ' || made.n)`
}

/** Returns a text that fits the value of another property; null if the text depends on no other property. */
function paired(entity: Entity, property: Property, random: RandomValues, randomOf: (property: Property) => RandomValues) {
  const isOneOf = ({ examples }: Property, values: Iterable<string>) =>
    examples.length === 1 && [...values].includes(examples[0] as string)
  const other = entity.properties.find((one) => isOneOf(one, PAIRS.keys()))
  if (other === undefined || !isOneOf(property, [...PAIRS.values()].flat())) return null
  const { text } = generated(other, randomOf(other), entity)
  const cases = [...PAIRS].map(([value, texts]) => sql`when ${param(value)} then ${random.pick(texts)}`)
  return { text: sql`case ${text} ${join(cases, sql` `)} end`, nulls: FEW_NULLS }
}

function generated({ column, examples }: Property, random: RandomValues, entity: Entity): GeneratedText {
  const family = FAMILIES.find((values) => examples.length === 1 && values.includes(examples[0] as string))
  const values = family ?? examples
  if (values.length > 0) return pickOf(values)(random)
  const [, make = twoWords] = BY_COLUMN.find(([pattern]) => pattern.test(column)) ?? []
  return make(random, entity)
}

function isPerson({ properties }: Entity): boolean {
  return properties.some(({ column }) => column === 'last_name')
}

function twoWords(random: RandomValues): GeneratedText {
  const start = random.pick(words.COMPANY_STARTS)
  const trade = random.pick(words.COMPANY_TRADES)
  return { text: sql`${start} || ' ' || ${trade}`, nulls: FEW_NULLS }
}

function organisation(random: RandomValues): GeneratedText {
  return { text: sql`${twoWords(random).text} || ${random.pick(words.COMPANY_FORMS)}`, nulls: 0 }
}

/** Returns a mailbox under a domain that no mail is ever delivered to (RFC 2606). */
function mailbox(random: RandomValues): Sql {
  const start = random.pick(words.COMPANY_STARTS)
  const trade = random.pick(words.COMPANY_TRADES)
  return sql`lower(${start} || '.' || ${trade}) || '.' || made.n || '@example.com'`
}

import type postgres from 'postgres'
import { hostileTexts } from './hostile.ts'
import type { Collection } from './model.ts'
import type { Random } from './random.ts'

const TEXTS = ['', 'a', 'A', 'á', 'ä', 'b', 'B', 'e f', 'e-f', 'ef', 'é', 'e\u0301', 'ß', 'ss', 'ı', 'Zoë', 'zoe', '9', '10']
/** Hostile texts that fit into a text column. */
const HOSTILE = hostileTexts.filter((text) => !text.includes('\0') && text.length <= 100)
const DECIMALS = ['0', '0.00000001', '1', '1.5', '1.50000001', '7', '9999999999.99999999']
const INSTANTS = ['0001-01-01', '1969-12-31', '1970-01-01', '2024-01-31', '2024-02-29', '9999-12-31'].flatMap((day) =>
  ['00:00:00', '23:59:59'].map((time) => `${day}T${time}Z`),
)

/** Columns of a table that any client can write, with a generator of few values, so that many tie. */
type Columns = Record<string, (random: Random) => string | boolean | null>

const text = (random: Random) => random.pick(random.chance(15) ? HOSTILE : TEXTS)
const orNull = (draw: (random: Random) => string) => (random: Random) => (random.chance(20) ? null : draw(random))
const texts = (...names: string[]): Columns => Object.fromEntries(names.map((name) => [name, orNull(text)]))

const columns: Record<Collection, Columns> = {
  Companies: { name: orNull(text), enabled: (random) => random.chance(50) },
  Employees: {
    ...texts('employee_number', 'title', 'first_name', 'last_name', 'known_as', 'department', 'type', 'status'),
    started: orNull((random) => random.pick(INSTANTS)),
    contract_end: orNull((random) => random.pick(INSTANTS)),
  },
  Absences: {
    ...texts('status', 'type', 'reason', 'period_prefered'),
    start: orNull((random) => random.pick(INSTANTS)),
    period_days: orNull((random) => random.pick(DECIMALS)),
    period_hours: orNull((random) => random.pick(DECIMALS)),
  },
}

export const tables: Record<Collection, string> = { Companies: 'company', Employees: 'employee', Absences: 'absence' }

/** Values that a row copies from a row of another table. */
const copies: Partial<Record<Collection, { id: string; key: string; source: string; sourceKey: string }>> = {
  Employees: { id: 'company_id', key: 'company_key', source: 'company', sourceKey: 'name_key' },
  Absences: { id: 'employee_id', key: 'employee_key', source: 'employee', sourceKey: 'display_name_key' },
}

type Values = Record<string, string | boolean | null>

/** Draws values for every column that the collection's rows do not copy from other rows. */
export function randomValues(random: Random, collection: Collection): Values {
  return Object.fromEntries(Object.entries(columns[collection]).map(([name, draw]) => [name, draw(random)]))
}

/** Inserts rows with random values, most of which refer to a row if there is one; returns their ids. */
export async function insertRows(sql: postgres.Sql, random: Random, collection: Collection, count: number) {
  const table = tables[collection]
  const copy = copies[collection]
  const sources = copy ? await sql`select id, ${sql(copy.sourceKey)} as key from ${sql(copy.source)} order by id` : []
  const rows = Array.from({ length: count }, (): Values => {
    const values = randomValues(random, collection)
    if (!copy || sources.length === 0 || random.chance(20))
      return copy ? { ...values, [copy.id]: null, [copy.key]: null } : values
    const source = random.pick(sources)
    return { ...values, [copy.id]: source.id, [copy.key]: source.key }
  })
  if (count === 0) return []
  const inserted = await sql`insert into ${sql(table)} ${sql(rows)} returning id::int`
  return inserted.map(({ id }) => id as number)
}

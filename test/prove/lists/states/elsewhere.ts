import type { Draft } from '../../../support/arbitraries.ts'
import type { Collection, Row } from '../../../support/model.ts'
import type { Random } from '../../../support/random.ts'
import type { Cluster } from '../cluster.ts'
import { TEXTS } from '../randomList.ts'
import { randomPlan } from './plans.ts'
import type { Change, RowsModel } from './rowsModel.ts'

/** A write that the server does not make, in one transaction: what it has come to. @throws when that is not known */
type Elsewhere = (cluster: Cluster, model: RowsModel, random: Random) => Promise<Change[]>

const some = (model: RowsModel, random: Random, collection: Collection, countMax: number) => {
  const rows = [...model.rows[collection].values()]
  const from = random.below(rows.length)
  return rows.slice(from, from + 1 + random.below(countMax))
}
/** Of their ids, as PostgreSQL writes it. */
const arrayOf = (rows: readonly Row[]) => `{${rows.map(({ Id }) => Id)}}`
const put = (model: RowsModel, collection: Collection, rows: readonly Row[], draft: Draft) =>
  rows.flatMap((row) => model.put(collection, Number(row.Id), { ...row, ...draft }))

const writes: readonly Elsewhere[] = [
  async ({ sql }, model, random) => {
    const [Type, Status] = [random.pick(TEXTS), random.pick(TEXTS)]
    const inserted = await sql`
      insert into absence (type, status, period_days)
      select ${Type}, ${Status}, 1.5 from generate_series(1, ${1 + random.below(5)}) returning id`
    const draft = { Type, Status, 'Period.Days': { written: '1.5', printed: '1.50000000' } }
    return inserted.flatMap(({ id }) => model.put('Absences', Number(id), draft))
  },
  async ({ sql }, model, random) => {
    const [rows, Status] = [some(model, random, 'Absences', 60), random.pick(TEXTS)]
    await sql`update absence set status = ${Status} where id = any (${arrayOf(rows)}::bigint[])`
    return put(model, 'Absences', rows, { Status })
  },
  async ({ sql }, model, random) => {
    const rows = some(model, random, 'Absences', 6)
    await sql`delete from absence where id = any (${arrayOf(rows)}::bigint[])`
    return rows.flatMap(({ Id }) => model.remove('Absences', Number(Id)))
  },
  async ({ sql }, model, random) => {
    const [rows, KnownAs] = [some(model, random, 'Employees', 1), random.pick(TEXTS)]
    await sql`update employee set known_as = ${KnownAs} where id = any (${arrayOf(rows)}::bigint[])`
    return put(model, 'Employees', rows, { KnownAs })
  },
  async ({ sql }, model, random) => {
    const [rows, Reason] = [some(model, random, 'Absences', 20), random.pick(TEXTS)]
    const ids = arrayOf(rows)
    await sql.begin(async (transaction) => {
      await transaction`update absence set reason = 'on its way' where id = any (${ids}::bigint[])`
      await Bun.sleep(random.below(15))
      await transaction`update absence set reason = ${Reason} where id = any (${ids}::bigint[])`
    })
    return put(model, 'Absences', rows, { Reason })
  },
  async ({ sql }, model, random) => {
    const ids = arrayOf(some(model, random, 'Absences', 20))
    await sql.begin(async (transaction) => {
      await transaction`delete from absence where id = any (${ids}::bigint[])`
      await Bun.sleep(random.below(15))
      await transaction`rollback`
    })
    return []
  },
  throughAnotherServer,
  throughAnotherServer,
]

/** Of another machine, as far as the server can tell. */
async function throughAnotherServer(cluster: Cluster, model: RowsModel, random: Random): Promise<Change[]> {
  const { method, path, body, status, changes } = randomPlan(model, random, random.chance(20), false)
  const answer = await cluster.askElsewhere(path, method, body)
  if (answer.status !== status) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
  return changes(idIn(answer.text))
}

/** Of the row that was written; NaN where the answer has none. */
export function idIn(text: string): number {
  return Number(/^\{"id":(\d+)/.exec(text)?.[1])
}

export function writeElsewhere(cluster: Cluster, model: RowsModel, random: Random): Promise<Change[]> {
  return random.pick(writes)(cluster, model, random)
}

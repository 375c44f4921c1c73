import { until } from '../../../support/process.ts'
import type { Random } from '../../../support/random.ts'
import type { Findings } from '../check.ts'
import type { Cluster } from '../cluster.ts'
import type { Fault } from '../faults.ts'
import { writeInBackground } from './backgroundWrites.ts'
import { deepList } from './deepList.ts'
import { Judge } from './judge.ts'
import { OrderedRows } from './ordered.ts'
import { ABSENCES } from './plans.ts'
import { type Conditions, Reader } from './reader.ts'
import { RowsModel } from './rowsModel.ts'
import { Timeline } from './timeline.ts'
import { Writer } from './writer.ts'

const LISTS = 16
/** What a proof is too weak without. */
const [JUDGED, JUDGED_MIN] = [['fresh', 'pages by cursor'], 25]
const READERS = 8
const BACKGROUND_WRITERS = 3
/** Before a fault, and behind it, while clients go on. */
const AROUND_MS = 400
/** Others' writes show after so long: they arrive at once, or else nothing comes from the cache after half a second. */
const LATE_MS = 600

/** One writes and many read for so long, or while `fault` goes on; every answer must be that of one state. */
export async function proveStates(
  cluster: Cluster,
  random: Random,
  findings: Findings,
  { moment, forMs, fault }: { moment: string; forMs: number; fault: Fault | null },
): Promise<void> {
  const conditions = conditionsFor(random, findings, fault)
  const model = await RowsModel.read(cluster)
  const lists = Array.from({ length: LISTS }, () => deepList(model, random))
  const judged = lists.filter(({ collection }) => collection !== 'Companies' || conditions.backgroundWriters === 0)
  const timeline = new Timeline(
    model,
    judged.map((selected) => new OrderedRows(selected, model)),
  )
  const reader = new Reader(cluster, timeline, new Judge(timeline, findings, moment), random, findings, conditions)
  const writer = new Writer(cluster, timeline, reader, random, findings, conditions)
  let isOver = false
  const over = () => isOver
  const background = { renames: conditions.renames, isOver: over, isHeld: () => writer.isLost }
  const ended = Promise.all([
    writer.run(over),
    ...Array.from({ length: READERS }, () => reader.run(over)),
    ...Array.from({ length: conditions.backgroundWriters }, () => writeInBackground(cluster, random, background)),
  ])
  if (fault) await cause(cluster, random, conditions, fault)
  else {
    await Bun.sleep(forMs)
    // A busy machine does little in that time.
    await until(() => JUDGED.every((what) => (findings.counts[what] ?? 0) >= JUDGED_MIN))
  }
  isOver = true
  await ended
  await reader.untilJudged()
  await writer.compare(moment)
  findings.count('states', timeline.sent)
}

/** In turns, since what makes servers forget all they know of a table would hide that they keep what they must not. */
function conditionsFor(random: Random, findings: Findings, fault: Fault | null): Conditions {
  const turn = findings.counts.phases ?? random.below(3)
  findings.counts.phases = turn + 1
  const usual = fault?.deafMs !== undefined ? 25 : turn % 3 === 2 ? 12 : 0
  return {
    renames: turn % 3 === 1,
    othersPercent: fault?.othersPercent ?? usual,
    backgroundWriters: fault || random.chance(50) ? BACKGROUND_WRITERS : 0,
    isFaulty: false,
    holds: fault?.holds ?? false,
    lateMs: LATE_MS + (fault?.deafMs ?? 0),
  }
}

async function cause(cluster: Cluster, random: Random, conditions: Conditions, { deafMs = 0, run }: Fault) {
  await Bun.sleep(AROUND_MS)
  conditions.isFaulty = true
  await run(cluster, random)
  await cluster.untilAnswered()
  conditions.isFaulty = false
  await Bun.sleep(AROUND_MS + deafMs)
}

/** Rows enough for deep pages. */
export async function fillMany({ sql }: Cluster): Promise<void> {
  await sql`
    insert into employee (known_as, last_name, department, started, company_id, company_key)
    select chr(97 + n % 5), 't' || n, chr(97 + n % 4), timestamptz '2023-01-01Z' + n % 30 * interval '1 day',
      company.id, name_key
    from generate_series(1, 60) as n left join company on company.id = n % 13`
  await sql`
    insert into absence (
      type, status, reason, start, "end", period_prefered, period_days, period_hours, employee_id, employee_key)
    select
      case when n % 9 <> 0 then 't' || n * 31 % 300 end, chr(97 + n % 3), case when n % 5 <> 0 then chr(97 + n % 7) end,
      case when n % 12 <> 0 then timestamptz '2024-01-01Z' + n * 7919 % 400 * interval '1 day' end,
      case when n % 7 <> 0 then timestamptz '2026-01-01Z' + n * 31 % 400 * interval '1 day' end,
      case when n % 4 <> 0 then 'a' end, case when n % 8 <> 0 then n * 17 % 60 / 2.0 end, n * 13 % 3989 / 8.0,
      employee.id, display_name_key
    from generate_series(1, ${ABSENCES}::int) as n left join employee on employee.id = 1 + n * 7919 % 70`
}

import type { Random } from '../../../support/random.ts'
import type { Findings } from '../check.ts'
import type { Site } from '../cluster.ts'
import type { Disturbance } from '../faults.ts'
import { makeNoise } from './backgroundWrites.ts'
import { deepList } from './deepList.ts'
import { Judge } from './judge.ts'
import { OrderedRows } from './ordered.ts'
import { ABSENCES } from './plans.ts'
import { Reader, type Weather } from './reader.ts'
import { World } from './rowsModel.ts'
import { Timeline } from './timeline.ts'
import { Writer } from './writer.ts'

const LISTS = 16
const READERS = 8
const NOISE = 3
/** Before a disturbance, and behind it, while clients go on. */
const AROUND_MS = 400
/** Others' writes show after so long: they are told at once, or else nothing is told from memory after half a second. */
const LATE_MS = 600

/** One writes and many read for so long, or while `disturbance` goes on; every answer must be that of one state. */
export async function proveStates(
  site: Site,
  random: Random,
  findings: Findings,
  { moment, forMs, disturbance }: { moment: string; forMs: number; disturbance: Disturbance | null },
): Promise<void> {
  const weather = weatherFor(random, findings, disturbance)
  const world = await World.read(site)
  const lists = Array.from({ length: LISTS }, () => deepList(world, random))
  const judged = lists.filter(({ collection }) => collection !== 'Companies' || weather.noise === 0)
  const timeline = new Timeline(
    world,
    judged.map((selected) => new OrderedRows(selected, world)),
  )
  const reader = new Reader(site, timeline, new Judge(timeline, findings, moment), random, findings, weather)
  const writer = new Writer(site, timeline, reader, random, findings, weather)
  let isOver = false
  const over = () => isOver
  const noisy = { renames: weather.renames, isOver: over, isHeld: () => writer.isLost }
  const ended = Promise.all([
    writer.run(over),
    ...Array.from({ length: READERS }, () => reader.run(over)),
    ...Array.from({ length: weather.noise }, () => makeNoise(site, random, noisy)),
  ])
  if (disturbance) await disturb(site, random, weather, disturbance)
  else await Bun.sleep(forMs)
  isOver = true
  await ended
  await reader.untilJudged()
  await writer.compare(moment)
  findings.count('states', timeline.sent)
}

/** In turns, since what makes servers forget all they know of a table would hide that they keep what they must not. */
function weatherFor(random: Random, findings: Findings, disturbance: Disturbance | null): Weather {
  const turn = findings.counts.phases ?? random.below(3)
  findings.counts.phases = turn + 1
  const usual = disturbance?.deafMs !== undefined ? 25 : turn % 3 === 2 ? 12 : 0
  return {
    renames: turn % 3 === 1,
    othersPercent: disturbance?.othersPercent ?? usual,
    noise: disturbance || random.chance(50) ? NOISE : 0,
    isDisturbed: false,
    holds: disturbance?.holds ?? false,
    lateMs: LATE_MS + (disturbance?.deafMs ?? 0),
  }
}

async function disturb(site: Site, random: Random, weather: Weather, { deafMs = 0, run }: Disturbance) {
  await Bun.sleep(AROUND_MS)
  weather.isDisturbed = true
  await run(site, random)
  await site.untilAnswered()
  weather.isDisturbed = false
  await Bun.sleep(AROUND_MS + deafMs)
}

/** Rows enough for deep pages. */
export async function fillMany({ sql }: Site): Promise<void> {
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

// One of several processes that ask the same table at once; every decision goes to a mapped log, which outlives a kill.
// Arguments: region, log, rules, clients of the table, keys, decisions to make (0: until killed), seed, and how many
// processes must be there before it begins.
import { HEAD, Table } from '../../src/admit/table.ts'
import { SlidingWindows } from '../../src/admit/window.ts'
import type { Rule } from '../../src/model/limits.ts'
import { OWN_WORD, openRegion } from '../../src/os/region.ts'
import { Random } from '../support/random.ts'
import { fineMs } from './fineClock.ts'

const [path, log, rulesText, clients, keys, decisions, seed, together] = process.argv.slice(2) as string[]
const rules: Rule[] = JSON.parse(rulesText as string)
const region = openRegion(path as string)
const table = new Table(region.words, Number(clients), Math.max(...rules.map(({ limit }) => limit)))
const { buffer } = Bun.mmap(log as string, { shared: true })
const words = new Int32Array(buffer)
const times = new Float64Array(buffer)
const slots = new Map<number, number>()
let key = 0
const decided = { number: 0, now: 0 }
const windows = new SlidingWindows(region, Number(clients), rules, () => {
  // Between the decision's two looks at the head, which are equal, so this is the number that it decides on.
  decided.number = Atomics.load(region.words, table.entryOf(slots.get(key) as number) + HEAD)
  decided.now = fineMs()
  return Math.floor(decided.now)
})
const random = new Random(Number(seed))
const total = Number(decisions) || Number.POSITIVE_INFINITY
const room = words.length / 6 - 2
findSlots()
Atomics.add(region.words, OWN_WORD, 1)
while (Atomics.load(region.words, OWN_WORD) < Number(together)) Bun.sleepSync(1)
for (let made = 0; made < total && (words[0] as number) < room; made++) {
  key = 1 + random.below(Number(keys))
  const { admitted } = windows.admit(key, key)
  // Of refusals one in 16, so that a long run fits its log.
  if (admitted || made % 16 === 0) record(admitted)
}

function record(admitted: boolean) {
  const at = 6 * ((words[0] as number) + 1)
  words[at] = key
  words[at + 1] = admitted ? 1 : 0
  words[at + 2] = decided.number
  times[at / 2 + 2] = decided.now
  words[0] = (words[0] as number) + 1
}

/** Where the keys' entries lie: each has one before the processes begin. */
function findSlots() {
  for (let slot = 0; slot < Number(clients); slot++) slots.set(region.words[table.entryOf(slot)] as number, slot)
}

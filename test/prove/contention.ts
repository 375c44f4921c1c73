import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HEAD, Table } from '../../src/admit/table.ts'
import { SlidingWindows, wordsFor } from '../../src/admit/window.ts'
import type { Rule } from '../../src/model/limits.ts'
import { openRegion, RegionFile, USER_WORD } from '../../src/os/region.ts'
import { Random } from '../support/random.ts'
import { fineMs } from './fineClock.ts'
import { isRight } from './limiterOracle.ts'

interface Options {
  rules: readonly Omit<Rule, 'period'>[]
  processes: number
  keys: number
  /** Number of decisions of all processes together. Undefined: the processes decide until all `kills` are done. */
  decisions?: number
  /** Number of kills. Each kill ends a random process, some time after its first decision, and starts a new process. */
  kills?: number
  seed: number
}

export interface Findings {
  admitted: number
  refusalsChecked: number
  /** Pairs of admissions with the same number. */
  duplicates: number
  /** Number of admissions that a rule forbids. */
  overAdmissions: number
  /** Number of refusals that no rule demands. */
  falseRefusals: number
  /** Number of admissions without a log entry, because the process was killed before it could write the entry. */
  unlogged: number
}

const LOG_BYTES = 64 * 1024 * 1024
/** Number of the first admission of a client. It was used when the client got its entry. */
const FIRST = 1

/** Lets several processes use one table for the same few clients, and checks all decisions. */
export async function proveContention(options: Options): Promise<Findings> {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'roster-prove-'))
  const rules = options.rules.map((rule) => ({ ...rule, period: '' }))
  const clients = 2 * options.keys
  const file = new RegionFile(join(folder, 'table'), JSON.stringify(rules), wordsFor(clients, rules))
  try {
    file.ensure()
    // Every client gets its entry before the processes begin, so that the numbers of its admissions are in one ring.
    let now = 0
    const windows = new SlidingWindows(openRegion(file.path), clients, rules, () => Math.floor((now = fineMs())))
    const first: Entry[] = []
    for (let key = 1; key <= options.keys; key++) {
      windows.admit(key, key)
      first.push({ key, admitted: true, number: FIRST, time: now }) // Time of the decision.
    }
    const logs = await run(folder, file.path, options, clients)
    return judge([first, ...logs.map(readLog)].flat(), rules)
  } finally {
    file.close()
    rmSync(folder, { recursive: true })
  }
}

async function run(folder: string, region: string, options: Options, clients: number): Promise<string[]> {
  const { processes, decisions = 0, kills = 0, rules, keys, seed } = options
  const random = new Random(seed)
  const logs: string[] = []
  const start = () => {
    const log = join(folder, `log${logs.length}`)
    writeFileSync(log, '')
    truncateSync(log, LOG_BYTES)
    logs.push(log)
    const share = decisions === 0 ? 0 : Math.ceil(decisions / processes)
    const text = JSON.stringify(rules.map((rule) => ({ ...rule, period: '' })))
    const values = [region, log, text, clients, keys, share, random.below(2 ** 31), processes].map(String)
    const command = [process.execPath, import.meta.path, ...values]
    return { words: openLog(log).words, child: Bun.spawn(command, { stdout: 'inherit', stderr: 'inherit' }) }
  }
  const running = Array.from({ length: processes }, start)
  for (let done = 0; done < kills; done++) {
    const index = random.below(processes)
    const { words, child } = running[index] as ReturnType<typeof start>
    // There is no timeout, because a busy machine starts processes slowly.
    while (words[0] === 0 && child.exitCode === null) await Bun.sleep(5)
    await Bun.sleep(random.below(120))
    child.kill('SIGKILL')
    await child.exited
    running[index] = start()
  }
  for (const { child } of running) {
    if (kills > 0) child.kill('SIGKILL')
    await child.exited
    if (kills === 0 && child.exitCode !== 0) throw new Error(`a process ended with ${child.exitCode}`)
  }
  return logs
}

interface Entry {
  key: number
  admitted: boolean
  number: number
  /** Time in ms, with a fraction. */
  time: number
}

/**
 * Number of words in an entry, and in the header, whose first word is the number of entries. Two words form one number of
 * `times`.
 */
const ENTRY_WORDS = 6

/** Maps a log that outlives its process. */
function openLog(path: string): { words: Int32Array; times: Float64Array } {
  const { buffer } = Bun.mmap(path, { shared: true })
  return { words: new Int32Array(buffer), times: new Float64Array(buffer) }
}

function readLog(path: string): Entry[] {
  const { words, times } = openLog(path)
  return Array.from({ length: words[0] as number }, (_, entry) => {
    const at = ENTRY_WORDS * (entry + 1)
    const [key, admitted, number] = words.subarray(at, at + 3) as unknown as number[]
    return { key, admitted: admitted === 1, number, time: times[at / 2 + 2] } as Entry
  })
}

/** Checks all decisions. The rules compare admission n with admission n - limit, so the order of the logs does not matter. */
function judge(entries: Entry[], rules: readonly Rule[]): Findings {
  const findings = { admitted: 0, refusalsChecked: 0, duplicates: 0, overAdmissions: 0, falseRefusals: 0, unlogged: 0 }
  const rings = new Map<number, Map<number, number>>()
  for (const { key, admitted, number, time } of entries) {
    if (!admitted) continue
    const ring = rings.get(key) ?? new Map<number, number>()
    rings.set(key, ring)
    if (ring.has(number)) findings.duplicates++
    ring.set(number, time)
    findings.admitted++
  }
  const ages = (ring: Map<number, number> | undefined, number: number, time: number) =>
    rules.map(({ limit }) => time - (ring?.get(number - limit) ?? Number.NEGATIVE_INFINITY))
  for (const ring of rings.values()) {
    findings.unlogged += Math.max(...ring.keys()) - Math.min(...ring.keys()) + 1 - ring.size
    for (const [number, time] of ring) if (!isRight(true, ages(ring, number, time), rules)) findings.overAdmissions++
  }
  for (const { key, admitted, number, time } of entries) {
    const ring = rings.get(key)
    // The time of an admission is unknown if it is not in a log.
    if (admitted || rules.some(({ limit }) => number - limit >= FIRST && !ring?.has(number - limit))) continue
    findings.refusalsChecked++
    if (!isRight(false, ages(ring, number, time), rules)) findings.falseRefusals++
  }
  return findings
}

/**
 * Uses the shared table, and logs every admission. Arguments: region, log, rules, number of clients in the table, number of keys,
 * number of decisions (0: until the process is killed), seed, and number of processes to wait for.
 */
function contend([path, log, rulesText, ...numbers]: string[]) {
  const [clients, keys, decisions, seed, together] = numbers.map(Number) as [number, number, number, number, number]
  const rules: Rule[] = JSON.parse(rulesText as string)
  const region = openRegion(path as string)
  const table = new Table(region.words, clients, Math.max(...rules.map(({ limit }) => limit)))
  const { words, times } = openLog(log as string)
  // Each key got its entry before the processes began.
  const slots = new Map<number, number>()
  for (let slot = 0; slot < clients; slot++) slots.set(region.words[table.entryOf(slot)] as number, slot)
  let key = 0
  const decided = { number: 0, now: 0 }
  const windows = new SlidingWindows(region, clients, rules, () => {
    // The decision reads the head twice, with equal results, so this is the number of the decision.
    decided.number = Atomics.load(region.words, table.entryOf(slots.get(key) as number) + HEAD)
    decided.now = fineMs()
    return Math.floor(decided.now)
  })
  const random = new Random(seed)
  const room = words.length / ENTRY_WORDS - 2
  Atomics.add(region.words, USER_WORD, 1)
  while (Atomics.load(region.words, USER_WORD) < together) Bun.sleepSync(1)
  for (let made = 0; (decisions === 0 || made < decisions) && (words[0] as number) < room; made++) {
    key = 1 + random.below(keys)
    const { admitted } = windows.admit(key, key)
    // Only one of 16 refusals is logged, so that the log has room for a long run.
    if (!admitted && made % 16 !== 0) continue
    const at = ENTRY_WORDS * ((words[0] as number) + 1)
    words.set([key, Number(admitted), decided.number], at)
    times[at / 2 + 2] = decided.now
    words[0] = (words[0] as number) + 1
  }
}

if (import.meta.main) contend(process.argv.slice(2))

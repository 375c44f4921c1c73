import { closeSync, existsSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SlidingWindows, wordsFor } from '../../src/admit/window.ts'
import type { Rule } from '../../src/model/limits.ts'
import { openRegion, RegionFile } from '../../src/os/region.ts'
import { Random } from '../support/random.ts'
import { fineMs } from './fineClock.ts'
import { isRight } from './limiterOracle.ts'

interface Options {
  rules: readonly Omit<Rule, 'period'>[]
  processes: number
  keys: number
  /** By all processes together; or as many as come before `kills` are done. */
  decisions?: number
  /** So many times a random process is killed, some time after its first decision, and replaced. */
  kills?: number
  seed: number
}

export interface Findings {
  admitted: number
  refusalsChecked: number
  /** Two admissions with one number. */
  duplicates: number
  /** Admissions that a rule forbids. */
  overAdmissions: number
  /** Refusals that no rule demands. */
  falseRefusals: number
  /** Admissions that no log has: those of processes killed in between. */
  unlogged: number
}

const LOG_BYTES = 64 * 1024 * 1024
/** An entry's first number was used up when it was taken. */
const FIRST = 1

/** Lets several processes ask one table for the same few clients, and judges all answers that they got. */
export async function proveContention(options: Options): Promise<Findings> {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'roster-prove-'))
  const rules = options.rules.map((rule) => ({ ...rule, period: '' }))
  const clients = 2 * options.keys
  const file = new RegionFile(join(folder, 'table'), JSON.stringify(rules), wordsFor(clients, rules))
  try {
    file.ensure()
    // Every client has its entry before they begin: what is judged goes by the numbers of one ring.
    let now = 0
    const windows = new SlidingWindows(openRegion(file.path), clients, rules, () => Math.floor((now = fineMs())))
    const first: Entry[] = []
    for (let key = 1; key <= options.keys; key++) {
      windows.admit(key, key)
      first.push({ key, admitted: true, number: FIRST, time: now }) // the moment that it was decided at
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
    const descriptor = openSync(log, 'w')
    ftruncateSync(descriptor, LOG_BYTES)
    closeSync(descriptor)
    logs.push(log)
    const share = decisions === 0 ? 0 : Math.ceil(decisions / processes)
    const text = JSON.stringify(rules.map((rule) => ({ ...rule, period: '' })))
    const values = [region, log, text, clients, keys, share, random.below(2 ** 31), processes].map(String)
    const command = [process.execPath, join(import.meta.dir, 'contender.ts'), ...values]
    return { log, child: Bun.spawn(command, { stdout: 'inherit', stderr: 'inherit' }) }
  }
  const running = Array.from({ length: processes }, start)
  for (let done = 0; done < kills; done++) {
    const index = random.below(processes)
    const { log, child } = running[index] as ReturnType<typeof start>
    // However long it takes to start on a busy machine.
    while (lengthOf(log) === 0 && child.exitCode === null) await Bun.sleep(5)
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
  /** In milliseconds, not cut. */
  time: number
}

/** An entry, and what stands before them all. */
const ENTRY_WORDS = 6

/** How many entries a log has. */
function lengthOf(path: string): number {
  const head = new Int32Array(1)
  const descriptor = openSync(path, 'r')
  readSync(descriptor, head, 0, head.byteLength, 0)
  closeSync(descriptor)
  return head[0] as number
}

/** Of a log of many megabytes only what was written. */
function readLog(path: string): Entry[] {
  const times = new Float64Array((ENTRY_WORDS / 2) * lengthOf(path))
  const descriptor = openSync(path, 'r')
  readSync(descriptor, times, 0, times.byteLength, ENTRY_WORDS * Int32Array.BYTES_PER_ELEMENT)
  closeSync(descriptor)
  const words = new Int32Array(times.buffer)
  return Array.from({ length: (2 * times.length) / ENTRY_WORDS }, (_, entry) => {
    const at = ENTRY_WORDS * entry
    const [key, admitted, number] = words.subarray(at, at + 3) as unknown as number[]
    return { key, admitted: admitted === 1, number, time: times[at / 2 + 2] } as Entry
  })
}

/** Judges by the numbers of the admissions: rule and refusal speak of number n and number n - limit, no matter when. */
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
    // Where an admission has no log, its time is not known.
    if (admitted || rules.some(({ limit }) => number - limit >= FIRST && !ring?.has(number - limit))) continue
    findings.refusalsChecked++
    if (!isRight(false, ages(ring, number, time), rules)) findings.falseRefusals++
  }
  return findings
}

// CPU time and memory of processes, from Linux's /proc. On other systems every result is null.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** CPU time of some processes since their start. */
export interface CpuReading {
  /** CPU time by process and thread, in ns. */
  readonly threads: ReadonlyMap<string, number>
  /** CPU time of ended children by their parent, in ns; a multiple of the tick, which is 10 ms. */
  readonly endedNs: ReadonlyMap<string, number>
}

const isLinux = process.platform === 'linux'
let tickNs = 0

/** Reads the CPU time of these processes and their descendants. */
export function readCpu(roots: readonly number[]): CpuReading | null {
  if (!isLinux) return null
  tickNs ||= 1e9 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  const threads = new Map<string, number>()
  const endedNs = new Map<string, number>()
  for (const pid of descendants(roots))
    orGone(() => {
      const fields = statFields(pid)
      endedNs.set(String(pid), (Number(fields[13]) + Number(fields[14])) * tickNs)
      for (const thread of readdirSync(`/proc/${pid}/task`))
        orGone(() => threads.set(`${pid}/${thread}`, Number(read(pid, `task/${thread}/schedstat`).split(' ')[0])))
    })
  return { threads, endedNs }
}

/**
 * Returns the CPU time between two readings, user and system, in µs. Threads that ended while their process lives on do not
 * count.
 */
export function cpuUsBetween(before: CpuReading | null, after: CpuReading | null): number | null {
  if (!before || !after) return null
  let ns = 0
  for (const [thread, ran] of after.threads) ns += ran - (before.threads.get(thread) ?? 0)
  for (const [pid, ended] of after.endedNs) ns += ended - (before.endedNs.get(pid) ?? ended)
  // The whole CPU time of a process that ended in between is in its parent's time of ended children.
  const gone = [...before.endedNs.keys()].filter((pid) => !after.endedNs.has(pid))
  for (const [thread, ran] of before.threads) if (gone.includes(thread.split('/')[0] as string)) ns -= ran
  return Math.max(ns, 0) / 1_000
}

/** Returns the resident memory of the largest of these processes and their descendants, in MB. */
export function largestRssMb(roots: readonly number[]): number | null {
  return isLinux ? Math.max(0, ...descendants(roots).map((pid) => rssMb(pid) ?? 0)) : null
}

/** Returns the resident memory of one process, in MB; null if it has ended, or cannot be read. */
export function rssMb(pid: number): number | null {
  return isLinux ? orGone(() => Number(/^VmRSS:\s+(\d+) kB/m.exec(read(pid, 'status'))?.[1]) * 1.024e-3) : null
}

/**
 * Returns the memory of these processes and their descendants, in MB. Each process counts a part of the memory it shares (PSS).
 */
export function pssMb(roots: readonly number[]): number | null {
  if (!isLinux) return null
  const sizes = descendants(roots).map((pid) => orGone(() => Number(/^Pss:\s+(\d+) kB/m.exec(read(pid, 'smaps_rollup'))?.[1])))
  return sizes.reduce<number>((sum, kb) => sum + (kb || 0), 0) * 1.024e-3
}

function descendants(roots: readonly number[]): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc'))
    if (Number(name) > 0) orGone(() => parents.set(Number(name), Number(statFields(Number(name))[1])))
  const found = new Set(roots)
  // Repeats until no process is added, because a parent may have a higher number than its child.
  for (let size = 0; size < found.size; ) {
    size = found.size
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid)
  }
  return [...found]
}

/** Returns the fields of `stat` from the state on; the name before them may contain spaces and brackets. */
function statFields(pid: number): string[] {
  const stat = read(pid, 'stat')
  return stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
}

function read(pid: number, file: string): string {
  return readFileSync(`/proc/${pid}/${file}`, 'utf8')
}

/** Runs `look`; returns null if the process has ended in between. */
function orGone<T>(look: () => T): T | null {
  try {
    return look()
  } catch {
    return null
  }
}

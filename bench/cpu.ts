// What processes have cost, from Linux's /proc. Elsewhere nothing is measured, and every answer is null.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** The CPU time that some processes had used at one moment. */
export interface CpuReading {
  /** Of each thread that lived, by process and thread, to the nanosecond. */
  readonly threads: ReadonlyMap<string, number>
  /** Of the children that have ended and were waited for, by process; to the tick, which is 10 ms. */
  readonly endedNs: ReadonlyMap<string, number>
}

const isLinux = process.platform === 'linux'
let tickNs = 0

/** Reads these processes and all that descend from them. */
export function readCpu(roots: readonly number[]): CpuReading | null {
  if (!isLinux) return null
  const threads = new Map<string, number>()
  const endedNs = new Map<string, number>()
  for (const pid of descendants(roots))
    orGone(() => {
      endedNs.set(String(pid), childrenNs(pid))
      for (const thread of readdirSync(`/proc/${pid}/task`)) orGone(() => threads.set(`${pid}/${thread}`, ranNs(pid, thread)))
    })
  return { threads, endedNs }
}

/**
 * CPU time between two readings, user and system, in µs. A process that ended in between counts in full where its
 * parent is among those read; a thread that ended while its process lives on does not.
 */
export function cpuUsBetween(before: CpuReading | null, after: CpuReading | null): number | null {
  if (!before || !after) return null
  let ns = 0
  for (const [thread, ran] of after.threads) ns += ran - (before.threads.get(thread) ?? 0)
  for (const [pid, ended] of after.endedNs) ns += ended - (before.endedNs.get(pid) ?? ended)
  const gone = [...before.endedNs.keys()].filter((pid) => !after.endedNs.has(pid))
  for (const [thread, ran] of before.threads) if (gone.includes(thread.split('/')[0] as string)) ns -= ran
  return Math.max(ns, 0) / 1_000
}

/** Resident memory of the largest of these processes and their descendants, in MB of 1,000,000 bytes. */
export function largestRssMb(roots: readonly number[]): number | null {
  if (!isLinux) return null
  return Math.max(0, ...descendants(roots).map((pid) => rssMb(pid) ?? 0))
}

/** Resident memory of one process, in MB; null: it is gone, or cannot be seen. */
export function rssMb(pid: number): number | null {
  if (!isLinux) return null
  return orGone(() => Number(/^VmRSS:\s+(\d+) kB/m.exec(read(pid, 'status'))?.[1]) * 1.024e-3)
}

/** The processes themselves and all that they have started. */
function descendants(roots: readonly number[]): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (pid > 0) orGone(() => parents.set(pid, Number(statFields(pid)[1])))
  }
  const found = new Set(roots)
  // A parent may have the higher number, so until nothing is added.
  for (let size = 0; size < found.size; ) {
    size = found.size
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid)
  }
  return [...found]
}

function ranNs(pid: number, thread: string): number {
  return Number(read(pid, `task/${thread}/schedstat`).split(' ')[0])
}

/** `cutime` and `cstime`. */
function childrenNs(pid: number): number {
  tickNs ||= 1e9 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  const fields = statFields(pid)
  return (Number(fields[13]) + Number(fields[14])) * tickNs
}

/** The fields of `stat` from the state on; the name before may have spaces and brackets. */
function statFields(pid: number): string[] {
  return read(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ')
}

function read(pid: number, file: string): string {
  return readFileSync(`/proc/${pid}/${file}`, 'utf8')
}

/** Processes end between two looks. */
function orGone<T>(look: () => T): T | null {
  try {
    return look()
  } catch {
    return null
  }
}

import { readdirSync } from 'node:fs'
import { rssMb } from '../../bench/cpu.ts'
import { workersOf } from './process.ts'

/** Resources of the processes of a server. Linux. */
export interface Resources {
  /** Resident memory of each process, the supervisor's first. */
  readonly rssMb: readonly number[]
  readonly descriptors: readonly number[]
}

export function resourcesOf(pids: readonly number[]): Resources {
  return { rssMb: pids.map((pid) => rssMb(pid) ?? 0), descriptors: pids.map(descriptorsOf) }
}

/** Returns the processes of a server: its supervisor and its workers. */
export function processesOf(pid: number): number[] {
  return [pid, ...workersOf(pid)]
}

/** Returns the number of open descriptors; 0 if the process has ended. */
function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

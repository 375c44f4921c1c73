import { readdirSync } from 'node:fs'
import { rssMb } from '../../bench/cpu.ts'
import { workersOf } from './process.ts'

/** What the processes of a server hold. Linux. */
export interface Resources {
  /** Of each process, the supervisor's first. */
  readonly rssMb: readonly number[]
  readonly descriptors: readonly number[]
}

export function resourcesOf(pids: readonly number[]): Resources {
  return { rssMb: pids.map((pid) => rssMb(pid) ?? 0), descriptors: pids.map(descriptorsOf) }
}

/** A server's supervisor and its workers. */
export function processesOf(pid: number): number[] {
  return [pid, ...workersOf(pid)]
}

/** 0 of a process that has ended. */
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

import { readdirSync, readFileSync } from 'node:fs'

/** Resources of a process. */
interface ProcessUse {
  /** Resident memory. */
  readonly bytes?: number
  /** Descriptors. */
  readonly open?: number
}

/** As Linux says it; nothing of a process that has ended, and on other systems. proc(5) */
export function processUse(pid: number | 'self'): ProcessUse {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    if (kilobytes === undefined) return {}
    return { bytes: Number(kilobytes) * 1_024, open: readdirSync(`/proc/${pid}/fd`).length }
  } catch {
    return {}
  }
}

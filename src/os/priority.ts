// Process priority: makes lists in the embedded PostgreSQL yield the processors to other requests.
import { writeFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/**
 * Amount by which the priority is lowered: a list gets about a tenth of the processor time that this process gets. With a smaller
 * share, lists might never end. setpriority(2)
 */
const LOW = 10
const LOWEST = 19

/**
 * Lowers the priority of a process: to `LOW` below the priority of this process, or to the lowest. Has no effect if the process
 * has ended, or belongs to another user.
 */
export function lowerPriority(pid: number): void {
  // Lowers the priority of the process's session, too. Outside of containers, Linux shares processors among sessions, and the
  // priority of a process counts only within its session.
  const lowerProcess = () => setPriority(pid, Math.min(getPriority() + LOW, LOWEST))
  const lowerGroup = () => writeFileSync(`/proc/${pid}/autogroup`, String(LOW)) // see sched(7)
  for (const lower of [lowerProcess, lowerGroup])
    try {
      lower()
    } catch {
      // The priority stays as it is.
    }
}

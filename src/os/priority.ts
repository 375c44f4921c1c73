// Process priority: makes lists in the embedded PostgreSQL yield the processors to other requests.
import { writeFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/**
 * Difference of priority: about a tenth of the processor time of this process. With less, lists might never end. setpriority(2)
 */
const LOW = 10
const LOWEST = 19

/**
 * Gives a process a lower priority than this one, which may have been started with a low one. Has no effect if the process has
 * ended, or belongs to another user.
 */
export function lowerPriority(pid: number): void {
  // The session's group, too: outside of containers Linux shares processors among sessions, and the priority of a process counts
  // only within its own.
  const lowerProcess = () => setPriority(pid, Math.min(getPriority() + LOW, LOWEST))
  const lowerGroup = () => writeFileSync(`/proc/${pid}/autogroup`, String(LOW)) // sched(7)
  for (const lower of [lowerProcess, lowerGroup])
    try {
      lower()
    } catch {
      // The session keeps its priority.
    }
}

// Process priority: makes lists in the embedded PostgreSQL yield the processors to other requests.
import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** About a tenth of the processor time of the usual priority. With less, lists might never end. setpriority(2) */
const LOW = 10

/** Lowers the priority of a process. Has no effect if the process has ended, or belongs to another user. */
export function lowerPriority(pid: number): void {
  // The session's group, too: outside of containers Linux shares processors among sessions, and the priority of a process counts
  // only within its own.
  const lowerGroup = () => writeFileSync(`/proc/${pid}/autogroup`, String(LOW)) // sched(7)
  for (const lower of [() => setPriority(pid, LOW), lowerGroup])
    try {
      lower()
    } catch {
      // The session keeps its priority.
    }
}

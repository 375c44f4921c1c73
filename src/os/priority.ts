// Process priority: lets lists in the embedded PostgreSQL leave the processors to other requests.
import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** A tenth of a processor beside the usual priority. Not less, or lists might never end. setpriority(2) */
const LOW = 10

/** Lowers the priority of a process. One that has ended, or that another user runs, stays as it is. */
export function lowerPriority(pid: number): void {
  // The group too: outside of containers Linux shares the processors among sessions, and a process competes in its own alone.
  const lowerGroup = () => writeFileSync(`/proc/${pid}/autogroup`, String(LOW)) // sched(7)
  for (const lower of [() => setPriority(pid, LOW), lowerGroup])
    try {
      lower()
    } catch {
      // It competes as before.
    }
}

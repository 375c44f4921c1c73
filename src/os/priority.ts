// Process priority: lets lists in the embedded PostgreSQL leave the processors to other requests.
import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** A tenth of a processor beside the usual priority. Not less, or lists might never end. setpriority(2) */
const LOW = 10

/** Lowers the priority of a process. One that has ended, or that another user runs, stays as it is. */
export function lowerPriority(pid: number): void {
  const ways = [
    () => setPriority(pid, LOW),
    // Where Linux shares the processors among sessions, as it does outside of containers, a process competes in its own alone:
    // sched(7).
    () => writeFileSync(`/proc/${pid}/autogroup`, String(LOW)),
  ]
  for (const lower of ways)
    try {
      lower()
    } catch {
      // It competes as before.
    }
}

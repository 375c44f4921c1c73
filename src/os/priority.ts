import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Of -20 to 19: a tenth of a processor beside what has the usual priority. Not less, or lists might never end. setpriority(2) */
const LOW = 10

/** From now on all else on this machine goes before this process. One that has gone, or is not ours, stays as it is. */
export function lowerPriority(pid: number): void {
  ignoringErrors(() => setPriority(pid, LOW))
  // Where Linux shares the processors among sessions, as it does outside of containers, a process competes in its own alone: sched(7).
  ignoringErrors(() => writeFileSync(`/proc/${pid}/autogroup`, String(LOW)))
}

function ignoringErrors(work: () => void) {
  try {
    work()
  } catch {
    // It competes as before.
  }
}

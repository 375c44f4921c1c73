import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const made = new Set<string>()

/** A folder for shared memory; it goes with the run at the latest. */
export function temporaryMemory(): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'roster-test-'))
  made.add(folder)
  return folder
}

/** For the end of the run, which Bun's tests do not tell by an `exit` of the process. */
export function removeMemories(): void {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
}

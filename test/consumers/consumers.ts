import { join } from 'node:path'
import { installLocked, isInstalled } from '../support/installLocked.ts'

/** Folder of programs that read Roster's documents, with their own versions and lockfile. */
export const CONSUMERS = import.meta.dir

/** Why tests that need those programs are left out. */
export const WITHOUT_CONSUMERS = 'test/consumers has no packages: CI_REQUIRES_CONSUMERS=1 npm test installs them'

/** True if the programs are installed; with CI_REQUIRES_CONSUMERS this installs them. @throws Error if npm fails */
export function hasConsumers(): boolean {
  if (process.env.CI_REQUIRES_CONSUMERS) installLocked(CONSUMERS)
  return isInstalled(CONSUMERS)
}

/** Returns the file of one of their command lines, to be run by Node: `tsc`, `openapi-typescript`, `redocly`. */
export function consumerProgram(name: string): string {
  return join(CONSUMERS, 'node_modules/.bin', name)
}

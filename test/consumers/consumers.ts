import { join } from 'node:path'
import { installLocked, isInstalled } from '../support/installLocked.ts'

/** Programs that read what Roster says of itself, in versions and a lockfile of their own. */
export const CONSUMERS = import.meta.dir

/** Why tests that need those programs are left out, where they are. */
export const WITHOUT_CONSUMERS = 'test/consumers has no packages: CI_REQUIRES_CONSUMERS=1 npm test installs them'

/** Whether the programs are there; where CI_REQUIRES_CONSUMERS is set they are installed. @throws Error when npm fails */
export function hasConsumers(): boolean {
  if (process.env.CI_REQUIRES_CONSUMERS) installLocked(CONSUMERS)
  return isInstalled(CONSUMERS)
}

/** The file of one of their command lines, to be run by Node: `tsc`, `openapi-typescript`, `redocly`. */
export function consumerProgram(name: string): string {
  return join(CONSUMERS, 'node_modules/.bin', name)
}

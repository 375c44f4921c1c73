import { installLocked } from '../../test/support/installLocked.ts'

export const FOLDER = import.meta.dir

/** Installs the peers' packages unless those of the lockfile are there. @throws Error when npm fails */
export function installPeers(): void {
  installLocked(FOLDER)
}

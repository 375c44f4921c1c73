import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const FOLDER = import.meta.dir
const LOCKFILE = join(FOLDER, 'package-lock.json')
/** Written last: the checksum of the lockfile whose packages are there. */
const MARKER = join(FOLDER, 'node_modules/.installed')

/** Installs the peers' packages unless those of the lockfile are there. @throws Error when npm fails */
export function installPeers(): void {
  const checksum = createHash('sha256').update(readFileSync(LOCKFILE)).digest('hex')
  if (readOrEmpty(MARKER) === checksum) return
  console.error('installing the peers into bench/peers (once) ...')
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, signal, error } = spawnSync('npm', args, { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`the peers cannot be installed: npm ci ended with ${error ?? signal ?? status}`)
  writeFileSync(MARKER, checksum)
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

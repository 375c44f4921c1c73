import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { exclusively } from '../../src/os/libc.ts'
import { readOrEmpty } from './process.ts'

const ROOT = join(import.meta.dir, '../..')

/** True if all packages of the folder's lockfile are installed. */
export function isInstalled(folder: string): boolean {
  return readOrEmpty(markerOf(folder)) === checksumOf(folder)
}

/** Installs the packages of the folder's lockfile, unless they are installed. @throws Error if npm fails */
export function installLocked(folder: string): void {
  if (isInstalled(folder)) return
  // Test files run at the same time: one installs, the others wait for it.
  const lock = openSync(join(folder, '.installing'), 'a')
  try {
    exclusively(lock, () => isInstalled(folder) || install(folder))
  } finally {
    closeSync(lock)
  }
}

function install(folder: string): void {
  const name = relative(ROOT, folder)
  console.error(`installing the packages of ${name} (once) ...`)
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, signal, error } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`${name} cannot be installed: npm ci ended with ${error ?? signal ?? status}`)
  writeFileSync(markerOf(folder), checksumOf(folder))
}

/** Returns the file that is written last: the checksum of the lockfile whose packages are installed. */
function markerOf(folder: string): string {
  return join(folder, 'node_modules/.installed')
}

function checksumOf(folder: string): string {
  return createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')
}

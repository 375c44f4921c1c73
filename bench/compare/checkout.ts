import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Files of a commit in their own folder, ready to run. */
export interface Checkout {
  readonly root: string
  readonly commit: string
  remove(): void
}

/** Thrown if the commit cannot be checked out. */
export class CheckoutError extends Error {}

/**
 * Unpacks the commit that `ref` names in the repository at `root` into a temporary folder. Its dependencies are those of `root`
 * if both have the same lockfile, else they are installed. Changes nothing in the repository. @throws CheckoutError
 */
export function checkOut(root: string, ref: string): Checkout {
  const commit = run(['git', 'rev-parse', '--verify', '--short', '--end-of-options', `${ref}^{commit}`], root)
    .toString()
    .trim()
  const folder = mkdtempSync(join(tmpdir(), 'roster-compare-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    run(['tar', '-x', '-C', folder], root, run(['git', 'archive', '--format=tar', commit], root))
    provideDependencies(root, folder)
    return { root: folder, commit, remove }
  } catch (error) {
    remove()
    throw error
  }
}

function provideDependencies(root: string, folder: string) {
  const lock = (from: string) => readFileSync(join(from, 'package-lock.json'), 'utf8')
  if (lock(root) === lock(folder)) return symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  console.log('its dependencies are others: installing them ...')
  run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], folder)
}

function run(command: string[], cwd: string, stdin?: Buffer): Buffer {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd, ...(stdin ? { stdin } : {}) })
  if (exitCode === 0) return stdout
  throw new CheckoutError(`${command.slice(0, 2).join(' ')} ended with ${exitCode}: ${stderr.toString().trim()}`)
}

// The folder of the example: what is in it survives until `--fresh`.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { tryLock } from '../../src/os/libc.ts'
import { ROLES_PATH } from '../support/rolesFile.ts'
import { ExampleError, type Options } from './options.ts'

const LOCK = 'example.lock'
/** Says whose the folder is, and whether its rows are all there. */
const STATE = 'example.txt'
const FILLING = 'npm run example is filling this folder. If it was interrupted, its next start begins anew.\n'
const COMPLETE = 'The data of npm run example, which deletes this folder if you add -- --fresh.\n'

export interface Folder {
  readonly path: string
  readonly rolesFile: string
  /** File with the key that the server makes. */
  readonly keyFile: string
  /** True if there are no rows yet. */
  readonly isEmpty: boolean
  /** Notes that the rows are there, so that the next start keeps them. */
  complete(): void
}

/**
 * Takes the folder until the process ends. Deletes what is in it if that is wanted, or an earlier start was interrupted while it
 * filled the folder. @throws ExampleError if the folder has other things, or another example uses it
 */
export function openFolder({ folder, isFresh }: Options): Folder {
  const path = resolve(folder)
  mkdirSync(path, { recursive: true })
  const isOwn = existsSync(join(path, STATE))
  const names = readdirSync(path).filter((name) => name !== LOCK)
  if (!isOwn && names.length > 0)
    throw new ExampleError(`${path} has files that are not of the example: choose another folder for EXAMPLE_DIR`)
  if (tryLock(join(path, LOCK)) === null)
    throw new ExampleError('the example runs already, in another terminal: open it, or stop it there with Ctrl+C')

  const rolesFile = join(path, 'roles.txt')
  const isComplete = isOwn && readFileSync(join(path, STATE), 'utf8') === COMPLETE
  const isEmpty = isFresh || !isComplete
  if (isEmpty) {
    for (const name of names) rmSync(join(path, name), { recursive: true, force: true })
    writeFileSync(join(path, STATE), FILLING)
    // A copy, so that whoever tries other rights changes no file of the project.
    cpSync(ROLES_PATH, rolesFile)
  }
  return {
    path,
    rolesFile,
    keyFile: join(path, 'development.key'),
    isEmpty,
    complete: () => writeFileSync(join(path, STATE), COMPLETE),
  }
}

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tryLock } from '../../src/os/libc.ts'

/** Where the programs of requirements.txt lie, python among them; or why there are none. */
export type PythonPrograms = { readonly bin: string; readonly lack: null } | { readonly bin: null; readonly lack: string }

const OWN_FOLDER = join(import.meta.dir, '.venv')
const OWN_REQUIREMENTS = join(import.meta.dir, 'requirements.txt')
const LOOK_AGAIN_MS = 100
const UV = 'uv==0.13.9'
const HINT = '; in Debian: apt-get install python3-venv'

/**
 * The Python programs that tests run, of a virtual environment that is made when it is first needed, and again when the
 * requirements, the Python or the place have changed. Test files that need it at the same time wait for each other.
 */
export async function pythonPrograms(folder = OWN_FOLDER, requirements = OWN_REQUIREMENTS): Promise<PythonPrograms> {
  const python = Bun.which('python3')
  if (python === null) return { bin: null, lack: `there is no python3 in the path${HINT}` }
  const madeOf = [folder, await versionOf(python), readFileSync(requirements, 'utf8')].join('\n')
  if (isMadeOf(folder, madeOf)) return found(folder)
  const lock = await waitForLock(`${folder}.lock`)
  try {
    if (!isMadeOf(folder, madeOf)) await make(python, folder, requirements, madeOf)
    return found(folder)
  } catch (error) {
    return { bin: null, lack: (error as Error).message }
  } finally {
    lock.release()
  }
}

function found(folder: string): PythonPrograms {
  return { bin: join(folder, 'bin'), lack: null }
}

async function versionOf(python: string): Promise<string> {
  return (await run([python, '-c', 'import sys; print(sys.base_prefix, sys.version)'])).trim()
}

/** Written last, so that an environment that was only half made is made again. */
const markOf = (folder: string) => join(folder, 'made-of')

function isMadeOf(folder: string, madeOf: string): boolean {
  return existsSync(markOf(folder)) && readFileSync(markOf(folder), 'utf8') === madeOf
}

async function make(python: string, folder: string, requirements: string, madeOf: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  await run([python, '-m', 'venv', folder], HINT)
  const pip = [join(folder, 'bin/python'), '-m', 'pip', '--disable-pip-version-check', '--no-input', '--quiet']
  // Most of what is installed is never imported: what is, Python compiles then.
  const install = [...pip, 'install', '--no-compile']
  // It takes a third of pip's time, but not pip's settings, such as another index.
  await run([...install, UV])
  const uv = [join(folder, 'bin/uv'), 'pip', 'install', '--quiet', '--python', join(folder, 'bin/python')]
  await run([...uv, '-r', requirements]).catch(() => run([...install, '-r', requirements]))
  writeFileSync(markOf(folder), madeOf)
}

async function waitForLock(path: string): Promise<{ release(): void }> {
  for (;;) {
    const lock = tryLock(path)
    if (lock) return lock
    await Bun.sleep(LOOK_AGAIN_MS)
  }
}

const COMPLAINT_LENGTH_MAX = 500

/** What the command prints. @throws Error with the end of what it printed and the hint, if it fails */
async function run(command: string[], hint = ''): Promise<string> {
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [output, complaint] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (child.exitCode === 0) return output
  const said = `${output} ${complaint}`.replace(/\s+/g, ' ').trim()
  throw new Error(`${command.slice(0, 3).join(' ')} failed: ${said.slice(-COMPLAINT_LENGTH_MAX)}${hint}`)
}

import { spyOn } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { configCommand } from '../../src/cli/config.ts'
import { exportCommand } from '../../src/cli/export.ts'
import { generateCommand } from '../../src/cli/generate.ts'
import { hooksCommand } from '../../src/cli/hooks.ts'
import { importCommand } from '../../src/cli/import.ts'
import { journalFolder } from '../../src/cli/importJournal.ts'
import { keysCommand } from '../../src/cli/keys.ts'
import { migrateCommand } from '../../src/cli/migrate.ts'
import { rolesCommand } from '../../src/cli/roles.ts'
import { runCommandLine } from '../../src/cli/run.ts'
import { seedCommand } from '../../src/cli/seed.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import { effectiveSettings } from '../../src/config/settingSources.ts'
import { temporaryFolder } from '../support/process.ts'

const ROOT = join(import.meta.dir, '../..')
/** The user's data folder of commands that are not given another. */
const DATA_HOME = temporaryFolder().path

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command line in a new process, with only these settings in its environment. */
export async function roster(words: readonly string[], settings: Record<string, string> = {}, stdin = ''): Promise<Ended> {
  const child = Bun.spawn([process.execPath, '--no-env-file', 'src/main.ts', ...words], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', XDG_DATA_HOME: DATA_HOME, ...settings },
    stdin: Buffer.from(stdin),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, stdout, stderr }
}

/** Writes each text to a new file of a folder, and returns its path. */
export function filesIn(folder: string): (text: string | Uint8Array, end?: string) => string {
  let files = 0
  return (text, end = 'csv') => {
    const path = join(folder, `rows${++files}.${end}`)
    writeFileSync(path, text)
    return path
  }
}

type Settings = Readonly<Record<string, string>>
type Read = () => Config

const COMMANDS: Record<string, (read: Read, settings: Settings) => Command> = {
  config: (read, settings) => configCommand(() => effectiveSettings(settings, [], new Set(Object.keys(settings))), read),
  export: (read, { ROSTER_KEY }) => exportCommand(ROSTER_KEY, read),
  generate: (read, { ENTITIES_DIR: entitiesDir = null, ROLES_FILE: rolesFile = null }) =>
    generateCommand(read, { entitiesDir, rolesFile }),
  hooks: hooksCommand,
  import: (read, { ROSTER_KEY: key, ENTITIES_DIR: entitiesDir = null, XDG_DATA_HOME = DATA_HOME }) =>
    importCommand({ key, entitiesDir, journals: journalFolder({ XDG_DATA_HOME }) }, read),
  keys: keysCommand,
  migrate: migrateCommand,
  roles: (read, { ENTITIES_DIR = null, ROLES_FILE = null }) =>
    rolesCommand(read, { entitiesDir: ENTITIES_DIR, rolesFile: ROLES_FILE }),
  seed: seedCommand,
}

/** Runs a command in this process, and returns what it prints. @throws Error if the command fails */
export async function outputOf(settings: Settings, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await rosterHere(words, settings)
  if (code !== 0) throw new Error(`ended with ${code}:\n${stdout}${stderr}`)
  return stdout
}

/** Runs a command in this process, which is quicker, with only these settings; one at a time. `export` prints into a file. */
export async function rosterHere(words: readonly string[], settings: Settings = {}): Promise<Ended> {
  const [name = '', ...own] = words
  const command = COMMANDS[name]?.(() => readConfig(settings), settings) as Command
  const path = name === 'export' && !own.includes('--output') ? join(temporaryFolder().path, 'rows') : null
  if (path !== null) own.push('--output', path)
  const written = { stdout: '', stderr: '' }
  const spies = [
    spyOn(Bun, 'write').mockImplementation((async (_: unknown, text: string) => (written.stdout += text).length) as never),
    spyOn(process.stdout, 'write').mockImplementation((text) => (written.stdout += text) !== ''),
    spyOn(process.stderr, 'write').mockImplementation((text) => (written.stderr += text) !== ''),
    spyOn(console, 'error').mockImplementation((text) => void (written.stderr += `${text}\n`)),
    // A process ends with its command.
    spyOn(process, 'once').mockImplementation(() => process),
  ]
  try {
    const code = await runCommandLine(new Command('roster').addCommand(command), [name, ...own])
    if (path !== null && existsSync(path)) written.stdout += readFileSync(path, 'utf8')
    return { code, ...written }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

// PostgreSQL's own tools, such as those of Debian's package `postgresql`.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Folder in which Debian's packages put each version, with `bin` and the rest. */
const VERSIONS = '/usr/lib/postgresql'
const PROGRAMS = ['postgres', 'initdb', 'createdb', 'dropdb', 'pg_dump', 'pg_restore', 'psql']

/** Folder of a PostgreSQL with tools for backups, of the latest version; null if there is none. */
export const postgresWithTools = newest()

function newest(): string | null {
  if (!existsSync(VERSIONS)) return null
  const folders = readdirSync(VERSIONS)
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join(VERSIONS, version))
  return folders.find((folder) => PROGRAMS.every((program) => existsSync(join(folder, 'bin', program)))) ?? null
}

/** Runs one of the tools to its end. @throws Error with its output if it fails */
export function postgresTool(program: string, ...words: string[]): Promise<string> {
  return outputOf([join(postgresWithTools as string, 'bin', program), ...words])
}

/**
 * Runs lines of a shell, in which the tools are in the path. The first failed command ends them. @throws Error with the output if
 * a command fails
 */
export function shellWithPostgresTools(lines: string): Promise<string> {
  const path = `${join(postgresWithTools as string, 'bin')}:${process.env.PATH}`
  return outputOf(['bash', '-euo', 'pipefail', '-c', lines], { ...process.env, PATH: path })
}

async function outputOf(command: string[], env = process.env): Promise<string> {
  const child = Bun.spawn(command, { env, stdout: 'pipe', stderr: 'pipe' })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (code !== 0) throw new Error(`${command.at(-1)} ended with ${code}: ${out}${err}`)
  return out
}

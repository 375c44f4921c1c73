import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Where Debian's packages put each version, with `bin` and the rest. */
const VERSIONS = '/usr/lib/postgresql'

/** A PostgreSQL that brings the tools for backups, as Debian's package `postgresql` does; null where there is none. */
export const withTools = newest()

function newest(): string | null {
  if (!existsSync(VERSIONS)) return null
  const folders = readdirSync(VERSIONS)
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join(VERSIONS, version))
  const isWhole = (folder: string) =>
    ['postgres', 'initdb', 'pg_dump', 'pg_restore', 'psql'].every((program) => existsSync(join(folder, 'bin', program)))
  return folders.find(isWhole) ?? null
}

/** Runs one of the tools to its end. @throws Error with what it has printed, where it fails */
export async function tool(program: string, ...words: string[]): Promise<string> {
  const child = Bun.spawn([join(withTools as string, 'bin', program), ...words], { stdout: 'pipe', stderr: 'pipe' })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${out}${err}`)
  return out
}

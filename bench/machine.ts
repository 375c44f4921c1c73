import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon/package.json'
import postgres from 'postgres'
import { version } from '../package.json'
import type { Results } from './results.ts'

const ROOT = join(import.meta.dir, '..')

export function describeMachine(): Results['machine'] {
  return {
    cpu: cpus()[0]?.model.trim() || 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1e9),
    os: `${type()} ${release()}`,
  }
}

/** Reads the versions of all programs that take part in the bench, by name. */
export async function readVersions(databaseUrl: string): Promise<Record<string, string>> {
  const sql = postgres(databaseUrl, { max: 1 })
  const [row] = await sql`select split_part(current_setting('server_version'), ' ', 1) as version`
  await sql.end()
  return { Roster: version, Bun: Bun.version, Node: nodeVersion(), PostgreSQL: row?.version, autocannon: autocannon.version }
}

export function nodeVersion(): string {
  return outputOf(['node', '--version']).replace(/^v/, '')
}

/** Returns the commit of the source, with `+` if the checkout has changes; `unknown` outside of a clone. */
export function readCommit(): string {
  const commit = outputOf(['git', 'rev-parse', '--short', 'HEAD'])
  if (!commit) return 'unknown'
  return outputOf(['git', 'status', '--porcelain']) ? `${commit}+` : commit
}

function outputOf(command: string[]): string {
  try {
    return Bun.spawnSync(command, { cwd: ROOT, stderr: 'ignore' }).stdout.toString().trim()
  } catch {
    return '' // the program is not installed
  }
}

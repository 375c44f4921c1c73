import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, untilListening } from './process.ts'

export interface RunningPgBouncer {
  /** Address of the same database through PgBouncer. */
  readonly url: string
  stop(): Promise<void>
}

/** Debian's package installs it outside of the path of ordinary users. */
const PROGRAM = Bun.which('pgbouncer') ?? Bun.which('pgbouncer', { PATH: '/usr/sbin' })

/** True if the machine has a `pgbouncer`. */
export const hasPgBouncer = PROGRAM !== null

/**
 * Starts a PgBouncer in transaction mode for all databases of the server at `databaseUrl`, with at most `poolSize` connections to
 * each database.
 */
export async function startPgBouncer(databaseUrl: string, poolSize: number): Promise<RunningPgBouncer> {
  const { hostname, port, username, password } = new URL(databaseUrl)
  // PgBouncer changes from root to another user, who must be able to read this folder.
  const folder = mkdtempSync(join(tmpdir(), 'roster-pgbouncer-'))
  chmodSync(folder, 0o755)
  const file = join(folder, 'pgbouncer.ini')
  const listenPort = freePort()
  const user = process.getuid?.() === 0 ? ['user = nobody'] : []
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${port} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${listenPort}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${poolSize}`,
    'ignore_startup_parameters = statement_timeout,jit',
    ...user,
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const program = Bun.spawn([PROGRAM as string, '-q', file], { stdout: 'ignore', stderr: 'inherit' })
  await untilListening(listenPort, program)
  const url = new URL(databaseUrl)
  url.port = String(listenPort)
  return {
    url: url.href,
    async stop() {
      program.kill('SIGKILL')
      await program.exited
      rmSync(folder, { recursive: true })
    },
  }
}

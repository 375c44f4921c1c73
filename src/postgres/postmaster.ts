// The PostgreSQL that runs on a data folder: how it is found, joined and stopped.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ROLES } from './rights.ts'

/** The address of the PostgreSQL that another process runs in `dataDir`; null: none is ready, or none is shared. */
export function runningPostgres(dataDir: string): string | null {
  try {
    const cluster = readFileSync(lockFile(resolve(dataDir)), 'utf8')
    const lines = cluster ? readPostmaster(cluster) : null
    // After a crash the file may name another process, which must not get our password.
    if (!lines || !isReady(cluster) || !commandLine(Number(lines[0])).includes(cluster)) return null
    return addressOf(Number(lines[3]), ROLES.tables, readFileSync(passwordFile(cluster), 'utf8'))
  } catch {
    return null // gone between two looks
  }
}

/** The file that a process locks for as long as it lives; its text is the cluster's folder once others may join, else ''. */
export const lockFile = (dataDir: string) => join(dataDir, 'lock')

export const passwordFile = (cluster: string) => `${cluster}.password`

export function addressOf(port: number, role: string, password: string): string {
  return `postgres://${role}:${password}@127.0.0.1:${port}/postgres`
}

/** Returns whether the postmaster's own status line says that it is ready. */
export function isReady(cluster: string): boolean {
  return readPostmaster(cluster)?.[7]?.startsWith('ready') ?? false
}

function readPostmaster(cluster: string): string[] | null {
  try {
    return readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return null
  }
}

/**
 * Ends the postmaster that a killed server left, and removes its `postmaster.pid`. We hold the lock of the data folder, so any
 * process on the cluster is an orphan of ours. The file may name a foreign process (after a reboot) or be empty or garbled
 * (after a power loss), so command lines decide which process it is.
 */
export async function stopOrphan(cluster: string) {
  const lines = readPostmaster(cluster)
  if (lines === null) return
  const named = Number(lines[0])
  const pid = named > 0 ? named : processOn(cluster)
  const isOurs = () => commandLine(pid).includes(cluster)
  if (pid > 0 && isOurs()) {
    process.kill(pid, 'SIGINT')
    for (let waitedMs = 0; isOurs(); waitedMs += 20) {
      if (waitedMs === 5_000) process.kill(pid, 'SIGQUIT')
      if (waitedMs > 10_000) throw new Error(`an earlier PostgreSQL (process ${pid}) on ${cluster} does not stop`)
      await Bun.sleep(20)
    }
  }
  rmSync(join(cluster, 'postmaster.pid'), { force: true })
}

/** The id of the postmaster that runs on the cluster, by its command line; 0: none. */
function processOn(cluster: string): number {
  const processes =
    process.platform === 'linux'
      ? readdirSync('/proc')
      : spawnSync('ps', ['-axo', 'pid='], { encoding: 'utf8' }).stdout.split('\n')
  const isOn = (pid: number) => commandLine(pid).replaceAll('\0', ' ').includes(`postgres -D ${cluster} `)
  return processes.map(Number).find((pid) => pid > 0 && isOn(pid)) ?? 0
}

function commandLine(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout
  } catch {
    return ''
  }
}

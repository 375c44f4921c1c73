// The PostgreSQL of a data folder: finds, joins and stops it.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ROLES } from './rights.ts'

/**
 * Returns the address of a PostgreSQL that another process runs in `dataDir`; null if there is none, or if it is not ready or not
 * shared.
 */
export function runningPostgres(dataDir: string): string | null {
  try {
    const cluster = readFileSync(lockFile(resolve(dataDir)), 'utf8')
    const lines = cluster ? readPostmaster(cluster) : null
    // After a crash, `postmaster.pid` can name the process of another program, which must not get the password.
    if (!lines || !isReady(cluster) || !commandLine(Number(lines[0])).includes(cluster)) return null
    return addressOf(Number(lines[3]), ROLES.tables, readFileSync(passwordFile(cluster), 'utf8'))
  } catch {
    return null // a file was deleted between two reads
  }
}

/**
 * Returns the path of the file that a server locks while it runs. Once other processes may use the server's PostgreSQL, the file
 * contains the path of the cluster's folder. Before, it is empty.
 */
export const lockFile = (dataDir: string) => join(dataDir, 'lock')

export const passwordFile = (cluster: string) => `${cluster}.password`

export function addressOf(port: number, role: string, password: string): string {
  return `postgres://${role}:${password}@127.0.0.1:${port}/postgres`
}

/** Returns whether the postmaster's status line says that it is ready. */
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
 * Stops the postmaster that a killed server has left, and removes its `postmaster.pid`. The caller holds the lock of the data
 * folder, so any process on the cluster is an orphan. `postmaster.pid` can name the process of another program (after a reboot),
 * or be empty or garbled (after a power loss). So command lines decide which process is the postmaster.
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

/** Finds the postmaster of a cluster by the command lines of all processes. Returns its process id; 0 if there is none. */
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

import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** The address of the PostgreSQL that the holder of `dataDir` runs; null: it has none that is ready, or shares none. */
export function runningPostgres(dataDir: string): string | null {
  try {
    const cluster = readFileSync(lockFile(resolve(dataDir)), 'utf8')
    const lines = cluster ? readPostmaster(cluster) : null
    // After a crash the file may name a stranger, who must not be asked for our password.
    if (!lines || !isReady(cluster) || !commandLine(Number(lines[0])).includes(cluster)) return null
    return addressOf(Number(lines[3]), readFileSync(passwordFile(cluster), 'utf8'))
  } catch {
    return null // gone between two looks
  }
}

/** Held for as long as its process lives; its text is the folder of the cluster once others may join. */
export const lockFile = (dataDir: string) => join(dataDir, 'lock')

export const passwordFile = (cluster: string) => `${cluster}.password`

export function addressOf(port: number, password: string): string {
  return `postgres://roster:${password}@127.0.0.1:${port}/postgres`
}

/** Tells other processes of the machine where the cluster is; '': there is none to join. */
export function publish(dataDir: string, cluster: string) {
  writeFileSync(lockFile(dataDir), cluster)
}

/** Whether the postmaster's own status line says so. */
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
 * Ends the postmaster that a killed server left. We hold the folder's lock, so whatever the file names is an orphan of
 * ours or, after a reboot, a stranger that has the number by chance: its command line tells which.
 */
export async function stopOrphan(cluster: string) {
  const pid = Number(readPostmaster(cluster)?.[0])
  if (!pid) return
  const isOurs = () => commandLine(pid).includes(cluster)
  if (isOurs()) {
    process.kill(pid, 'SIGINT')
    for (let waitedMs = 0; isOurs(); waitedMs += 20) {
      if (waitedMs === 5_000) process.kill(pid, 'SIGQUIT')
      if (waitedMs > 10_000) throw new Error(`an earlier PostgreSQL (process ${pid}) on ${cluster} does not stop`)
      await Bun.sleep(20)
    }
  }
  rmSync(join(cluster, 'postmaster.pid'), { force: true })
}

function commandLine(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout
  } catch {
    return ''
  }
}

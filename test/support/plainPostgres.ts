import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { isReady } from '../../src/postgres/postmaster.ts'
import { endOf, prepareRunner, type Runner, type RunnerOptions } from '../../src/postgres/runner.ts'
import { freePort, temporaryFolder, until } from './process.ts'

/** A PostgreSQL such as an operator has: all settings that matter have PostgreSQL's defaults. */
export interface PlainPostgres {
  /** Address of a database without tables, for its superuser. */
  readonly url: string
  readonly cluster: string
  /** Returns its log. */
  log(): string
  stop(): Promise<void>
}

interface Options extends RunnerOptions {
  /**
   * Data folder, which is kept, for use by the embedded PostgreSQL; the program is then the packaged version. Default: a
   * temporary folder.
   */
  dataDir?: string
  superuser?: string
  /** Settings as for `postgres -c`: `wal_level=logical`. */
  settings?: readonly string[]
  /** Refuses connections that are not encrypted. */
  tls?: { readonly certificate: string; readonly key: string }
}

/** Creates a cluster and starts it; the superuser's password is `plain`. */
export async function startPlainPostgres({
  dataDir,
  superuser = 'operator',
  asRoot,
  native = dataDir === undefined ? process.env.TEST_POSTGRES : undefined,
  settings = [],
  tls,
}: Options = {}): Promise<PlainPostgres> {
  const folder = dataDir === undefined ? temporaryFolder() : { path: dataDir, remove: () => undefined }
  const runner = runnerIn(folder.path, { ...(native ? { native } : {}), ...(asRoot ? { asRoot } : {}) })
  mkdirSync(runner.cluster, { mode: 0o700 })
  runner.give(runner.cluster)
  const password = join(folder.path, 'password')
  writeFileSync(password, 'plain')
  runner.give(password)
  const cluster = ['-D', runner.cluster, '-U', superuser, '--auth=scram-sha-256', `--pwfile=${password}`]
  const { child, log } = runner.launch('initdb', [...cluster, '--encoding=UTF8', '--locale=C', '--no-sync'])
  const code = await endOf(child)
  if (code !== 0) throw new Error(`initdb ended with ${code}:\n${log()}`)
  const remove = () => {
    rmSync(password)
    folder.remove()
  }
  return launch(runner, superuser, folder.path, remove, [...settings, ...(tls ? encrypting(runner, tls) : [])])
}

/** Makes a hot standby of a running PostgreSQL: a copy of its files, which follows it, and can be read. */
export async function startStandby(primary: PlainPostgres): Promise<PlainPostgres> {
  const folder = temporaryFolder()
  const native = process.env.TEST_POSTGRES
  const runner = runnerIn(folder.path, native ? { native } : {})
  const sql = postgres(primary.url, { max: 1, onnotice: () => undefined })
  await sql`select pg_backup_start('standby', true)`
  const { exitCode, stderr } = Bun.spawnSync(['cp', '-a', primary.cluster, runner.cluster])
  if (exitCode !== 0) throw new Error(`the cluster could not be copied: ${stderr}`)
  const [stopped] = await sql`select labelfile from pg_backup_stop(false)`
  await sql.end()
  rmSync(join(runner.cluster, 'postmaster.pid'))
  const files = { backup_label: String(stopped?.labelfile), 'standby.signal': '' }
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(runner.cluster, name), text)
    runner.give(join(runner.cluster, name))
  }
  const { hostname, port, username, password } = new URL(primary.url)
  const follow = `primary_conninfo=host=${hostname} port=${port} user=${username} password=${password}`
  return launch(runner, username, folder.path, folder.remove, [follow])
}

function encrypting({ cluster, give }: Runner, { certificate, key }: NonNullable<Options['tls']>): string[] {
  const own = { certificate: join(cluster, 'own.crt'), key: join(cluster, 'own.key') }
  copyFileSync(certificate, own.certificate)
  copyFileSync(key, own.key)
  chmodSync(own.key, 0o600)
  for (const file of Object.values(own)) give(file)
  writeFileSync(join(cluster, 'pg_hba.conf'), 'hostssl all,replication all 127.0.0.1/32 scram-sha-256\n')
  return ['ssl=on', `ssl_cert_file=${own.certificate}`, `ssl_key_file=${own.key}`]
}

function runnerIn(folder: string, options: RunnerOptions): Runner {
  chmodSync(folder, 0o755) // PostgreSQL may run as the user `nobody`
  return prepareRunner(folder, options)
}

async function launch(
  runner: Runner,
  superuser: string,
  folder: string,
  remove: () => void,
  more: readonly string[] = [],
): Promise<PlainPostgres> {
  const log = () => readFileSync(join(folder, 'postgres.log'), 'utf8')
  const port = freePort()
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', ...more]
  const { child } = runner.launch('postgres', ['-D', runner.cluster, ...settings.flatMap((setting) => ['-c', setting])])
  const ended = endOf(child)
  let isRunning = true
  ended.then(() => (isRunning = false))
  await until(() => !isRunning || isReady(runner.cluster))
  if (!isRunning) throw new Error(`PostgreSQL did not start:\n${log()}`)
  const server = `postgres://${superuser}:plain@127.0.0.1:${port}`
  return {
    url: `${server}/postgres`,
    cluster: runner.cluster,
    log,
    async stop() {
      child.kill('SIGINT')
      await ended
      remove()
    },
  }
}

import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isReady } from '../../src/postgres/postmaster.ts'
import { endOf, prepareRunner, type RunnerOptions } from '../../src/postgres/runner.ts'
import { freePort, temporaryFolder, until } from './process.ts'

/** A PostgreSQL as an operator's would be: every setting that could matter to us is PostgreSQL's own default. */
export interface PlainPostgres {
  /** Of a database without tables, as its superuser. */
  readonly url: string
  /** What it has written to its log. */
  log(): string
  stop(): Promise<void>
}

interface Options extends RunnerOptions {
  /** Where its cluster is to be, and to stay. Default: a folder that goes with it. */
  dataDir?: string
  superuser?: string
}

/** Makes and starts one, with a cluster of its own; the superuser's password is `plain`. */
export async function startPlainPostgres({
  dataDir,
  superuser = 'operator',
  asRoot,
}: Options = {}): Promise<PlainPostgres> {
  const folder = dataDir === undefined ? temporaryFolder() : { path: dataDir, remove: () => undefined }
  chmodSync(folder.path, 0o755) // PostgreSQL may run as the user `nobody`
  // A cluster that stays is for the embedded one, which is of the packaged version.
  const native = dataDir === undefined ? process.env.TEST_POSTGRES : undefined
  const runner = prepareRunner(folder.path, { ...(native ? { native } : {}), ...(asRoot ? { asRoot } : {}) })
  mkdirSync(runner.cluster, { mode: 0o700 })
  runner.give(runner.cluster)
  const password = join(folder.path, 'password')
  writeFileSync(password, 'plain')
  runner.give(password)
  const logFile = join(folder.path, 'plain.log')
  const file = openSync(logFile, 'a')
  const log = () => readFileSync(logFile, 'utf8')
  const cluster = ['-D', runner.cluster, '-U', superuser, '--auth=scram-sha-256', `--pwfile=${password}`]
  const code = await endOf(runner.launch('initdb', [...cluster, '--encoding=UTF8', '--locale=C', '--no-sync'], file))
  if (code !== 0) throw new Error(`initdb ended with ${code}:\n${log()}`)
  const port = freePort()
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off']
  const child = runner.launch(
    'postgres',
    ['-D', runner.cluster, ...settings.flatMap((setting) => ['-c', setting])],
    file,
  )
  closeSync(file)
  const ended = endOf(child)
  let isRunning = true
  ended.then(() => (isRunning = false))
  await until(() => !isRunning || isReady(runner.cluster))
  if (!isRunning) throw new Error(`PostgreSQL did not start:\n${log()}`)
  const server = `postgres://${superuser}:plain@127.0.0.1:${port}`
  return {
    url: `${server}/postgres`,
    log,
    async stop() {
      child.kill('SIGINT')
      await ended
      rmSync(password)
      folder.remove()
    },
  }
}

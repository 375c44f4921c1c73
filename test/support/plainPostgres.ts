import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isReady } from '../../src/postgres/postmaster.ts'
import { endOf, prepareRunner } from '../../src/postgres/runner.ts'
import { connect } from './postgres.ts'
import { freePort, temporaryFolder, until } from './process.ts'

/** A PostgreSQL as an operator's would be: every setting that could matter to us is PostgreSQL's own default. */
export interface PlainPostgres {
  /** Of an empty database, as a superuser. */
  readonly url: string
  /** What it has written to its log. */
  log(): string
  stop(): Promise<void>
}

/** Makes and starts one, with a cluster of its own. */
export async function startPlainPostgres(): Promise<PlainPostgres> {
  const folder = temporaryFolder()
  chmodSync(folder.path, 0o755) // PostgreSQL may run as the user `nobody`
  const runner = prepareRunner(folder.path, process.env.TEST_POSTGRES ? { native: process.env.TEST_POSTGRES } : {})
  mkdirSync(runner.cluster, { mode: 0o700 })
  runner.give(runner.cluster)
  const password = join(folder.path, 'password')
  writeFileSync(password, 'plain')
  runner.give(password)
  const logFile = join(folder.path, 'plain.log')
  const file = openSync(logFile, 'a')
  const log = () => readFileSync(logFile, 'utf8')
  const cluster = ['-D', runner.cluster, '-U', 'operator', '--auth=scram-sha-256', `--pwfile=${password}`]
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
  const server = `postgres://operator:plain@127.0.0.1:${port}`
  const sql = connect(`${server}/postgres`)
  await sql`create database roster template template0 encoding 'UTF8'`
  await sql.end()
  return {
    url: `${server}/roster`,
    log,
    async stop() {
      child.kill('SIGINT')
      await ended
      folder.remove()
    },
  }
}

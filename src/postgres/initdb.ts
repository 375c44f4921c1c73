import { closeSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openLog, tail } from './postgresLog.ts'
import { ROLES } from './rights.ts'
import { endOf, type Runner } from './runner.ts'

const LOCALE = ['--encoding=UTF8', '--locale=C']
const LOCALE_BUILTIN = [...LOCALE, '--locale-provider=builtin', '--builtin-locale=C.UTF-8']

/** Makes the cluster, under another name first: a folder under its own name is whole. @throws Error */
export async function initialize(runner: Runner, dataDir: string) {
  const part = `${runner.cluster}.part`
  rmSync(part, { recursive: true, force: true })
  mkdirSync(part, { mode: 0o700 })
  runner.give(part)
  const { path, file } = openLog(dataDir)
  const locale = hasBuiltinLocale(runner.native) ? LOCALE_BUILTIN : LOCALE
  // No role gets in before there is a role to serve.
  const args = ['-D', part, '-U', ROLES.everything, '--auth=reject', '--no-sync', ...locale]
  const code = await endOf(runner.launch('initdb', args, file))
  closeSync(file)
  if (code !== 0) throw new Error(`initdb ended with ${code}:\n${tail(path)}`)
  renameSync(part, runner.cluster)
}

function hasBuiltinLocale(native: string): boolean {
  return existsSync(join(native, 'share/postgresql/postgres.bki')) && majorVersion(native) >= 17
}

function majorVersion(native: string): number {
  return Number(/PostgreSQL (\d+)/.exec(readFileSync(join(native, 'share/postgresql/postgres.bki'), 'utf8'))?.[1])
}

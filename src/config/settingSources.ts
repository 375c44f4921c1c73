// Origins of the settings: environment, .env file, secret file or default, without secrets, for `roster config`.
import { readFileSync } from 'node:fs'
import { defaultWorkers } from './config.ts'
import type { EnvironmentFile } from './environmentFiles.ts'
import { readSecretFiles } from './secretFiles.ts'
import { isSecret, type Setting, settings } from './settings.ts'

export interface Effective {
  readonly name: string
  /**
   * Value as an operator writes it; for a database, only host and name. Null: the setting has no value, or the value is secret.
   */
  readonly value: string | null
  readonly isSet: boolean
  readonly isSecret: boolean
  /** Origin: `default`, `environment`, `.env` or a file like it, or `file <path>`. */
  readonly from: string
}

/** Returns every setting, valid or not. `files`: the files that Bun has read into the environment. */
export function effectiveSettings(
  environment: Readonly<Record<string, string | undefined>>,
  files: readonly EnvironmentFile[],
  inherited: ReadonlySet<string> | null = inheritedNames(),
): Effective[] {
  const secrets = readSecretFiles(environment)
  /** Returns the origin of a variable. The environment has precedence over files, and each file over the files after it. */
  const originOf = (variable: string) =>
    inherited?.has(variable)
      ? 'environment'
      : (files.find(({ variables }) => variables.includes(variable))?.name ?? 'environment')
  const workers = String(defaultWorkers(Boolean(secrets.environment.DATABASE_URL)))
  return Object.entries<Setting>(settings).map(([name, { default: declared }]) => {
    const text = secrets.environment[name] || null
    const file = secrets.files.get(name)
    const from = text === null ? 'default' : file !== undefined && !environment[name] ? `file ${file}` : originOf(name)
    const value = text ?? (name === 'WORKERS' ? workers : declared)
    const secret = isSecret(name, value)
    return { name, value: secret ? hostAndName(name, value) : value, isSet: value !== null, isSecret: secret, from }
  })
}

/** Returns host and name of a database, without role and password; null if the address is ambiguous. */
function hostAndName(name: string, value: string | null): string | null {
  const address = (value ?? '').replace(/[?#].*$/s, '')
  if (!/^DATABASE_(?:DIRECT_)?URL$/.test(name) || !URL.canParse(address)) return null
  const { host, pathname, username } = new URL(address)
  // The parser takes a slash, a question mark, a # or an @ in a password as the end of the password. Then the host or the path
  // that it returns may contain a part of the password.
  const isDoubtful = /@/.test(pathname) || (username === '' && value?.includes('@')) || (value?.split('@').length ?? 0) > 2
  return isDoubtful ? null : host + pathname
}

/**
 * Returns the names of the variables that this process inherited. Variables that Bun has read from files are not among them.
 * Returns null if the system cannot tell.
 */
function inheritedNames(): ReadonlySet<string> | null {
  if (process.platform !== 'linux') return null
  try {
    const lines = readFileSync('/proc/self/environ', 'utf8').split('\0')
    return new Set(lines.map((line) => line.slice(0, line.indexOf('='))))
  } catch {
    return null
  }
}

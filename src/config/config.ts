// Settings of a server, read from the environment and checked.
import { availableParallelism } from 'node:os'
import type { Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { errorOf } from '../errors.ts'
import type { EnvironmentFile } from './environmentFiles.ts'
import { readSecretFiles } from './secretFiles.ts'
import { isSecret, type Setting, type SettingName, settings } from './settings.ts'
import { unknownLines } from './unknownSettings.ts'

/** Name of a setting in `Config`: `DATABASE_URL` → `databaseUrl`. */
type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<Camel<Tail>>}`
  : Lowercase<Name>
type Read<Own extends Setting> = Own extends { read(text: string): infer Value } ? Value : Static<Own['schema']>
type ValueOf<Own extends Setting> = Own['default'] extends null ? Read<Own> | null : Read<Own>

/** The checked settings. A setting is null if it is not set and has no default. Its `meaning` says what the server does then. */
export type Config = {
  readonly [Name in SettingName as Name extends 'WORKERS' ? never : Camel<Name>]: ValueOf<(typeof settings)[Name]>
} & { readonly workers: number }

/** Invalid settings; one fault per line. */
export class ConfigError extends Error {}

/** Reads the settings; an empty setting counts as not set. `files`: `.env` files that Bun has read. @throws ConfigError */
export function readConfig(given: Record<string, string | undefined>, files: readonly EnvironmentFile[] = []): Config {
  const { environment, faults } = readSecretFiles(given)
  const read = ([name, { schema, allowed, default: fallback, check, read }]: [string, Setting]) => {
    const text = environment[name] || fallback
    if (text === null) return null
    const value = Value.Convert(schema, text)
    // A number that differs from its text is refused: the conversion would turn 3000.7 into 3000 and accept 0x50.
    const isChanged = typeof value === 'number' && String(value) !== text
    try {
      if (isChanged || !Value.Check(schema, value)) throw new Error(isSecret(name, text) ? '' : `it is "${text}"`)
      check?.(text)
      return read ? read(text) : value
    } catch (error) {
      const { message } = errorOf(error)
      faults.push(`${name} must be ${allowed}${message && `; ${message}`}`)
      return null
    }
  }
  faults.push(...unknownLines(files))
  const values = Object.entries<Setting>(settings).map((setting) => [camelOf(setting[0]), read(setting)])
  const config = Object.fromEntries(values)
  config.workers ??= defaultWorkers(Boolean(environment.DATABASE_URL))
  if (environment.DATABASE_DIRECT_URL && !environment.DATABASE_URL)
    faults.push('DATABASE_DIRECT_URL needs DATABASE_URL, which is not set')
  if (!environment.TLS_CERT !== !environment.TLS_KEY) faults.push('TLS_CERT and TLS_KEY go together: one of them is not set')
  if (config.oidcIssuer !== null && !environment.OIDC_AUDIENCE)
    faults.push('OIDC_ISSUER needs OIDC_AUDIENCE: without it, tokens for other services of the issuer would be accepted')
  if (config.oidcIssuer !== null && !environment.ROLES_FILE)
    faults.push('OIDC_ISSUER needs ROLES_FILE: without roles, nobody who signs in has any right')
  if (config.oidcClientId !== null && !environment.OIDC_ISSUER)
    faults.push('OIDC_CLIENT_ID needs OIDC_ISSUER, which is not set: nobody could sign in')
  if (config.oidcScope !== null && environment.OIDC_SCOPE && !environment.OIDC_CLIENT_ID)
    faults.push('OIDC_SCOPE needs OIDC_CLIENT_ID, which is not set: only the page /explore asks for a scope')
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  return Object.freeze(config)
}

function camelOf(name: string): string {
  return name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}

/** True if the workers reach the database through a pooler, which lets other clients use the same connections. */
export function isPooled({ databasePrepare, databaseDirectUrl }: Config): boolean {
  return !databasePrepare || databaseDirectUrl !== null
}

/**
 * Returns the default number of workers: one per processor. With the embedded PostgreSQL, one per two processors, because
 * PostgreSQL needs half of the processors.
 */
export function defaultWorkers(isDatabaseElsewhere: boolean, processors = availableParallelism()): number {
  return isDatabaseElsewhere ? processors : Math.max(1, Math.floor(processors / 2))
}

/**
 * Returns the host for a URL by which a client on this machine reaches the server. An address that stands for all interfaces
 * becomes `localhost`, because no client can connect to such an address.
 */
export function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}

import { availableParallelism } from 'node:os'
import { Value } from '@sinclair/typebox/value'
import type { LogFormat, LogLevel } from '../log.ts'
import { parseRules, type Rule } from '../model/limits.ts'
import type { EnvironmentFile } from './environmentFiles.ts'
import { readSecretFiles } from './secretFiles.ts'
import type { Setting } from './setting.ts'
import { isSecret, type SettingName, settings } from './settings.ts'
import { FORMER, unknownLines } from './strays.ts'

/** The settings, checked. */
export interface Config {
  readonly databaseUrl: string | null
  /** Null: `databaseUrl` names no pooler, or nothing is known beside it. */
  readonly databaseDirectUrl: string | null
  readonly databasePool: number
  readonly databasePrepare: boolean
  /** Null: the project's own. */
  readonly entitiesDir: string | null
  /** Null: none but those of the project. */
  readonly migrationsDir: string | null
  /** Null: there are no routes beside those of the project. */
  readonly appFile: string | null
  readonly dataDir: string
  readonly demoData: boolean
  readonly host: string
  readonly port: number
  /** Null: HTTP in clear text. */
  readonly tlsCert: string | null
  readonly tlsKey: string | null
  /** Null: there is no such port. */
  readonly adminPort: number | null
  readonly adminHost: string
  /** Without a slash at the end. */
  readonly publicUrl: string | null
  /** As `parseOrigins` reads them; null: no page of another origin. */
  readonly corsOrigins: string | null
  readonly workers: number
  readonly bootstrapApiKey: string | null
  readonly rateLimits: readonly Rule[]
  readonly rateLimitsAnonymous: readonly Rule[]
  readonly rateLimitClients: number
  readonly rateLimitStore: string | null
  /** As `parseNetworks` reads them. */
  readonly trustedProxies: string | null
  /** 0: writes leave no lines. */
  readonly changesDays: number
  readonly changesValues: boolean
  /** As `parseTargets` reads them. */
  readonly hooksAllow: string | null
  /** 0: no table is kept in memory. */
  readonly memoryMb: number
  /** 0: none is slow. */
  readonly slowStatementMs: number
  readonly logLevel: LogLevel
  /** Null: by what stdout is. */
  readonly logFormat: LogFormat | null
}

/** The settings are wrong; one fault a line. */
export class ConfigError extends Error {}

/**
 * Reads the settings from the environment; an empty one counts as not set. `files`: those from which it has come in part.
 * @throws ConfigError listing every fault
 */
export function readConfig(given: Record<string, string | undefined>, files: readonly EnvironmentFile[] = []): Config {
  const secrets = readSecretFiles(given)
  const { environment } = secrets
  const faults: string[] = [...secrets.faults]
  const read = <Value>(name: SettingName): Value => {
    const { schema, allowed, default: fallback, check }: Setting = settings[name]
    const text = environment[name] || fallback
    if (text === null) return null as Value
    const value = Value.Convert(schema, text)
    // The conversion cuts 3000.7 to 3000 and takes 0x50 for a number.
    const isChanged = typeof value === 'number' && String(value) !== text
    const isWrong = isChanged || !Value.Check(schema, value)
    const repeated = isSecret(name) ? '' : `it is "${text}"`
    const reason = isWrong ? repeated : faultOf(check, text)
    if (reason !== null) faults.push(`${name} must be ${allowed}${reason && `; ${reason}`}`)
    return value as Value
  }
  const readRules = (name: SettingName): readonly Rule[] => {
    const text = read<string>(name)
    return faultOf(parseRules, text) === null ? parseRules(text) : []
  }
  for (const [name, remedy] of Object.entries(FORMER)) if (environment[name]) faults.push(`${name} ${remedy}`)
  faults.push(...unknownLines(files))
  const publicUrl = read<string | null>('PUBLIC_URL')
  const databaseUrl = read<string | null>('DATABASE_URL')
  const config: Config = {
    databaseUrl,
    databaseDirectUrl: read('DATABASE_DIRECT_URL'),
    databasePool: read('DATABASE_POOL'),
    databasePrepare: read('DATABASE_PREPARE'),
    entitiesDir: read('ENTITIES_DIR'),
    migrationsDir: read('MIGRATIONS_DIR'),
    appFile: read('APP_FILE'),
    dataDir: read('DATA_DIR'),
    demoData: read<string>('DEMO_DATA') === '1',
    host: read('HOST'),
    port: read('PORT'),
    tlsCert: read('TLS_CERT'),
    tlsKey: read('TLS_KEY'),
    adminPort: read('ADMIN_PORT'),
    adminHost: read('ADMIN_HOST'),
    publicUrl: publicUrl?.replace(/\/+$/, '') ?? null,
    corsOrigins: read('CORS_ORIGINS'),
    workers: read<number | null>('WORKERS') ?? defaultWorkers(databaseUrl !== null, availableParallelism()),
    bootstrapApiKey: read('BOOTSTRAP_API_KEY'),
    rateLimits: readRules('RATE_LIMITS'),
    rateLimitsAnonymous: readRules('RATE_LIMITS_ANONYMOUS'),
    rateLimitClients: read('RATE_LIMIT_CLIENTS'),
    rateLimitStore: read('RATE_LIMIT_STORE'),
    trustedProxies: read('TRUSTED_PROXIES'),
    changesDays: read('CHANGES_DAYS'),
    changesValues: read<string>('CHANGES_VALUES') === 'on',
    hooksAllow: read('HOOKS_ALLOW'),
    memoryMb: read('MEMORY_MB'),
    slowStatementMs: read('SLOW_STATEMENT_MS'),
    logLevel: read('LOG_LEVEL'),
    logFormat: read('LOG_FORMAT'),
  }
  if (config.databaseDirectUrl !== null && databaseUrl === null)
    faults.push('DATABASE_DIRECT_URL is beside DATABASE_URL, which is not set')
  if ((config.tlsCert === null) !== (config.tlsKey === null))
    faults.push('TLS_CERT and TLS_KEY go together: one of them is not set')
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  return Object.freeze(config)
}

/** Returns whether a pooler is between the workers and the database, whose connections are not theirs alone. */
export function isPooled({ databasePrepare, databaseDirectUrl }: Config): boolean {
  return !databasePrepare || databaseDirectUrl !== null
}

/** One worker for each processor; for every two where the embedded PostgreSQL needs the other half. */
export function defaultWorkers(isDatabaseElsewhere: boolean, processors: number): number {
  return isDatabaseElsewhere ? processors : Math.max(1, Math.floor(processors / 2))
}

/** The fault that `check` finds in a text; null: none. */
function faultOf(check: ((text: string) => unknown) | undefined, text: string): string | null {
  try {
    check?.(text)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

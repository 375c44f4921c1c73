import { availableParallelism } from 'node:os'
import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from './log.ts'
import { readDatabaseUrl } from './model/databaseUrl.ts'
import { parseRules, type Rule } from './model/limits.ts'
import { parseNetworks } from './model/networks.ts'

interface Setting {
  readonly schema: TSchema
  /** As an operator would write it; null: none. */
  readonly default: string | null
  /** Continues "must be". */
  readonly allowed: string
  readonly meaning: string
  /** Finds faults that a pattern cannot. @throws Error that says what is wrong */
  readonly check?: (text: string) => unknown
}

const oneOf = (values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)))

/** Every setting there is; the README's table and `.env.example` list the same. */
export const settings = {
  DATABASE_URL: {
    schema: Type.String({ pattern: '^postgres(ql)?://.+' }),
    default: null,
    allowed: 'an address like postgres://user:password@host:5432/database',
    meaning: 'PostgreSQL 14 to 18. Without it an embedded PostgreSQL is started in DATA_DIR.',
    check: readDatabaseUrl,
  },
  DATABASE_POOL: {
    schema: Type.Integer({ minimum: 1, maximum: 1000 }),
    default: '10',
    allowed: 'an integer from 1 to 1000',
    meaning: 'Connections to the database, of each worker.',
  },
  DATABASE_PREPARE: {
    schema: Type.Boolean(),
    default: 'true',
    allowed: 'true or false',
    meaning: 'Prepared statements; false behind a pooler in transaction mode.',
  },
  DATA_DIR: {
    schema: Type.String({ minLength: 1 }),
    default: '.data',
    allowed: 'a folder',
    meaning: 'Where the embedded PostgreSQL and the development key live.',
  },
  DEMO_DATA: {
    schema: Type.Union([Type.Literal('0'), Type.Literal('1')]),
    default: '1',
    allowed: '0 or 1',
    meaning: '0 keeps a new embedded database empty; else it gets a small sample.',
  },
  HOST: {
    schema: Type.String({ pattern: '^[0-9A-Za-z.:_-]{1,100}$' }),
    default: '127.0.0.1',
    allowed: 'an address or a name',
    meaning: 'The address to listen on; 0.0.0.0 for all.',
  },
  PORT: {
    schema: Type.Integer({ minimum: 0, maximum: 65535 }),
    default: '3000',
    allowed: 'an integer from 0 to 65535',
    meaning: 'The port to listen on; 0 for any free one.',
  },
  PUBLIC_URL: {
    schema: Type.String({ pattern: '^(?=[!-~]{1,128}$)https?://[^/?#"<>]+(/[^?#"<>]*)?$' }),
    default: null,
    allowed: 'an address like https://api.example.com, without query, of up to 128 ASCII characters',
    meaning: 'What links begin with; without it, the address listened on.',
  },
  WORKERS: {
    schema: Type.Integer({ minimum: 1, maximum: 256 }),
    default: null,
    allowed: 'an integer from 1 to 256',
    meaning:
      'Processes that share the port; without it, one for each processor, or for every two beside the embedded PostgreSQL.',
  },
  BOOTSTRAP_API_KEY: {
    schema: Type.String({ pattern: '^[\\x21-\\x7e]{20,256}$' }),
    default: null,
    allowed: '20 to 256 visible ASCII characters',
    meaning:
      'A key with all rights, beside those of `keys create`: 20 to 256 visible ASCII characters. Without it and DATABASE_URL a development key is made, kept in DATA_DIR and printed.',
  },
  RATE_LIMITS: {
    schema: Type.String(),
    default: '750/1m,2500/15m,25000/12h',
    allowed: 'limits like 750/1m,2500/15m (s, m, h, d)',
    meaning: 'Requests of one key in any such period; all limits hold at once.',
    check: parseRules,
  },
  RATE_LIMITS_ANONYMOUS: {
    schema: Type.String(),
    default: '60/1m',
    allowed: 'limits like 60/1m (s, m, h, d)',
    meaning: 'The same for requests without a valid key, of one IPv4 address or IPv6 /64.',
    check: parseRules,
  },
  RATE_LIMIT_CLIENTS: {
    schema: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    default: '500',
    allowed: 'an integer from 1 to 1000000',
    meaning: 'Keys in use at once; each takes 4 bytes of shared memory for each request of the largest limit.',
  },
  RATE_LIMIT_STORE: {
    schema: Type.String({ pattern: '^(redis|rediss|valkey|valkeys)://.+' }),
    default: null,
    allowed: 'an address like redis://user:password@host:6379/0',
    meaning: 'Redis 7 or Valkey that several machines share; without it, limits are those of this machine.',
    check: parseUrl,
  },
  TRUSTED_PROXIES: {
    schema: Type.String(),
    default: null,
    allowed: 'addresses and networks like 10.0.0.0/8,::1',
    meaning: 'Proxies whose X-Forwarded-For is believed; addresses or networks.',
    check: parseNetworks,
  },
  LIST_CACHE: {
    schema: Type.Union([Type.Literal('on'), Type.Literal('off')]),
    default: 'on',
    allowed: 'on or off',
    meaning: 'off answers every list from the database; the answers are the same.',
  },
  LIST_CACHE_MB: {
    schema: Type.Integer({ minimum: 1, maximum: 10_000 }),
    default: '16',
    allowed: 'an integer from 1 to 10000',
    meaning: 'Memory of each worker for what it knows of lists.',
  },
  LOG_LEVEL: {
    schema: oneOf(LOG_LEVELS),
    default: 'info',
    allowed: 'debug, info, warn or error',
    meaning: 'The least level that is logged; info has a line for each request.',
  },
  LOG_FORMAT: {
    schema: oneOf(LOG_FORMATS),
    default: 'pretty',
    allowed: LOG_FORMATS.join(' or '),
    meaning: 'json: one object a line.',
  },
} as const satisfies Record<string, Setting>

type SettingName = keyof typeof settings

/** The settings, checked. */
export interface Config {
  readonly databaseUrl: string | null
  readonly databasePool: number
  readonly databasePrepare: boolean
  readonly dataDir: string
  readonly demoData: boolean
  readonly host: string
  readonly port: number
  /** Without a slash at the end. */
  readonly publicUrl: string | null
  readonly workers: number
  readonly bootstrapApiKey: string | null
  readonly rateLimits: readonly Rule[]
  readonly rateLimitsAnonymous: readonly Rule[]
  readonly rateLimitClients: number
  readonly rateLimitStore: string | null
  /** As `parseNetworks` reads them. */
  readonly trustedProxies: string | null
  readonly listCache: boolean
  readonly listCacheMb: number
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
}

/** Earlier names of settings are refused: without their names the server would run with defaults instead. */
const RENAMED = { VIEWS: 'LIST_CACHE', VIEWS_MB: 'LIST_CACHE_MB' }

/** The settings are wrong; one fault a line. */
export class ConfigError extends Error {}

/** Reads the settings from the environment; an empty one counts as not set. @throws ConfigError listing every fault */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const faults: string[] = []
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
  for (const [old, name] of Object.entries(RENAMED)) if (environment[old]) faults.push(`${old} is called ${name} now`)
  const publicUrl = read<string | null>('PUBLIC_URL')
  const databaseUrl = read<string | null>('DATABASE_URL')
  const config: Config = {
    databaseUrl,
    databasePool: read('DATABASE_POOL'),
    databasePrepare: read('DATABASE_PREPARE'),
    dataDir: read('DATA_DIR'),
    demoData: read<string>('DEMO_DATA') === '1',
    host: read('HOST'),
    port: read('PORT'),
    publicUrl: publicUrl?.replace(/\/+$/, '') ?? null,
    workers: read<number | null>('WORKERS') ?? defaultWorkers(databaseUrl !== null, availableParallelism()),
    bootstrapApiKey: read('BOOTSTRAP_API_KEY'),
    rateLimits: readRules('RATE_LIMITS'),
    rateLimitsAnonymous: readRules('RATE_LIMITS_ANONYMOUS'),
    rateLimitClients: read('RATE_LIMIT_CLIENTS'),
    rateLimitStore: read('RATE_LIMIT_STORE'),
    trustedProxies: read('TRUSTED_PROXIES'),
    listCache: read<string>('LIST_CACHE') === 'on',
    listCacheMb: read('LIST_CACHE_MB'),
    logLevel: read('LOG_LEVEL'),
    logFormat: read('LOG_FORMAT'),
  }
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  return Object.freeze(config)
}

/** One worker for each processor; for every two where the embedded PostgreSQL needs the other half. */
export function defaultWorkers(isDatabaseElsewhere: boolean, processors: number): number {
  return isDatabaseElsewhere ? processors : Math.max(1, Math.floor(processors / 2))
}

/** Whether the value must not stand in a message; the checks of these settings do not repeat it either. */
function isSecret(name: SettingName): boolean {
  return name === 'DATABASE_URL' || name === 'BOOTSTRAP_API_KEY' || name === 'RATE_LIMIT_STORE'
}

function parseUrl(text: string): void {
  if (!URL.canParse(text)) throw new RangeError('it cannot be read')
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

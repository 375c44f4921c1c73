import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from './observe/log.ts'

interface Setting {
  readonly schema: TSchema
  /** As it would be written; null: none. */
  readonly default: string | null
  /** Continues "must be". */
  readonly allowed: string
  readonly meaning: string
}

const oneOf = (values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)))

/** Every setting there is; the README's table and `.env.example` list the same. */
export const settings = {
  DATABASE_URL: {
    schema: Type.String({ pattern: '^postgres(ql)?://.+' }),
    default: null,
    allowed: 'an address like postgres://user:password@host:5432/database',
    meaning: 'PostgreSQL 14 to 18. Without it an embedded PostgreSQL is started in DATA_DIR.',
  },
  DATABASE_POOL: {
    schema: Type.Integer({ minimum: 1, maximum: 1000 }),
    default: '10',
    allowed: 'an integer from 1 to 1000',
    meaning: 'Connections to the database.',
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
    schema: Type.String({ pattern: '^[0-9A-Za-z.:_-]+$' }),
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
    schema: Type.String({ pattern: '^https?://[^\\s/?#"<>]+(/[^\\s?#"<>]*)?$' }),
    default: null,
    allowed: 'an address like https://api.example.com, without query',
    meaning: 'What links begin with; without it, the address listened on.',
  },
  BOOTSTRAP_API_KEY: {
    schema: Type.String({ pattern: '^[\\x21-\\x7e]{1,256}$' }),
    default: null,
    allowed: '1 to 256 visible ASCII characters',
    meaning: 'A key with all rights. Without it a development key is made, kept in DATA_DIR and printed.',
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
  readonly bootstrapApiKey: string | null
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
}

/** The settings are wrong; one fault a line. */
export class ConfigError extends Error {}

/** Reads the settings from the environment; an empty one counts as not set. @throws ConfigError listing every fault */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const faults: string[] = []
  const read = <Value>(name: SettingName): Value => {
    const { schema, allowed, default: fallback }: Setting = settings[name]
    const text = environment[name] || fallback
    if (text === null) return null as Value
    const value = Value.Convert(schema, text)
    // The conversion cuts 3000.7 to 3000 and takes 0x50 for a number.
    const isChanged = typeof value === 'number' && String(value) !== text
    if (isChanged || !Value.Check(schema, value))
      faults.push(`${name} must be ${allowed}${isSecret(name) ? '' : `; it is "${text}"`}`)
    return value as Value
  }
  const publicUrl = read<string | null>('PUBLIC_URL')
  const config: Config = {
    databaseUrl: read('DATABASE_URL'),
    databasePool: read('DATABASE_POOL'),
    databasePrepare: read('DATABASE_PREPARE'),
    dataDir: read('DATA_DIR'),
    demoData: read<string>('DEMO_DATA') === '1',
    host: read('HOST'),
    port: read('PORT'),
    publicUrl: publicUrl?.replace(/\/+$/, '') ?? null,
    bootstrapApiKey: read('BOOTSTRAP_API_KEY'),
    logLevel: read('LOG_LEVEL'),
    logFormat: read('LOG_FORMAT'),
  }
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  return Object.freeze(config)
}

/** What must not be repeated in a message. */
function isSecret(name: SettingName): boolean {
  return name === 'DATABASE_URL' || name === 'BOOTSTRAP_API_KEY'
}

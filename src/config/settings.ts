import { Type } from '@sinclair/typebox'
import { LOG_FORMATS, LOG_LEVELS } from '../log.ts'
import { parseRules } from '../model/limits.ts'
import { parseOrigins } from '../model/origins.ts'
import { parseNetworks, parseTargets } from '../model/targets.ts'
import { checkDatabaseUrl, type Setting } from './setting.ts'

const oneOf = (values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)))

const FOLDER = { schema: Type.String({ minLength: 1 }), default: null, allowed: 'a folder' }
const FILE = { ...FOLDER, allowed: 'a file' }
const PORT = { schema: Type.Integer({ minimum: 0, maximum: 65535 }), allowed: 'an integer from 0 to 65535' }
const HOST = { schema: Type.String({ pattern: '^[0-9A-Za-z.:_-]{1,100}$' }), allowed: 'an address or a name' }
const SWITCH = { schema: Type.Union([Type.Literal('on'), Type.Literal('off')]), allowed: 'on or off' }

/** All settings; the tables in the docs and `.env.example` are made from them. */
export const settings = {
  DATABASE_URL: {
    schema: Type.String({ pattern: '^postgres(ql)?://.+' }),
    default: null,
    allowed: 'an address like postgres://user:password@host:5432/database',
    meaning: 'Address of your PostgreSQL, version 14 to 18. If empty, the server starts an embedded PostgreSQL in DATA_DIR.',
    check: checkDatabaseUrl,
  },
  DATABASE_DIRECT_URL: {
    schema: Type.String({ pattern: '^postgres(ql)?://.+' }),
    default: null,
    allowed: 'an address like postgres://user:password@host:5432/database',
    meaning:
      'Address of the same database without the pooler of DATABASE_URL: for migrations, webhooks and loading tables into memory.',
    check: checkDatabaseUrl,
  },
  DATABASE_POOL: {
    schema: Type.Integer({ minimum: 1, maximum: 1000 }),
    default: '10',
    allowed: 'an integer from 1 to 1000',
    meaning: 'Maximum connections of each worker to the database.',
  },
  DATABASE_PREPARE: {
    schema: Type.Boolean(),
    default: 'true',
    allowed: 'true or false',
    meaning: 'Whether statements are prepared. Set it to false behind a pooler in transaction mode.',
  },
  ENTITIES_DIR: {
    ...FOLDER,
    meaning: 'Folder of your entity declarations. If empty, the server has companies, employees and absences.',
  },
  MIGRATIONS_DIR: {
    ...FOLDER,
    meaning: 'Folder of the migrations for ENTITIES_DIR. They are applied after those of Roster.',
  },
  APP_FILE: {
    schema: Type.String({ minLength: 1 }),
    default: null,
    allowed: 'a module',
    meaning: 'Module whose default export is an Elysia app: its routes are added to those of Roster.',
  },
  DATA_DIR: {
    schema: Type.String({ minLength: 1 }),
    default: '.data',
    allowed: 'a folder',
    meaning: 'Folder of the embedded PostgreSQL and of the development key.',
  },
  DEMO_DATA: {
    schema: Type.Union([Type.Literal('0'), Type.Literal('1')]),
    default: '1',
    allowed: '0 or 1',
    meaning: 'Whether a new embedded database gets sample data: 0 or 1.',
  },
  HOST: {
    ...HOST,
    default: '127.0.0.1',
    meaning: 'Address to listen on. Use 0.0.0.0 for all addresses.',
  },
  PORT: {
    ...PORT,
    default: '3000',
    meaning: 'Port to listen on. Use 0 for any free port.',
  },
  TLS_CERT: {
    ...FILE,
    meaning: 'File with the certificate chain in PEM: the server then serves HTTPS. A renewed file is loaded without a restart.',
  },
  TLS_KEY: {
    ...FILE,
    meaning: 'File with the private key of TLS_CERT, in PEM, without a password.',
  },
  ADMIN_PORT: {
    ...PORT,
    default: null,
    meaning: 'Separate port for /metrics, /livez and /readyz, which need no key there. If empty, it is off.',
  },
  ADMIN_HOST: {
    ...HOST,
    default: '127.0.0.1',
    meaning: 'Address that ADMIN_PORT listens on.',
  },
  PUBLIC_URL: {
    schema: Type.String({ pattern: '^(?=[!-~]{1,128}$)https?://[^/?#"<>@]+(/[^?#"<>]*)?$' }),
    default: null,
    allowed: 'an address like https://api.example.com, without user and query, of up to 128 ASCII characters',
    meaning: 'Beginning of all links in responses. If empty, the address that the server listens on.',
  },
  CORS_ORIGINS: {
    schema: Type.String(),
    default: null,
    allowed: '* or origins like https://app.example.com,http://localhost:5173',
    meaning: 'Origins of web pages that may call the API (CORS), separated by commas, or * for all.',
    check: parseOrigins,
  },
  WORKERS: {
    schema: Type.Integer({ minimum: 1, maximum: 256 }),
    default: null,
    allowed: 'an integer from 1 to 256',
    meaning:
      'Number of worker processes. If empty, one for each processor; with the embedded PostgreSQL, one for every two processors.',
  },
  BOOTSTRAP_API_KEY: {
    schema: Type.String({ pattern: '^[\\x21-\\x7e]{20,256}$' }),
    default: null,
    allowed: '20 to 256 visible ASCII characters',
    meaning:
      'An API key with all rights: 20 to 256 visible ASCII characters. If this and DATABASE_URL are empty, the server makes a development key in DATA_DIR.',
  },
  RATE_LIMITS: {
    schema: Type.String(),
    default: '750/1m,2500/15m,25000/12h',
    allowed: 'limits like 750/1m,2500/15m (s, m, h, d)',
    meaning: 'Maximum requests of one key in each period. All limits apply at the same time.',
    check: parseRules,
  },
  RATE_LIMITS_ANONYMOUS: {
    schema: Type.String(),
    default: '60/1m',
    allowed: 'limits like 60/1m (s, m, h, d)',
    meaning: 'Maximum requests without a valid key, for each IPv4 address or IPv6 /64 network.',
    check: parseRules,
  },
  RATE_LIMIT_CLIENTS: {
    schema: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    default: '500',
    allowed: 'an integer from 1 to 1000000',
    meaning: 'Number of keys with rate limits in memory. Each key takes 4 bytes of shared memory times the largest limit.',
  },
  RATE_LIMIT_STORE: {
    schema: Type.String({ pattern: '^(redis|rediss|valkey|valkeys)://.+' }),
    default: null,
    allowed: 'an address like redis://user:password@host:6379/0',
    meaning: 'Address of a Redis 7 or Valkey, so that several machines share rate limits. If empty, each machine has its own.',
    check: parseUrl,
  },
  TRUSTED_PROXIES: {
    schema: Type.String(),
    default: null,
    allowed: 'addresses and networks like 10.0.0.0/8,::1',
    meaning: 'Addresses or networks of proxies whose X-Forwarded-For header is trusted.',
    check: parseNetworks,
  },
  CHANGES_DAYS: {
    schema: Type.Integer({ minimum: 0, maximum: 3_650 }),
    default: '30',
    allowed: 'an integer from 0 to 3650',
    meaning: 'Days for which GET /Changes keeps events. 0 turns events off.',
  },
  CHANGES_VALUES: {
    ...SWITCH,
    default: 'off',
    meaning: 'on also stores the old and new values of each change, for the history of a row.',
  },
  HOOKS_ALLOW: {
    schema: Type.String(),
    default: null,
    allowed: 'hosts, addresses and networks like receiver.internal,10.0.0.0/8',
    meaning: 'Hosts, addresses or networks to which webhooks may be sent although they are private or without TLS.',
    check: parseTargets,
  },
  MEMORY_MB: {
    schema: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
    default: '256',
    allowed: 'an integer from 0 to 1000000',
    meaning:
      'Maximum memory of each worker for copies of tables and answers, in MB. With 0, each list is read from the database; the responses are the same.',
  },
  SLOW_STATEMENT_MS: {
    schema: Type.Integer({ minimum: 0, maximum: 3_600_000 }),
    default: '1000',
    allowed: 'an integer from 0 to 3600000',
    meaning: 'Statements that take longer, in ms, are logged without their values. 0 turns this off.',
  },
  LOG_LEVEL: {
    schema: oneOf(LOG_LEVELS),
    default: 'info',
    allowed: 'debug, info, warn or error',
    meaning: 'Lowest level to log. info logs each request.',
  },
  LOG_FORMAT: {
    schema: oneOf(LOG_FORMATS),
    default: null,
    allowed: LOG_FORMATS.join(' or '),
    meaning: 'json (one object per line) or pretty. If empty, pretty on a terminal, else json.',
  },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof settings

/** Returns whether the value must not stand in a message; the checks of these settings do not repeat it either. */
export function isSecret(name: SettingName): boolean {
  return /^DATABASE_.*URL/.test(name) || name === 'BOOTSTRAP_API_KEY' || name === 'RATE_LIMIT_STORE'
}

function parseUrl(text: string): void {
  if (!URL.canParse(text)) throw new RangeError('it cannot be read')
}

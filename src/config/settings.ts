import { Type } from '@sinclair/typebox'
import { LOG_FORMATS, LOG_LEVELS } from '../log.ts'
import { parseRules } from '../model/limits.ts'
import { parseNetworks } from '../model/networks.ts'
import { parseOrigins } from '../model/origins.ts'
import { parseTargets } from '../model/targets.ts'
import { checkDatabaseUrl } from './databaseUrls.ts'
import type { Setting } from './setting.ts'

const oneOf = (values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)))

const FOLDER = { schema: Type.String({ minLength: 1 }), default: null, allowed: 'a folder' }
const FILE = { ...FOLDER, allowed: 'a file' }
const PORT = { schema: Type.Integer({ minimum: 0, maximum: 65535 }), allowed: 'an integer from 0 to 65535' }
const HOST = { schema: Type.String({ pattern: '^[0-9A-Za-z.:_-]{1,100}$' }), allowed: 'an address or a name' }
const SWITCH = { schema: Type.Union([Type.Literal('on'), Type.Literal('off')]), allowed: 'on or off' }

/** Every setting there is; the README's table and `.env.example` list the same. */
export const settings = {
  DATABASE_URL: {
    schema: Type.String({ pattern: '^postgres(ql)?://.+' }),
    default: null,
    allowed: 'an address like postgres://user:password@host:5432/database',
    meaning: 'PostgreSQL 14 to 18. Without it an embedded PostgreSQL is started in DATA_DIR.',
    check: checkDatabaseUrl,
  },
  DATABASE_DIRECT_URL: {
    schema: Type.String({ pattern: '^postgres(ql)?://.+' }),
    default: null,
    allowed: 'an address like postgres://user:password@host:5432/database',
    meaning:
      'The same database past the pooler that DATABASE_URL names: for migrations, keys, news of writes, and tables in columns.',
    check: checkDatabaseUrl,
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
  ENTITIES_DIR: {
    ...FOLDER,
    meaning: 'Where the entities are declared. Without it companies, employees and absences are served.',
  },
  MIGRATIONS_DIR: {
    ...FOLDER,
    meaning: 'Migrations of the tables of ENTITIES_DIR, which are applied after those of Roster.',
  },
  APP_FILE: {
    schema: Type.String({ minLength: 1 }),
    default: null,
    allowed: 'a module',
    meaning: 'A module with an Elysia app for a default export, which has routes of its own beside those of Roster.',
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
    ...HOST,
    default: '127.0.0.1',
    meaning: 'The address to listen on; 0.0.0.0 for all.',
  },
  PORT: {
    ...PORT,
    default: '3000',
    meaning: 'The port to listen on; 0 for any free one.',
  },
  TLS_CERT: {
    ...FILE,
    meaning: 'A certificate in PEM, and those that vouch for it: the server speaks HTTPS. A new one is taken as it is.',
  },
  TLS_KEY: {
    ...FILE,
    meaning: 'The file with the private key of TLS_CERT, in PEM, without a password.',
  },
  ADMIN_PORT: {
    ...PORT,
    default: null,
    meaning: 'A port of its own for /metrics, /livez and /readyz, without a key; without it there is none.',
  },
  ADMIN_HOST: {
    ...HOST,
    default: '127.0.0.1',
    meaning: 'The address that ADMIN_PORT listens on.',
  },
  PUBLIC_URL: {
    schema: Type.String({ pattern: '^(?=[!-~]{1,128}$)https?://[^/?#"<>@]+(/[^?#"<>]*)?$' }),
    default: null,
    allowed: 'an address like https://api.example.com, without user and query, of up to 128 ASCII characters',
    meaning: 'What links begin with; without it, the address listened on.',
  },
  CORS_ORIGINS: {
    schema: Type.String(),
    default: null,
    allowed: '* or origins like https://app.example.com,http://localhost:5173',
    meaning: 'Web pages that browsers let call the API: the origins of these, or * for all.',
    check: parseOrigins,
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
      'A key with all rights, beside those of `keys create`: 20 to 256 visible ASCII characters. Without it and DATABASE_URL a development key is made, kept in DATA_DIR, and printed on a terminal.',
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
  CHANGES: {
    schema: oneOf(['auto', 'slot', 'notify', 'off']),
    default: 'auto',
    allowed: 'auto, slot, notify or off',
    meaning:
      'How writes of others are known: slot reads them from the database’s log, notify hears of them, auto takes the first that can be had; off: not at all, so lists come from the database.',
  },
  CHANGES_DAYS: {
    schema: Type.Integer({ minimum: 0, maximum: 3_650 }),
    default: '30',
    allowed: 'an integer from 0 to 3650',
    meaning: 'How long lines of what has changed are kept, in days, for GET /Changes; 0: none are written.',
  },
  CHANGES_VALUES: {
    ...SWITCH,
    default: 'off',
    meaning: 'on keeps the values too that a write has changed, before and after, for the history of a row.',
  },
  HOOKS_ALLOW: {
    schema: Type.String(),
    default: null,
    allowed: 'hosts, addresses and networks like receiver.internal,10.0.0.0/8',
    meaning: 'Receivers of webhooks that may be at private addresses, or without TLS: hosts, addresses or networks.',
    check: parseTargets,
  },
  LIST_CACHE: {
    ...SWITCH,
    default: 'on',
    meaning: 'off answers every list from the database; the answers are the same.',
  },
  LIST_CACHE_MB: {
    schema: Type.Integer({ minimum: 1, maximum: 10_000 }),
    default: '16',
    allowed: 'an integer from 1 to 10000',
    meaning: 'Memory of each worker for what it knows of lists.',
  },
  COLUMNS_MB: {
    schema: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
    default: '256',
    allowed: 'an integer from 0 to 1000000',
    meaning: 'Memory of each worker for tables in columns, which answer lists not asked for before; 0: none.',
  },
  COLUMNS_LOAD: {
    schema: Type.Union([Type.Literal('demand'), Type.Literal('start')]),
    default: 'demand',
    allowed: 'demand or start',
    meaning: 'When a table is read into columns: once that has cost less than its lists, or when a worker starts.',
  },
  SLOW_STATEMENT_MS: {
    schema: Type.Integer({ minimum: 0, maximum: 3_600_000 }),
    default: '1000',
    allowed: 'an integer from 0 to 3600000',
    meaning: 'Statements that take so long are logged, by their shape and without values; 0: none.',
  },
  LOG_LEVEL: {
    schema: oneOf(LOG_LEVELS),
    default: 'info',
    allowed: 'debug, info, warn or error',
    meaning: 'The least level that is logged; info has a line for each request.',
  },
  LOG_FORMAT: {
    schema: oneOf(LOG_FORMATS),
    default: null,
    allowed: LOG_FORMATS.join(' or '),
    meaning: 'json: one object a line; pretty: for people. Without it, pretty on a terminal and json elsewhere.',
  },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof settings

/** Whether the value must not stand in a message; the checks of these settings do not repeat it either. */
export function isSecret(name: SettingName): boolean {
  return /^DATABASE_.*URL/.test(name) || name === 'BOOTSTRAP_API_KEY' || name === 'RATE_LIMIT_STORE'
}

function parseUrl(text: string): void {
  if (!URL.canParse(text)) throw new RangeError('it cannot be read')
}

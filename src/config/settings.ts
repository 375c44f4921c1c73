// The settings: defaults, allowed values, and meanings.
import { type TSchema, Type } from '@sinclair/typebox'
import { RedisClient } from 'bun'
import { LOG_FORMATS, LOG_LEVELS } from '../log.ts'
import { parseOrigins } from '../model/corsOrigins.ts'
import { readDatabaseUrl } from '../model/databaseUrl.ts'
import { parseRules } from '../model/limits.ts'
import { LOOPBACK, parseNetworks, parseTargets } from '../model/networks.ts'
import { readAuthorities } from '../os/certificate.ts'

export interface Setting {
  readonly schema: TSchema
  /** Default as an operator writes it; null if there is none. */
  readonly default: string | null
  /** Allowed values, as a message lists them after "must be". */
  readonly allowed: string
  readonly meaning: string
  /** Finds faults that `schema` cannot find. @throws Error with the reason */
  readonly check?: (text: string) => unknown
  /** Converts the text to the value in `Config`; undefined: the schema converts it. @throws as `check` */
  readonly read?: (text: string) => unknown
}

const oneOf = <Word extends string>(...words: readonly Word[]) => ({
  schema: Type.Unsafe<Word>(Type.Union(words.map((word) => Type.Literal(word)))),
  allowed: new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(words),
})
const text = (allowed: string, pattern = '') => ({ schema: Type.String({ pattern }), default: null, allowed })
const integer = (minimum: number, maximum: number) => ({
  schema: Type.Integer({ minimum, maximum }),
  allowed: `an integer from ${minimum} to ${maximum}`,
})

const DATABASE = {
  ...text('an address like postgres://user:password@host:5432/database', '^postgres(ql)?://.+'),
  /** Checks the address and the certificate file that it names. @throws Error whose message does not contain the address */
  check(address: string): void {
    const { authoritiesFile } = readDatabaseUrl(address)
    if (authoritiesFile !== undefined) readAuthorities(authoritiesFile)
  },
}
const FOLDER = text('a folder')
// Refuses a value that is the text of a PEM file instead of its path.
const FILE = text('a file', '^(?![\\s\\S]*-----BEGIN)')
const PORT = integer(0, 65535)
const HOST = text('an address or a name', '^[0-9A-Za-z.:_-]{1,100}$')

/**
 * Checks the address of an issuer. @throws RangeError if it cannot be parsed, or if it is http to another machine. Without TLS,
 * an attacker on the network could replace the issuer's keys.
 */
function checkIssuer(text: string): void {
  const { protocol, hostname } = URL.parse(text) ?? {}
  if (hostname === undefined) throw new RangeError('it cannot be read')
  if (protocol === 'http:' && !LOOPBACK.test(hostname))
    throw new RangeError('http is for issuers on this machine only: use https')
}

/** All settings. The tables in the docs and `.env.example` are generated from them. */
export const settings = {
  DATABASE_URL: {
    ...DATABASE,
    meaning: 'Address of your PostgreSQL, version 14 to 18. If empty, the server starts an embedded PostgreSQL in DATA_DIR.',
  },
  DATABASE_DIRECT_URL: {
    ...DATABASE,
    meaning: 'Address of the same database without the pooler: for migrations, webhooks, long renames and loading tables.',
  },
  DATABASE_POOL: {
    ...integer(1, 1000),
    default: '10',
    meaning: 'Maximum connections of each worker for requests. For renames and memory it opens up to 4 more.',
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
  MIGRATIONS_DIR: { ...FOLDER, meaning: 'Folder of the migrations for ENTITIES_DIR. They are applied after those of Roster.' },
  APP_FILE: {
    ...text('a module'),
    meaning: 'Module whose default export is an Elysia app: its routes are added to those of Roster.',
  },
  ROLES_FILE: {
    ...FILE,
    meaning: 'File with the roles of persons, and of keys that follow it. It is read at the start and at SIGUSR2.',
  },
  DATA_DIR: { ...FOLDER, default: '.data', meaning: 'Folder of the embedded PostgreSQL and of the development key.' },
  DEMO_DATA: {
    ...oneOf('0', '1'),
    default: '1',
    meaning: 'Whether a new embedded database gets sample data: 0 or 1.',
    read: (text: string) => text === '1',
  },
  HOST: { ...HOST, default: '127.0.0.1', meaning: 'Address to listen on. Use 0.0.0.0 for all addresses.' },
  PORT: { ...PORT, default: '3000', meaning: 'Port to listen on. Use 0 for any free port.' },
  TLS_CERT: {
    ...FILE,
    meaning: 'File with the certificate chain in PEM: the server then serves HTTPS. A renewed file is loaded without a restart.',
  },
  TLS_KEY: { ...FILE, meaning: 'File with the private key of TLS_CERT, in PEM, without a password.' },
  ADMIN_PORT: {
    ...PORT,
    default: null,
    meaning: 'Separate port for /metrics, /livez and /readyz, without keys. If empty, it is off.',
  },
  ADMIN_HOST: { ...HOST, default: '127.0.0.1', meaning: 'Address that ADMIN_PORT listens on.' },
  PUBLIC_URL: {
    ...text(
      'an address like https://api.example.com, without user and query, of up to 128 ASCII characters',
      '^(?=[!-~]{1,128}$)https?://[^/?#"<>@]+(/[^?#"<>]*)?$',
    ),
    meaning: 'Beginning of all links in responses. If empty, the address that the server listens on.',
    check(text: string): void {
      if (!URL.canParse(text)) throw new RangeError('it cannot be read')
    },
    read: (text: string) => text.replace(/\/+$/, ''),
  },
  CORS_ORIGINS: {
    ...text('* or origins like https://app.example.com,http://localhost:5173'),
    meaning: 'Origins of web pages that may call the API (CORS), separated by commas, or * for all.',
    check: parseOrigins,
  },
  DOCUMENT_NEEDS_KEY: {
    ...oneOf('0', '1'),
    default: '0',
    meaning: 'Whether /openapi.json, /docs and / describe the resources to requests with a key only: 0 or 1.',
    read: (text: string) => text === '1',
  },
  WORKERS: {
    ...integer(1, 256),
    default: null,
    meaning: 'Number of worker processes. If empty, one for each processor; with the embedded PostgreSQL, one for every two.',
  },
  BOOTSTRAP_API_KEY: {
    ...text('20 to 256 visible ASCII characters', '^[\\x21-\\x7e]{20,256}$'),
    meaning: 'A key with all rights. If this and DATABASE_URL are empty, the server makes one in DATA_DIR for development.',
  },
  OIDC_ISSUER: {
    ...text(
      'the address of an OpenID Connect issuer, like https://login.example.com, without query and #, of up to 200 characters',
      '^(?=[!-~]{1,200}$)https?://[^?#"<>@]+$',
    ),
    meaning: 'Issuer of the tokens by which persons sign in (Authorization: Bearer). If empty, only keys are accepted.',
    check: checkIssuer,
  },
  OIDC_AUDIENCE: {
    ...text('1 to 200 visible ASCII characters', '^[!-~]{1,200}$'),
    meaning: 'The audience that tokens of OIDC_ISSUER must have (aud). Tokens for other services are refused.',
  },
  OIDC_CLIENT_ID: {
    ...text('1 to 200 visible ASCII characters', '^[!-~]{1,200}$'),
    meaning:
      'Client as which /explore is registered with OIDC_ISSUER, public and with PKCE: people sign in there. If empty, by keys.',
  },
  OIDC_SCOPE: {
    ...text(
      'words like openid email, openid among them, of up to 500 characters',
      '^(?=[ -~]{1,500}$)(?=(.* )?openid( |$))[!#-[\\]-~ ]+$',
    ),
    default: 'openid email',
    meaning: 'What /explore asks OIDC_ISSUER for (scope). Some providers need a scope of this API, and offline_access.',
  },
  OIDC_TRUST_EMAIL: {
    ...oneOf('0', '1'),
    default: '0',
    meaning: 'Whether e-mail addresses of tokens count although the issuer does not call them verified: 0 or 1.',
    read: (text: string) => text === '1',
  },
  RATE_LIMITS: {
    ...text('limits like 750/1m,2500/15m (s, m, h, d)'),
    default: '750/1m,2500/15m,25000/12h',
    meaning: 'Maximum requests of one key in each period. All limits apply at the same time.',
    read: parseRules,
  },
  RATE_LIMITS_ANONYMOUS: {
    ...text('limits like 60/1m (s, m, h, d)'),
    default: '60/1m',
    meaning: 'Maximum requests without a valid key, for each IPv4 address or IPv6 /64 network.',
    read: parseRules,
  },
  RATE_LIMITS_PERSONS: {
    ...text('limits like 300/1m (s, m, h, d)'),
    default: '300/1m',
    meaning: 'Maximum requests of one person, who has signed in with OIDC_ISSUER. All limits apply at the same time.',
    read: parseRules,
  },
  RATE_LIMIT_CLIENTS: {
    ...integer(1, 1_000_000),
    default: '500',
    meaning: 'Number of keys with rate limits in memory. Each key takes 4 bytes of shared memory times the largest limit.',
  },
  RATE_LIMIT_STORE: {
    ...text('an address like redis://user:password@host:6379/0', '^(redis|rediss|valkey|valkeys)://.+'),
    meaning: 'Address of a Redis 7 or Valkey, so that several servers share rate limits. If empty, each counts for itself.',
    check: (text: string) => {
      try {
        new RedisClient(text).close()
      } catch {
        throw new RangeError('it cannot be read')
      }
    },
  },
  TRUSTED_PROXIES: {
    ...text('addresses and networks like 10.0.0.0/8,::1'),
    meaning: 'Addresses or networks, separated by commas, of proxies whose X-Forwarded-For header is trusted.',
    check: parseNetworks,
  },
  CHANGES_DAYS: { ...integer(0, 3_650), default: '30', meaning: 'Days for which GET /Changes keeps events. 0 turns events off.' },
  CHANGES_VALUES: {
    ...oneOf('on', 'off'),
    default: 'off',
    meaning: 'Whether old and new values of each change are stored, for the history of a row.',
    read: (text: string) => text === 'on',
  },
  HOOKS_ALLOW: {
    ...text('hosts, addresses and networks like receiver.internal,10.0.0.0/8'),
    meaning: 'Hosts, addresses or networks, separated by commas, for webhooks although private or without TLS.',
    check: parseTargets,
  },
  MEMORY_MB: {
    ...integer(0, 1_000_000),
    default: '256',
    meaning: 'Memory of each worker for copies of tables and answers, in MB. With 0, the database finds all lists.',
  },
  SLOW_STATEMENT_MS: {
    ...integer(0, 3_600_000),
    default: '1000',
    meaning: 'Statements that take longer, in ms, are logged without their values. 0 turns this off.',
  },
  LOG_LEVEL: { ...oneOf(...LOG_LEVELS), default: 'info', meaning: 'Lowest level to log. info logs each request.' },
  LOG_FORMAT: {
    ...oneOf(...LOG_FORMATS),
    default: null,
    meaning: 'json (one object per line) or pretty. If empty, pretty on a terminal, else json.',
  },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof settings

/**
 * True if messages must not contain the value of the setting. The `check` of such a setting must not repeat the value in its
 * error, either.
 */
export function isSecret(name: string, text: string | null = null): boolean {
  const isKey = text?.includes('-----BEGIN') === true
  return isKey || /^DATABASE_.*URL/.test(name) || name === 'BOOTSTRAP_API_KEY' || name === 'RATE_LIMIT_STORE'
}

/** Returns the text of the settings for `--help`. */
export function settingsHelp(): string {
  const blocks = Object.entries<Setting>(settings).map(([name, { default: fallback, meaning }]) => {
    const head = fallback === null ? `  ${name}` : `  ${name} (default: ${fallback})`
    // Wraps lines at 99 characters, with an indent.
    return `${head}\n${meaning.replace(/(.{1,93})(?: |$)/g, '      $1\n').trimEnd()}`
  })
  return ['Settings, as environment variables or lines of a .env file:', ...blocks].join('\n')
}

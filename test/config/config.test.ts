import { expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'
import { ConfigError, defaultWorkers, readConfig } from '../../src/config/config.ts'
import { settings } from '../../src/config/settings.ts'
import { parseRules } from '../../src/model/limits.ts'

const faults = (environment: Record<string, string>): string[] => {
  try {
    readConfig(environment)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message.split('\n')
  }
  return []
}

/** Each setting as text, as the value that is read, and its default. */
const ALL: Record<string, [text: string, value: unknown, fallback: unknown]> = {
  DATABASE_URL: ['postgresql://u:p@db:5433/hr', 'postgresql://u:p@db:5433/hr', null],
  DATABASE_DIRECT_URL: ['postgres://u:p@db:5432/hr', 'postgres://u:p@db:5432/hr', null],
  DATABASE_POOL: ['25', 25, 10],
  DATABASE_PREPARE: ['false', false, true],
  ENTITIES_DIR: ['entities', 'entities', null],
  MIGRATIONS_DIR: ['/srv/migrations', '/srv/migrations', null],
  APP_FILE: ['app.ts', 'app.ts', null],
  ROLES_FILE: ['/etc/roster/roles.txt', '/etc/roster/roles.txt', null],
  DATA_DIR: ['/var/lib/roster', '/var/lib/roster', '.data'],
  DEMO_DATA: ['0', false, true],
  HOST: ['::1', '::1', '127.0.0.1'],
  PORT: ['0', 0, 3000],
  TLS_CERT: ['/etc/roster/tls.crt', '/etc/roster/tls.crt', null],
  TLS_KEY: ['/etc/roster/tls.key', '/etc/roster/tls.key', null],
  ADMIN_PORT: ['9464', 9464, null],
  ADMIN_HOST: ['0.0.0.0', '0.0.0.0', '127.0.0.1'],
  PUBLIC_URL: ['https://api.example.com/hr', 'https://api.example.com/hr', null],
  CORS_ORIGINS: ['https://a.example,http://localhost:5173', 'https://a.example,http://localhost:5173', null],
  DOCUMENT_NEEDS_KEY: ['1', true, false],
  WORKERS: ['3', 3, defaultWorkers(false, availableParallelism())],
  BOOTSTRAP_API_KEY: ['k'.repeat(20), 'k'.repeat(20), null],
  OIDC_ISSUER: ['https://login.example.com/realms/acme/', 'https://login.example.com/realms/acme/', null],
  OIDC_AUDIENCE: ['https://roster.example.com', 'https://roster.example.com', null],
  OIDC_CLIENT_ID: ['roster-page', 'roster-page', null],
  OIDC_SCOPE: ['openid api://roster/read', 'openid api://roster/read', 'openid email'],
  OIDC_TRUST_EMAIL: ['1', true, false],
  RATE_LIMITS: ['10/1s,100/1h', parseRules('10/1s,100/1h'), parseRules('750/1m,2500/15m,25000/12h')],
  RATE_LIMITS_ANONYMOUS: ['5/1d', parseRules('5/1d'), parseRules('60/1m')],
  RATE_LIMITS_PERSONS: ['30/1m', parseRules('30/1m'), parseRules('300/1m')],
  RATE_LIMIT_CLIENTS: ['20', 20, 500],
  RATE_LIMIT_STORE: ['redis://:secret@cache:6379/1', 'redis://:secret@cache:6379/1', null],
  TRUSTED_PROXIES: ['10.0.0.0/8, ::1', '10.0.0.0/8, ::1', null],
  CHANGES_DAYS: ['7', 7, 30],
  CHANGES_VALUES: ['on', true, false],
  HOOKS_ALLOW: ['receiver.internal, 10.0.0.0/8', 'receiver.internal, 10.0.0.0/8', null],
  MEMORY_MB: ['1024', 1_024, 256],
  SLOW_STATEMENT_MS: ['50', 50, 1_000],
  LOG_LEVEL: ['debug', 'debug', 'info'],
  LOG_FORMAT: ['json', 'json', null],
}

test('each setting is read, and has a default', () => {
  expect(Object.keys(ALL)).toEqual(Object.keys(settings))
  const keyOf = (name: string) => name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  const configOf = (part: 1 | 2) => Object.fromEntries(Object.entries(ALL).map(([name, all]) => [keyOf(name), all[part]]))
  const environment = Object.fromEntries(Object.entries(ALL).map(([name, [text]]) => [name, text]))
  expect(readConfig(environment)).toEqual(configOf(1) as never)
  expect(readConfig({})).toEqual(configOf(2) as never)
  expect(Object.isFrozen(readConfig({}))).toBe(true)
})

test('the default of WORKERS is one per processor, or one per two processors with the embedded PostgreSQL', () => {
  const embedded = [1, 2, 3, 4, 16].map((processors) => defaultWorkers(false, processors))
  expect(embedded).toEqual([1, 1, 1, 2, 8])
  expect([1, 2, 3].map((processors) => defaultWorkers(true, processors))).toEqual([1, 2, 3])
  expect(readConfig({ DATABASE_URL: 'postgres://db/hr' }).workers).toBe(availableParallelism())
  expect(readConfig({ WORKERS: '5' }).workers).toBe(5)
})

test('TLS_CERT needs TLS_KEY, and TLS_KEY needs TLS_CERT', () => {
  for (const one of [{ TLS_CERT: 'tls.crt' }, { TLS_KEY: 'tls.key' }])
    expect(faults(one)).toEqual(['TLS_CERT and TLS_KEY go together: one of them is not set'])
  expect(faults({ TLS_KEY: '-----BEGIN PRIVATE KEY-----\nAAAA' })[0]).toBe('TLS_KEY must be a file')
})

test('D97: OIDC_ISSUER needs OIDC_AUDIENCE and ROLES_FILE', () => {
  expect(faults({ OIDC_ISSUER: 'https://login.example.com' })).toEqual([
    expect.stringMatching(/^OIDC_ISSUER needs OIDC_AUDIENCE/),
    expect.stringMatching(/^OIDC_ISSUER needs ROLES_FILE/),
  ])
  expect(faults({ OIDC_AUDIENCE: 'roster', ROLES_FILE: 'roles.txt' })).toEqual([])
})

test('D107: OIDC_CLIENT_ID needs OIDC_ISSUER, and OIDC_SCOPE needs OIDC_CLIENT_ID', () => {
  expect(faults({ OIDC_CLIENT_ID: 'roster-page' })).toEqual([
    expect.stringMatching(/^OIDC_CLIENT_ID .* OIDC_ISSUER, which is not/),
  ])
  expect(faults({ OIDC_SCOPE: 'openid' })).toEqual([expect.stringMatching(/^OIDC_SCOPE .* OIDC_CLIENT_ID, which is not set/)])
})

test('an empty setting counts as not set, and variables that are no settings are ignored', () => {
  const empty = Object.fromEntries(Object.keys(settings).map((name) => [name, '']))
  expect(readConfig({ ...empty, HOME: '/root', PORTS: 'x' })).toEqual(readConfig({}))
})

test('PUBLIC_URL is read without slashes at its end', () => {
  expect(readConfig({ PUBLIC_URL: 'https://api.example.com//' }).publicUrl).toBe('https://api.example.com')
})

test.each(
  Object.entries({
    DATABASE_URL: ['mysql://db', 'localhost', 'postgres://', 'postgres://u:p?p@db', 'postgres://db/hr?user=x'],
    OIDC_ISSUER: [
      'login.example.com',
      'http://login.example.com',
      'http://localhost.example.com',
      'http://10.0.0.1',
      'https://login.example.com?tenant=acme',
      'https://login.example.com#a',
      'https://user:password@login.example.com',
      'https://',
      'https://[::1',
      `https://${'a'.repeat(200)}`,
    ],
    OIDC_AUDIENCE: ['a b', 'ä', 'a'.repeat(201)],
    OIDC_CLIENT_ID: ['a b', 'ä', 'a'.repeat(201)],
    OIDC_SCOPE: ['email', 'OpenID', 'openid"', 'openid\\', 'openid ä', 'openidx', `openid ${'a'.repeat(500)}`],
    OIDC_TRUST_EMAIL: ['2', 'yes'],
    RATE_LIMITS_PERSONS: ['300', '0/1m', '300/1m,10/1m'],
    DATABASE_POOL: ['0', '1001', '-1', 'many', '10.5', '1e2'],
    DATABASE_PREPARE: ['yes', 'maybe'],
    DEMO_DATA: ['2', 'true', '00'],
    HOST: ['a b', 'http://localhost', '127.0.0.1/8', 'a'.repeat(101)],
    PORT: ['65536', '-1', 'http', '80abc', '3000.7', '1e3', '0x50'],
    PUBLIC_URL: [
      'api.example.com',
      'ftp://a',
      'https://a?b',
      'https://a#b',
      'https://user:password@a',
      'https://a b',
      'https://',
      'https://[::1',
      'https://a:99999',
      'https://ä.example',
      `https://${'a'.repeat(121)}`,
    ],
    BOOTSTRAP_API_KEY: ['k', 'k'.repeat(19), 'k'.repeat(257), `${'k'.repeat(20)} k`, 'ä'.repeat(20)],
    WORKERS: ['0', '257', 'two', '1.5'],
    RATE_LIMITS: ['750', '0/1m', '750/1w', '750/1m,', '1/1m,2/60s', '1000001/1m', '1/7d'],
    RATE_LIMITS_ANONYMOUS: ['60', '60/m', '60 / 1m'],
    RATE_LIMIT_CLIENTS: ['0', '-5', '1000001', 'all'],
    RATE_LIMIT_STORE: ['redis://h/abc', 'localhost', 'http://a', 'redis://', 'redis://[::zz]:1'],
    TRUSTED_PROXIES: ['localhost', '10.0.0.0/33', '::1/129', '10.0.0.1,', '10.0.0.0/8;::1'],
    MEMORY_MB: ['-1', '1000001', '1.5', '16M'],
    CHANGES_VALUES: ['true', '1', 'ON'],
    LOG_LEVEL: ['INFO', 'loud', '1'],
    LOG_FORMAT: ['xml', 'JSON'],
  }),
)('a wrong %s is refused', (name, values) => {
  const { allowed } = settings[name as keyof typeof settings]
  for (const value of values)
    expect([value, faults({ [name]: value })]).toEqual([value, [expect.stringContaining(`${name} must be ${allowed}`)]])
})

test('an error in a list of values names the faulty value', () => {
  expect(faults({ RATE_LIMITS: '750/1m,2500/15x', TRUSTED_PROXIES: '::1,10.0.0.0/64' })).toEqual([
    'RATE_LIMITS must be limits like 750/1m,2500/15m (s, m, h, d); "2500/15x" is not a limit like 750/1m',
    'TRUSTED_PROXIES must be addresses and networks like 10.0.0.0/8,::1; "10.0.0.0/64" is not an address or a network like 10.0.0.0/8',
  ])
})

test('an error repeats the value of a setting, unless the setting is secret', () => {
  expect(faults({ PORT: 'http' })).toEqual(['PORT must be an integer from 0 to 65535; it is "http"'])
  const secrets = faults({
    DATABASE_URL: 'mysql://root:hunter2@db',
    BOOTSTRAP_API_KEY: 'hunter2 hunter2',
    RATE_LIMIT_STORE: 'redis://:hunter2@[::zz]:1',
  })
  expect(secrets).toHaveLength(3)
  expect(secrets.join()).not.toContain('hunter2')
})

test('DATABASE_DIRECT_URL without DATABASE_URL is refused, and no error repeats the address', () => {
  expect(faults({ DATABASE_DIRECT_URL: 'postgres://u:secret@db/hr' })).toEqual([
    'DATABASE_DIRECT_URL needs DATABASE_URL, which is not set',
  ])
  const [fault = ''] = faults({ DATABASE_URL: 'postgres://db/hr', DATABASE_DIRECT_URL: 'secret' })
  expect(fault).toStartWith('DATABASE_DIRECT_URL must be an address')
  expect(fault).not.toContain('secret')
})

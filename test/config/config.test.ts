import { describe, expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'
import { ConfigError, defaultWorkers, readConfig } from '../../src/config/config.ts'
import { settings } from '../../src/config/settings.ts'
import { FORMER } from '../../src/config/strays.ts'
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

test('nothing set: the defaults', () => {
  expect(readConfig({})).toEqual({
    databaseUrl: null,
    databaseDirectUrl: null,
    databasePool: 10,
    databasePrepare: true,
    entitiesDir: null,
    migrationsDir: null,
    appFile: null,
    dataDir: '.data',
    demoData: true,
    host: '127.0.0.1',
    port: 3000,
    tlsCert: null,
    tlsKey: null,
    adminPort: null,
    adminHost: '127.0.0.1',
    publicUrl: null,
    corsOrigins: null,
    workers: defaultWorkers(false, availableParallelism()),
    bootstrapApiKey: null,
    rateLimits: parseRules('750/1m,2500/15m,25000/12h'),
    rateLimitsAnonymous: parseRules('60/1m'),
    rateLimitClients: 500,
    rateLimitStore: null,
    trustedProxies: null,
    changesDays: 30,
    changesValues: false,
    hooksAllow: null,
    memoryMb: 256,
    slowStatementMs: 1_000,
    logLevel: 'info',
    logFormat: null,
  })
})

test('WORKERS: one for each processor, or for every two where PostgreSQL is embedded', () => {
  const embedded = [1, 2, 3, 4, 16].map((processors) => defaultWorkers(false, processors))
  expect(embedded).toEqual([1, 1, 1, 2, 8])
  expect([1, 2, 3].map((processors) => defaultWorkers(true, processors))).toEqual([1, 2, 3])
  expect(readConfig({ DATABASE_URL: 'postgres://db/hr' }).workers).toBe(availableParallelism())
  expect(readConfig({ WORKERS: '5' }).workers).toBe(5)
})

test('all set', () => {
  const environment = {
    DATABASE_URL: 'postgresql://u:p@db:5433/hr',
    DATABASE_DIRECT_URL: 'postgres://u:p@db:5432/hr',
    DATABASE_POOL: '25',
    DATABASE_PREPARE: 'false',
    ENTITIES_DIR: 'entities',
    MIGRATIONS_DIR: '/srv/migrations',
    APP_FILE: 'app.ts',
    DATA_DIR: '/var/lib/roster',
    DEMO_DATA: '0',
    HOST: '::1',
    PORT: '0',
    TLS_CERT: '/etc/roster/tls.crt',
    TLS_KEY: '/etc/roster/tls.key',
    ADMIN_PORT: '9464',
    ADMIN_HOST: '0.0.0.0',
    PUBLIC_URL: 'https://api.example.com/hr',
    CORS_ORIGINS: 'https://app.example.com,http://localhost:5173',
    WORKERS: '3',
    BOOTSTRAP_API_KEY: 'k'.repeat(20),
    RATE_LIMITS: '10/1s,100/1h',
    RATE_LIMITS_ANONYMOUS: '5/1d',
    RATE_LIMIT_CLIENTS: '20',
    RATE_LIMIT_STORE: 'redis://:secret@cache:6379/1',
    TRUSTED_PROXIES: '10.0.0.0/8, ::1',
    CHANGES_DAYS: '7',
    CHANGES_VALUES: 'on',
    HOOKS_ALLOW: 'receiver.internal, 10.0.0.0/8',
    MEMORY_MB: '1024',
    SLOW_STATEMENT_MS: '50',
    LOG_LEVEL: 'debug',
    LOG_FORMAT: 'json',
  }
  expect(Object.keys(environment)).toEqual(Object.keys(settings))
  expect(readConfig(environment)).toEqual({
    databaseUrl: 'postgresql://u:p@db:5433/hr',
    databaseDirectUrl: 'postgres://u:p@db:5432/hr',
    databasePool: 25,
    databasePrepare: false,
    entitiesDir: 'entities',
    migrationsDir: '/srv/migrations',
    appFile: 'app.ts',
    dataDir: '/var/lib/roster',
    demoData: false,
    host: '::1',
    port: 0,
    tlsCert: '/etc/roster/tls.crt',
    tlsKey: '/etc/roster/tls.key',
    adminPort: 9464,
    adminHost: '0.0.0.0',
    publicUrl: 'https://api.example.com/hr',
    corsOrigins: 'https://app.example.com,http://localhost:5173',
    workers: 3,
    bootstrapApiKey: 'k'.repeat(20),
    rateLimits: parseRules('10/1s,100/1h'),
    rateLimitsAnonymous: parseRules('5/1d'),
    rateLimitClients: 20,
    rateLimitStore: 'redis://:secret@cache:6379/1',
    trustedProxies: '10.0.0.0/8, ::1',
    changesDays: 7,
    changesValues: true,
    hooksAllow: 'receiver.internal, 10.0.0.0/8',
    memoryMb: 1024,
    slowStatementMs: 50,
    logLevel: 'debug',
    logFormat: 'json',
  })
})

test('a certificate and its key go together', () => {
  for (const one of [{ TLS_CERT: 'tls.crt' }, { TLS_KEY: 'tls.key' }])
    expect(faults(one)).toEqual(['TLS_CERT and TLS_KEY go together: one of them is not set'])
})

test('an empty setting counts as not set', () => {
  expect(readConfig(Object.fromEntries(Object.keys(settings).map((name) => [name, ''])))).toEqual(readConfig({}))
})

test('PUBLIC_URL loses its slashes at the end, so that links have one between', () => {
  expect(readConfig({ PUBLIC_URL: 'https://api.example.com//' }).publicUrl).toBe('https://api.example.com')
})

test('the configuration does not change', () => {
  expect(Object.isFrozen(readConfig({}))).toBe(true)
})

test('what is no setting is ignored', () => {
  expect(readConfig({ HOME: '/root', PORTS: 'x' })).toEqual(readConfig({}))
})

describe('a wrong setting is refused', () => {
  for (const [name, values] of Object.entries({
    DATABASE_URL: ['mysql://db', 'localhost', 'postgres://', 'postgres://u:p?p@db', 'postgres://db/hr?user=x'],
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
      'https://ä.example',
      `https://${'a'.repeat(121)}`,
    ],
    BOOTSTRAP_API_KEY: ['k', 'k'.repeat(19), 'k'.repeat(257), `${'k'.repeat(20)} k`, 'ä'.repeat(20)],
    WORKERS: ['0', '257', 'two', '1.5'],
    RATE_LIMITS: ['750', '0/1m', '750/1w', '750/1m,', '1/1m,2/60s', '1000001/1m', '1/7d'],
    RATE_LIMITS_ANONYMOUS: ['60', '60/m', '60 / 1m'],
    RATE_LIMIT_CLIENTS: ['0', '-5', '1000001', 'all'],
    RATE_LIMIT_STORE: ['localhost', 'http://a', 'redis://', 'redis://[::zz]:1'],
    TRUSTED_PROXIES: ['localhost', '10.0.0.0/33', '::1/129', '10.0.0.1,', '10.0.0.0/8;::1'],
    MEMORY_MB: ['-1', '1000001', '1.5', '16M'],
    CHANGES_VALUES: ['true', '1', 'ON'],
    LOG_LEVEL: ['INFO', 'loud', '1'],
    LOG_FORMAT: ['xml', 'JSON'],
  }))
    for (const value of values)
      test(`${name}=${value.slice(0, 20)}`, () => {
        const [fault, ...more] = faults({ [name]: value })
        expect(more).toEqual([])
        expect(fault).toStartWith(`${name} must be ${settings[name as keyof typeof settings].allowed}`)
      })
})

test('every fault is listed', () => {
  const wrong = { LOG_FORMAT: 'xml', PORT: 'http', DATABASE_URL: 'x' }
  const listed = faults(wrong).map((line) => line.split(' ')[0])
  expect(listed.sort()).toEqual(['DATABASE_URL', 'LOG_FORMAT', 'PORT'])
})

test('a fault in a list names the part that is wrong', () => {
  expect(faults({ RATE_LIMITS: '750/1m,2500/15x', TRUSTED_PROXIES: '::1,10.0.0.0/64' })).toEqual([
    'RATE_LIMITS must be limits like 750/1m,2500/15m (s, m, h, d); "2500/15x" is not a limit like 750/1m',
    'TRUSTED_PROXIES must be addresses and networks like 10.0.0.0/8,::1; "10.0.0.0/64" is not an address or a network like 10.0.0.0/8',
  ])
})

test('DATABASE_URL may not decide what the server decides; the fault names each parameter, and no value', () => {
  const url = 'postgres://u:hunter2@db/hr?sslmode=require&TimeZone=hunter2&max=99&statement_timeout=0&connect_timeout=x'
  const [fault, ...more] = faults({ DATABASE_URL: url })
  expect(more).toEqual([])
  expect(fault).toStartWith('DATABASE_URL must be an address like postgres://')
  for (const name of ['TimeZone', 'max', 'statement_timeout', 'connect_timeout']) expect(fault).toContain(name)
  expect(fault).not.toContain('hunter2')
})

test('a fault repeats the value, unless it is a secret', () => {
  expect(faults({ PORT: 'http' })).toEqual(['PORT must be an integer from 0 to 65535; it is "http"'])
  const secrets = faults({
    DATABASE_URL: 'mysql://root:hunter2@db',
    BOOTSTRAP_API_KEY: 'hunter2 hunter2',
    RATE_LIMIT_STORE: 'redis://:hunter2@[::zz]:1',
  })
  expect(secrets).toHaveLength(3)
  expect(secrets.join()).not.toContain('hunter2')
})

test('a former setting is refused by its name, with what to do and without its value', () => {
  for (const [name, remedy] of Object.entries(FORMER)) expect(faults({ [name]: 'hunter2' })).toEqual([`${name} ${remedy}`])
})

test('an address past the pooler without that of the pooler is refused, and is not repeated', () => {
  expect(faults({ DATABASE_DIRECT_URL: 'postgres://u:secret@db/hr' })).toEqual([
    'DATABASE_DIRECT_URL is beside DATABASE_URL, which is not set',
  ])
  const [fault = ''] = faults({ DATABASE_URL: 'postgres://db/hr', DATABASE_DIRECT_URL: 'secret' })
  expect(fault).toStartWith('DATABASE_DIRECT_URL must be an address')
  expect(fault).not.toContain('secret')
})

import { describe, expect, test } from 'bun:test'
import { parseEnvironmentFile } from '../../src/config/environmentFiles.ts'
import { settings } from '../../src/config/settings.ts'
import { nearMisses, unknownLines } from '../../src/config/unknownSettings.ts'

const faultsOf = (text: string) => unknownLines([parseEnvironmentFile('.env', text)])
const missesOf = (...names: string[]) =>
  nearMisses(Object.fromEntries(names.map((name) => [name, 'x']))).map(({ name, meant }) => `${name}: ${meant}`)

describe('a line of a file', () => {
  test('with a known setting is accepted', () => {
    expect(
      faultsOf(
        Object.keys(settings)
          .map((name) => `${name}=x`)
          .join('\n'),
      ),
    ).toEqual([])
  })

  test('an unknown setting in a file is a fault with the file and the nearest setting, and without its value', () => {
    expect(unknownLines([parseEnvironmentFile('.env.local', 'DATABSE_URL=postgres://u:hunter2@db/hr')])).toEqual([
      '.env.local sets DATABSE_URL, which is no setting. Did you mean DATABASE_URL?',
    ])
    expect(faultsOf('RATE_LIMIT=1/1s\n# LOGLEVEL=x\nexport LOGLEVEL=debug\n  PROT = 80\r\nSECRET="x"')).toEqual([
      '.env sets RATE_LIMIT, which is no setting. Did you mean RATE_LIMITS?',
      '.env sets LOGLEVEL, which is no setting. Did you mean LOG_LEVEL?',
      '.env sets PROT, which is no setting. Did you mean PORT?',
      '.env sets SECRET, which is no setting.',
    ])
  })

  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: as files refer to other lines
  test('a variable of Bun, Node or PostgreSQL in a file is accepted, and so is a variable to which another line refers', () => {
    expect(faultsOf('NODE_EXTRA_CA_CERTS=/ca.pem\nBUN_CONFIG_VERBOSE_FETCH=1\nPGPASSWORD=x\nPGSSLMODE=require')).toEqual([])
    expect(faultsOf('SECRET=x\nDATABASE_URL=postgres://u:${SECRET}@db/hr\nUSERNAME=u\nBOOTSTRAP_API_KEY=$USERNAME')).toEqual([])
    expect(faultsOf('SECRET=x\nBOOTSTRAP_API_KEY=\\$SECRET')).toHaveLength(1)
  })
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: as files refer to other lines

  test('a line within a quoted value is not read as a setting', () => {
    expect(faultsOf("BOOTSTRAP_API_KEY=\"a\nRATE_LIMIT=1\n\"\nHOST='b\nX=1'\nDATA_DIR=it's\nLOGLEVEL=debug")).toEqual([
      '.env sets LOGLEVEL, which is no setting. Did you mean LOG_LEVEL?',
    ])
  })
})

describe('variables of the environment', () => {
  test('a variable that differs from a setting by a letter, underscores or case is a near miss', () => {
    expect(missesOf('LOGLEVEL', 'DATABASEURL', 'log_format', 'CORS_ORIGIN', 'WORKER')).toEqual([
      'LOGLEVEL: LOG_LEVEL',
      'DATABASEURL: DATABASE_URL',
      'log_format: LOG_FORMAT',
      'CORS_ORIGIN: CORS_ORIGINS',
      'WORKER: WORKERS',
    ])
  })

  test('neither the exact name of a setting nor an empty variable counts as a near miss', () => {
    expect(missesOf(...Object.keys(settings))).toEqual([])
    expect(nearMisses({ RATE_LIMIT: '', LOGLEVEL: undefined })).toEqual([])
  })

  test('variables of other programs, and the variables of this machine, are no near misses', () => {
    expect(nearMisses(process.env)).toEqual([])
    expect(missesOf(...COMMON.split(/\s+/))).toEqual([])
  })
})

/**
 * Common variables of shells, desktops, systemd, containers, orchestrators, hosters, CI, languages, and servers with databases.
 */
const COMMON = `
  HOME HOST HOSTNAME HOSTS HOSTTYPE HOST_IP HOST_PORT PORT PORTS PORT_HTTP HTTP_PORT SSH_PORT PWD OLDPWD PATH SHELL SHLVL TERM USER
  LOGNAME LANG LC_ALL TZ DISPLAY EDITOR PAGER MAIL TMPDIR COLUMNS LINES MANPATH LS_COLORS COLORTERM TERM_PROGRAM XDG_DATA_DIRS
  XDG_DATA_HOME XDG_CONFIG_DIRS XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK SSH_CONNECTION SUDO_USER INVOCATION_ID
  JOURNAL_STREAM NOTIFY_SOCKET LISTEN_FDS LISTEN_PID MAINPID WATCHDOG_USEC STATE_DIRECTORY LOGS_DIRECTORY CACHE_DIRECTORY
  KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT ROSTER_PORT ROSTER_SERVICE_HOST ROSTER_SERVICE_PORT
  POSTGRES_PORT POSTGRES_HOST POSTGRES_URL POSTGRES_USER POSTGRES_PASSWORD POSTGRES_DB PGDATA PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE
  DATABASE DATABASE_HOST DATABASE_PORT DATABASE_NAME DATABASE_USER DATABASE_PASSWORD DATABASE_DIRECT_URL DATABASE_PUBLIC_URL
  DATABASE_URL_UNPOOLED DATABASE_POOL_SIZE DATABASE_POOL_MAX DATABASE_SSL DB_URL DB_HOST DB_PORT DB_NAME DB_POOL DB_USER REDIS_URL
  REDIS_HOST REDIS_PORT REDIS_TLS_URL AMQP_URL MONGO_URL SENTRY_DSN NEW_RELIC_LOG NEW_RELIC_LOG_LEVEL DD_LOGS_INJECTION DD_AGENT_HOST
  OTEL_LOG_LEVEL OTEL_SERVICE_NAME NODE_ENV NODE_OPTIONS NODE_VERSION NODE_PATH BUN_INSTALL BUN_ENV npm_config_cache npm_config_loglevel
  npm_lifecycle_event npm_package_name npm_execpath INIT_CWD NVM_DIR YARN_VERSION CI GITHUB_ACTIONS GITHUB_TOKEN RUNNER_OS GITLAB_CI
  CI_PROJECT_DIR BUILD_NUMBER JENKINS_URL DYNO WEB_CONCURRENCY MEMORY_AVAILABLE LOG_CHANNEL LOG_DIR LOG_FILE LOG_PATH LOG_NAME LOGGING
  LOGDIR LOG_TO_STDOUT LOG_COLOR LOGS VERBOSE DEBUG DATA DATA_PATH DATA_ROOT DATA_SOURCE DATABASES DEMO DEMO_MODE API_KEY API_URL BASE_URL
  PUBLIC_HOST PUBLIC_PORT PUBLIC_PATH PUBLIC_IP PUBLIC_DIR SERVER_URL APP_URL APP_PORT APP_HOST SITE_URL ROOT_URL RAILWAY_PUBLIC_DOMAIN
  RENDER_EXTERNAL_URL FLY_APP_NAME VERCEL_URL CORS CORS_ALLOWED_ORIGINS CORS_ENABLED ALLOWED_ORIGINS ALLOWED_HOSTS TRUST_PROXY PROXY
  HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY RATE RATE_LIMIT_WINDOW RATE_LIMIT_MAX RATE_LIMIT_ENABLED THROTTLE LIMITS CACHE CACHE_URL CACHE_TTL
  CACHE_DIR LIST CLIENTS STORE PYTHONPATH VIRTUAL_ENV JAVA_HOME GOPATH CARGO_HOME GEM_HOME WORKER_ID WORKER_COUNT NUM_WORKERS MAX_WORKERS
  WORKERS_MAX WORKDIR WORKSPACE WORKER_PROCESSES UVICORN_WORKERS GUNICORN_WORKERS SSL_CERT_FILE SSL_CERT_DIR SECRET_KEY JWT_SECRET`.trim()

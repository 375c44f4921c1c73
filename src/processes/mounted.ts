import type { AnyElysia } from 'elysia'
import { version } from '../../package.json'
import { developmentKeyFile } from '../admit/developmentKey.ts'
import { readConfig } from '../config/config.ts'
import { mountApi } from '../http/ownRoutes.ts'
import { createLog, type Log } from '../log.ts'
import { readSamples } from '../metrics/counts.ts'
import type { ToWorker } from './messages.ts'
import type { Started } from './started.ts'
import { Supervisor } from './supervisor.ts'
import { hostInUrl, type ServedAt, type Surroundings, startWorker, type Worker } from './worker.ts'
import type { Pool, PoolOptions } from './workerPool.ts'

/** How the API is served within an app; what is not given is as the environment says. */
export interface RosterOptions {
  /** The folder with the declarations. */
  readonly entities?: string
  /** The folder with their migrations. */
  readonly migrations?: string
  readonly databaseUrl?: string
  /** Any settings, by their names: `{ RATE_LIMITS: '100/1m' }`. */
  readonly settings?: Readonly<Record<string, string>>
}

type Environment = Readonly<Record<string, string | undefined>>

/** The app that serves the API is another's: these settings say nothing there. */
const NOT_MINE = { PORT: '0', WORKERS: '1', APP_FILE: '', TLS_CERT: '', TLS_KEY: '' }

/**
 * The API as part of an app of one's own, in this process alone: `new Elysia().use(await roster({ entities: 'entities' }))`. Database,
 * migrations, keys, limits and list cache are as in a server. SIGTERM and SIGINT end it and the process.
 * @throws Error that says what is wrong with settings, database or tables
 */
export async function mountedApi(options: RosterOptions, environment: Environment): Promise<AnyElysia> {
  const { entities, migrations, databaseUrl, settings } = options
  const config = readConfig({
    ...environment,
    ...(entities !== undefined && { ENTITIES_DIR: entities }),
    ...(migrations !== undefined && { MIGRATIONS_DIR: migrations }),
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    ...settings,
    ...NOT_MINE,
  })
  const log = createLog(config.logLevel, config.logFormat)
  let api: AnyElysia | null = null
  const end = async (code: number) => {
    await supervisor.stop()
    await log.flush()
    process.exit(code)
  }
  const supervisor = new Supervisor(
    config,
    log,
    () => end(1),
    (pool) =>
      new OneProcess(pool, (app, serve) => {
        api = app
        mount(app, serve)
      }),
  )
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => end(0))
  let started: Started
  try {
    started = await supervisor.start()
  } catch (error) {
    await supervisor.stop()
    throw error
  }
  const key = started.developmentKey && { key: `in ${developmentKeyFile(config.dataDir)}` }
  log.info('the API is part of an app', { version, pid: process.pid, ...key })
  return api as unknown as AnyElysia
}

/** Serves the app wherever the one that uses it is. */
function mount(app: Parameters<NonNullable<Surroundings['mount']>>[0], serve: (at: ServedAt) => void) {
  const outers = new WeakMap<Request, Request>()
  app.onStart(({ server }) => {
    if (server === null) return
    const facade = {
      port: server.port,
      requestIP: (request: Request) => server.requestIP(outers.get(request) ?? request),
      timeout: (request: Request, seconds: number) => server.timeout(outers.get(request) ?? request, seconds),
      stop: (isNow: boolean) => server.stop(isNow),
      get pendingRequests() {
        return server.pendingRequests
      },
    }
    const url = `${server.url.protocol}//${hostInUrl(server.hostname ?? 'localhost')}:${server.port}`
    serve({ server: facade as unknown as typeof server, url })
  })
  mountApi({
    async handle(inner, outer) {
      outers.set(inner, outer)
      return app.handle(inner)
    },
  })
}

/** What stands for the worker processes of a server where there are none. */
class OneProcess implements Pool {
  readonly running = new Map([[1, process.pid]])
  readonly replacements = 0
  private worker: Promise<Worker> | undefined
  private readonly log: Log

  constructor(
    private readonly options: PoolOptions,
    private readonly mount: NonNullable<Surroundings['mount']>,
  ) {
    this.log = options.log
  }

  async start() {
    const { onReport, startMessage } = this.options
    const { config, ...surroundings } = startMessage(null, 1)
    this.options.onStart(1)
    this.worker = startWorker(config, {
      ...surroundings,
      log: this.log,
      mount: this.mount,
      tablesFor: (limits) =>
        new Promise((resolve) =>
          onReport({ kind: 'keys', limits }, 1, (reply) => reply.kind === 'tables' && resolve(reply.tables)),
        ),
      onOutcomeUnknown: (connections) => onReport({ kind: 'disown', connections }, 1, () => undefined),
      onWake: () => onReport({ kind: 'wake' }, 1, () => undefined),
    })
    const { hasKeys } = await this.worker
    return { url: '', port: 0, hasKeys }
  }

  async poll() {
    this.options.onSamples(1, readSamples())
  }

  broadcast(message: ToWorker) {
    if (message.kind === 'begin') this.worker?.then((worker) => worker.begin(message.cursorSecret))
  }

  async stop(leaveMs: number) {
    await (await this.worker?.catch(() => null))?.stop(leaveMs)
  }

  /** The process is its owner's. */
  restart() {
    this.log.warn('the tables of the limits are new: they count once the app has been started again')
  }

  kill() {
    process.exit(1)
  }
}

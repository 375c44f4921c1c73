import { rmSync } from 'node:fs'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { type RunningProgram, run, temporaryFolder } from './process.ts'
import { type Asked, askAt } from './requests.ts'
import { KEY } from './server.ts'

/** Command that starts a server; with further words it runs a command of the command line. */
export const MAIN = [process.execPath, '--no-env-file', 'src/main.ts']
/** Matches the line of a server that has started, and its URL. */
export const LISTENS = /listens on (https?:\S+?),/

/**
 * Settings of all servers: the key of the tests, limits that no test reaches, and no slow statements in the log, because on a
 * busy machine any statement may be slow.
 */
const DEFAULTS = {
  ...{ PORT: '0', WORKERS: '2', LOG_FORMAT: 'pretty', LOG_LEVEL: 'warn', SLOW_STATEMENT_MS: '0', BOOTSTRAP_API_KEY: KEY },
  ...{ RATE_LIMITS: '100000/1s', RATE_LIMITS_ANONYMOUS: '10000/1s', RATE_LIMIT_CLIENTS: '8' },
}

/** A server that runs in processes of its own. */
export interface ServerProcess {
  server: RunningProgram
  url: string
  dataDir: string
  /** Sends a request with the key of the tests, unless `more` has another authorization. */
  ask(method: string, path: string, body?: object, more?: Record<string, string>): Promise<Asked>
}

/** Servers in processes of their own, which end together. `start.ts` uses it for tests; other programs use it themselves. */
export class ServerProcesses {
  private readonly programs = new Set<RunningProgram>()
  private readonly folders: (() => void)[] = []

  /** Makes a data folder; `end` deletes it, and the memory of a server on that port. */
  dataFolder(port = 0): string {
    const { path, remove } = temporaryFolder()
    this.folders.push(() => {
      rmSync(memoryFolderOf(path, port), { recursive: true, force: true })
      remove()
    })
    return path
  }

  /** Starts a server, and does not wait until it listens. */
  launch(settings: Record<string, string>, command: readonly string[] = MAIN): RunningProgram {
    const dataDir = settings.DATA_DIR ?? this.dataFolder(Number(settings.PORT ?? 0))
    const program = run([...command], { ...DEFAULTS, ...settings, DATA_DIR: dataDir })
    this.programs.add(program)
    return program
  }

  /** Starts a server that listens. */
  async start(settings: Record<string, string>, command: readonly string[] = MAIN): Promise<ServerProcess> {
    const dataDir = settings.DATA_DIR ?? this.dataFolder(Number(settings.PORT ?? 0))
    const server = this.launch({ ...settings, DATA_DIR: dataDir }, command)
    const [, url = ''] = await server.waitFor(LISTENS)
    return { server, url, dataDir, ask: (method, path, body, more) => askAt(url + path, method, body, more) }
  }

  /** Ends the servers, and deletes their folders. */
  async end(): Promise<void> {
    await Promise.all([...this.programs].map((program) => program.stop()))
    this.programs.clear()
    for (const remove of this.folders.splice(0)) remove()
  }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, untilListening } from './process.ts'

export interface RunningRedis {
  url: string
  /** Process of the server, also after a restart. */
  readonly pid: number
  /** Stops the process, like a machine that hangs: connections stay open, and nothing answers. */
  freeze(): void
  thaw(): void
  kill(): Promise<void>
  /** Restarts it empty on the same port. */
  restart(): Promise<void>
  /** Ends it, and removes its folder. */
  stop(): Promise<void>
}

/** True if the machine has a `redis-server` in its path. */
export const hasRedis = Bun.which('redis-server') !== null

/** Starts a Redis that stores nothing on disk; `options` are those of its command line. */
export async function startRedis(...options: string[]): Promise<RunningRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'roster-redis-'))
  const port = freePort()
  let server = await launch(port, folder, options)
  const kill = async () => {
    server.kill('SIGKILL')
    await server.exited
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return server.pid
    },
    freeze: () => server.kill('SIGSTOP'),
    thaw: () => server.kill('SIGCONT'),
    kill,
    restart: async () => {
      server = await launch(port, folder, options)
    },
    stop: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function launch(port: number, folder: string, options: string[]) {
  const network = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
  const server = Bun.spawn(['redis-server', ...network, '--save', '', '--appendonly', 'no', ...options], {
    stdout: 'ignore',
    stderr: 'inherit',
  })
  await untilListening(port, server)
  return server
}

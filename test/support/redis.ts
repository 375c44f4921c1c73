import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, untilListening } from './process.ts'

export interface RunningRedis {
  url: string
  /** The process, also of a server that was started again. */
  readonly pid: number
  /** As a machine that hangs: connections stay open, nothing answers. */
  freeze(): void
  thaw(): void
  kill(): Promise<void>
  /** Again on the same port, with nothing of what it knew. */
  restart(): Promise<void>
  /** Also removes its folder. */
  stop(): Promise<void>
}

/** Whether the machine has a `redis-server` in its path. */
export const hasRedis = Bun.which('redis-server') !== null

/** A Redis of one's own that keeps nothing on the disk; `options` as its command line takes them. */
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

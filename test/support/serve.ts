import { rmSync } from 'node:fs'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { LISTENS, retried } from './place.ts'
import { endPrograms, type RunningProgram, run, temporaryFolder } from './process.ts'
import { type Json, KEY } from './server.ts'

const UNLIMITED = { RATE_LIMITS: '100000/1s', RATE_LIMITS_ANONYMOUS: '10000/1s', RATE_LIMIT_CLIENTS: '8' }

export interface Asked {
  status: number
  headers: Headers
  /** Null where there is none. */
  body: Json
}

export interface Served {
  server: RunningProgram
  url: string
  dataDir: string
  /** With the key of the tests, unless `more` has another authorization. */
  ask(method: string, path: string, body?: object, more?: Record<string, string>): Promise<Asked>
}

const folders: (() => void)[] = []

/** A data folder, which `endServers` throws away, with what a server on that port keeps in memory. */
export function dataFolder(port = 0): string {
  const { path, remove } = temporaryFolder()
  folders.push(() => {
    rmSync(memoryFolderOf(path, port), { recursive: true, force: true })
    remove()
  })
  return path
}

/** Command that starts a server; with more words it is one of the command line. */
export const MAIN = [process.execPath, '--no-env-file', 'src/main.ts']

/**
 * A server that listens; unless `settings` say otherwise, with the key of the tests, limits that no test reaches, and a
 * data folder of its own.
 */
export async function serve(settings: Record<string, string>, command = MAIN): Promise<Served> {
  const dataDir = settings.DATA_DIR ?? dataFolder(Number(settings.PORT ?? 0))
  const own = { PORT: '0', WORKERS: '2', BOOTSTRAP_API_KEY: KEY, LOG_FORMAT: 'pretty', LOG_LEVEL: 'warn' }
  const server = run(command, { ...UNLIMITED, ...own, ...settings, DATA_DIR: dataDir })
  const [, url = ''] = await server.waitFor(LISTENS)
  return { server, url, dataDir, ask: (method, path, body, more) => askAt(url + path, method, body, more) }
}

/** For `afterEach` or `afterAll`: ends what was started, and throws its folders away. */
export async function endServers(): Promise<void> {
  await endPrograms()
  for (const remove of folders.splice(0)) remove()
}

export function headersOf(key: string): Record<string, string> {
  return { authorization: `ApiKey ${key}`, 'content-type': 'application/json' }
}

/** Sends a request of JSON. */
export async function askAt(url: string, method: string, body?: object, more: Record<string, string> = {}): Promise<Asked> {
  const init = { method, headers: { ...headersOf(KEY), ...more }, body: body ? JSON.stringify(body) : null }
  const answer = await fetch(url, init)
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
}

/** The bytes of a request with the key of the tests. `own`: more lines of its head. */
export function bytesOf(method: string, path: string, body = '', own: readonly string[] = []): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: a', `Authorization: ApiKey ${KEY}`, ...own]
  if (body !== '') lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

/** Statuses of many requests over connections of their own, so that every worker has some. */
export async function statusesOf(url: string, key: string, init: RequestInit = {}): Promise<number[]> {
  const headers = { ...headersOf(key), connection: 'close' }
  const answers = Array.from({ length: 32 }, () => retried(() => fetch(url, { ...init, headers, keepalive: false })))
  return [...new Set((await Promise.all(answers)).map(({ status }) => status))]
}

/** A key that a command has made: the last line of what it printed. */
export function keyIn(output: string): string {
  return output.trimEnd().split('\n').at(-1) as string
}

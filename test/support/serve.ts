import { rmSync } from 'node:fs'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { LISTENS, QUIET, retried } from './place.ts'
import { endPrograms, type RunningProgram, run, temporaryFolder } from './process.ts'
import { type Json, KEY } from './server.ts'

const UNLIMITED = { RATE_LIMITS: '100000/1s', RATE_LIMITS_ANONYMOUS: '10000/1s', RATE_LIMIT_CLIENTS: '8' }

export interface Asked {
  status: number
  headers: Headers
  /** Null if the response has no body. */
  body: Json
}

export interface Served {
  server: RunningProgram
  url: string
  dataDir: string
  /** Sends a request with the key of the tests, unless `more` has another authorization. */
  ask(method: string, path: string, body?: object, more?: Record<string, string>): Promise<Asked>
}

const folders: (() => void)[] = []

/** Makes a data folder; `endServers` deletes it, and the memory of a server on that port. */
export function dataFolder(port = 0): string {
  const { path, remove } = temporaryFolder()
  folders.push(() => {
    rmSync(memoryFolderOf(path, port), { recursive: true, force: true })
    remove()
  })
  return path
}

/** Command that starts a server; with more words it is the command line. */
export const MAIN = [process.execPath, '--no-env-file', 'src/main.ts']

/** Starts a server that listens; by default with the key of the tests, limits that no test reaches, and a new data folder. */
export async function serve(settings: Record<string, string>, command = MAIN): Promise<Served> {
  const dataDir = settings.DATA_DIR ?? dataFolder(Number(settings.PORT ?? 0))
  const own = { PORT: '0', WORKERS: '2', BOOTSTRAP_API_KEY: KEY, LOG_FORMAT: 'pretty', ...QUIET }
  const server = run(command, { ...UNLIMITED, ...own, ...settings, DATA_DIR: dataDir })
  const [, url = ''] = await server.waitFor(LISTENS)
  return { server, url, dataDir, ask: (method, path, body, more) => askAt(url + path, method, body, more) }
}

/** For `afterEach` or `afterAll`: ends the servers, and deletes their folders. */
export async function endServers(): Promise<void> {
  await endPrograms()
  for (const remove of folders.splice(0)) remove()
}

export function headersOf(key: string): Record<string, string> {
  return { authorization: `ApiKey ${key}`, 'content-type': 'application/json' }
}

export async function askAt(url: string, method: string, body?: object, more: Record<string, string> = {}): Promise<Asked> {
  const init = { method, headers: { ...headersOf(KEY), ...more }, body: body ? JSON.stringify(body) : null }
  const answer = await fetch(url, init)
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
}

/** Returns the bytes of a request with the key of the tests. `own`: more lines of its head. */
export function bytesOf(method: string, path: string, body = '', own: readonly string[] = []): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: a', `Authorization: ApiKey ${KEY}`, ...own]
  if (body !== '') lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

/** Returns the statuses of many requests over new connections, so that every worker gets some. */
export async function statusesOf(url: string, key: string, init: RequestInit = {}): Promise<number[]> {
  const headers = { ...headersOf(key), connection: 'close' }
  const answers = Array.from({ length: 32 }, () => retried(() => fetch(url, { ...init, headers, keepalive: false })))
  return [...new Set((await Promise.all(answers)).map(({ status }) => status))]
}

/** Returns the key that a command has made: the last line of its output. */
export function keyIn(output: string): string {
  return output.trimEnd().split('\n').at(-1) as string
}

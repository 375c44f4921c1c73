import { type Json, KEY } from './server.ts'

export interface Asked {
  status: number
  headers: Headers
  /** Body as JSON; null if the response has no body. */
  body: Json
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

/**
 * Sends a request, and repeats it for up to 20 s while it fails: a kept connection to a worker that has died fails at its first
 * use.
 */
export async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      if (attempt === 400) throw error
      await Bun.sleep(50)
    }
  }
}

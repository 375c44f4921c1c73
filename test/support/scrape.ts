import { headers, type Place } from './place.ts'
import type { RunningProgram } from './process.ts'
import { retried } from './requests.ts'
import { startProcess } from './start.ts'

const METRICS = /Metrics: (http:\S+)\/metrics/

/** Starts a server with two workers; returns its address, and the address of its metrics. `more`: further settings. */
export async function startScraped(
  place: Place,
  more: Record<string, string> = {},
): Promise<{ server: RunningProgram; url: string; admin: string }> {
  const { server, url } = await startProcess({ ...place.settings, ADMIN_PORT: '0', ...more })
  const [, admin = ''] = await server.waitFor(METRICS)
  return { server, url, admin }
}

/** Returns the status of a request over a new connection, which is not a kept connection to an ended process. */
export async function ask(url: string, path: string, method = 'GET', body?: string): Promise<number> {
  const own = { ...headers, connection: 'close', ...(body && { 'content-type': 'application/json' }) }
  const answer = await retried(() => fetch(url + path, { method, headers: own, ...(body ? { body } : {}) }))
  await answer.arrayBuffer()
  return answer.status
}

export async function scrape(admin: string): Promise<string> {
  return (await fetch(`${admin}/metrics`)).text()
}

/** Returns the value of a series in a scrape; 0 if it is missing. */
export function valueIn(text: string, series: string): number {
  const line = text.split('\n').find((own) => own.startsWith(`${series} `))
  return line === undefined ? 0 : Number(line.slice(series.length + 1))
}

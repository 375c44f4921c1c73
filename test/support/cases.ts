import { expect } from 'bun:test'
import { until } from './process.ts'
import { type Answer, errorOf, type Json, type TestServer } from './server.ts'

/** Returns the status of a response, with code and target of its error: `200`, `400 InvalidFilter Id`. */
export function outcomeOf(answer: Answer): string {
  const { status, code, target } = errorOf(answer)
  return [status, code, target].filter((part) => part !== undefined).join(' ')
}

/**
 * Repeats a request while it gets 503 ServiceUnavailable, which means that nothing was done: on a busy machine, a statement can
 * exceed its time limit. The time limit of the test ends the repetition.
 */
export async function untilServed<Served extends { readonly status: number; readonly body: Json }>(
  send: () => Promise<Served>,
): Promise<Served> {
  let answer = await send()
  await until(async () => {
    const isRefused = answer.status === 503 && answer.body?.Error?.Code === 'ServiceUnavailable'
    if (isRefused) answer = await send()
    return !isRefused
  })
  return answer
}

/** Code and target of each fault in the Details of an error: `InvalidValue Name`. */
export function faultsOf({ body }: Answer): string[] {
  return body.Error.Details.map(({ Code, Target }: { Code: string; Target: string }) => `${Code} ${Target}`)
}

/** A request: `POST /Companies`, its body, and additional headers. */
export type Request = readonly [line: string, body?: unknown, headers?: Record<string, string>]

export function ask(server: TestServer, [line, body, headers]: Request): Promise<Answer> {
  const space = line.indexOf(' ')
  return server.send(line.slice(0, space), line.slice(space + 1), body, headers)
}

/** Sends requests one after the other, and expects that each has the outcome `expected`. */
export async function expectAll(server: TestServer, expected: string, requests: readonly Request[]): Promise<void> {
  for (const request of requests)
    expect([...request, outcomeOf(await ask(server, request))] as unknown[]).toEqual([...request, expected])
}

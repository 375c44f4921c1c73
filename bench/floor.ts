// The floor `constant`, the cost of only HTTP: a Bun.serve with constant answers. It reads the answers as JSON from stdin.
import { startAndWait } from './children.ts'
import { fillDraws } from './load/requests.mjs'
import type { Operation } from './operation.ts'
import type { HttpTarget } from './server.ts'

type ConstantAnswer = Pick<Operation, 'method' | 'status'> & { readonly body: string }

/** Starts a server that answers these operations as `server` does: with one constant answer for each method. */
export async function startConstant(server: HttpTarget, operations: readonly Operation[]): Promise<HttpTarget> {
  const answers = await Promise.all(operations.map((operation) => ask(server, operation)))
  const { found, pid, stop } = await startAndWait([process.execPath, '--no-env-file', import.meta.path], /listens on (\S+)/, {
    input: JSON.stringify(answers),
    environment: { NODE_ENV: 'production' },
  })
  return { name: 'constant', urls: [found], headers: {}, pids: [pid], database: null, stop }
}

/** Sends a request with the lowest values of its ranges. Any values would do, because all answers have about the same size. */
async function ask({ urls, headers }: HttpTarget, { method, path, body, status }: Operation): Promise<ConstantAnswer> {
  const answer = await fetch(urls[0] + fillDraws(path, ({ low }) => low), {
    method,
    headers: { ...headers, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: fillDraws(body, ({ low }) => low) }),
  })
  return { method, status, body: await answer.text() }
}

if (import.meta.main) {
  const headers = { 'Content-Type': 'application/json; charset=utf-8' }
  const answers = new Map(((await Bun.stdin.json()) as ConstantAnswer[]).map((answer) => [answer.method as string, answer]))
  const fetch = ({ method }: Request) => {
    const { body = null, status = 404 } = answers.get(method) ?? {}
    return new Response(body, { status, headers })
  }
  console.log(`listens on ${Bun.serve({ hostname: '127.0.0.1', port: 0, fetch }).url.origin}`)
}

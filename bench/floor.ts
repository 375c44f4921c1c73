import { join } from 'node:path'
import { startAndWait } from './children.ts'
import { fillDraws } from './load/draws.mjs'
import type { Operation } from './scenarios.ts'
import type { HttpTarget } from './targets.ts'

/** What the floor answers to requests of one method. */
export interface ConstantAnswer {
  readonly method: string
  readonly status: number
  readonly body: string
}

/** The floor `constant`: Bun.serve with the answers that `server` gives to these operations, one for each method. */
export async function startConstant(server: HttpTarget, operations: readonly Operation[]): Promise<HttpTarget> {
  const answers = await Promise.all(operations.map((operation) => ask(server, operation)))
  const program = join(import.meta.dir, 'floor/constant.ts')
  const child = await startAndWait([process.execPath, '--no-env-file', program], /listens on (\S+)/, {
    input: JSON.stringify(answers),
    environment: { NODE_ENV: 'production' },
  })
  return {
    name: 'constant',
    isStored: false,
    urls: [child.found],
    headers: {},
    pids: () => [child.pid],
    stop: child.stop,
  }
}

/** Any value of a range will do: their answers are of about one size. */
async function ask({ urls, headers }: HttpTarget, { method, path, body, status }: Operation): Promise<ConstantAnswer> {
  const answer = await fetch(urls[0] + fillDraws(path, ({ low }) => low), {
    method,
    headers: { ...headers, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: fillDraws(body, ({ low }) => low) }),
  })
  return { method, status, body: await answer.text() }
}

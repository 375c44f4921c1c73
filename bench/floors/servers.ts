import { join } from 'node:path'
import { startAndWait } from '../children.ts'
import type { HttpTarget } from '../httpTarget.ts'
import { fillDraws } from '../load/draws.mjs'
import type { Operation } from '../operation.ts'
import type { ConstantAnswer } from './constant.ts'
import { floorStatement, patternOf, statementsOf } from './statement.ts'

/** Bun.serve with the answers that `server` gives to these operations. */
export async function startConstant(server: HttpTarget, operations: readonly Operation[]): Promise<HttpTarget> {
  const answers = await Promise.all(operations.map((operation) => ask(server, operation)))
  return start('constant', 'constant.ts', answers, {})
}

/** Bun.serve and postgres.js with the statements of these operations, and nothing else. */
export async function startBare(databaseUrl: string, operations: readonly Operation[]): Promise<HttpTarget> {
  return start('bare', 'bare.ts', await statementsOf(operations), { DATABASE_URL: databaseUrl })
}

/** The same, but no list has its total, so there are first pages only. */
export async function startUncounted(databaseUrl: string, operations: readonly Operation[]): Promise<HttpTarget> {
  const statements = await Promise.all(operations.map((operation) => floorStatement(operation, false)))
  return start('uncounted', 'bare.ts', statements, { DATABASE_URL: databaseUrl })
}

async function start(
  name: string,
  file: string,
  input: unknown,
  environment: Readonly<Record<string, string>>,
): Promise<HttpTarget> {
  const command = [process.execPath, '--no-env-file', join(import.meta.dir, file)]
  const options = { input: JSON.stringify(input), environment: { NODE_ENV: 'production', ...environment } }
  const child = await startAndWait(command, /listens on (\S+)/, options)
  const isStored = 'DATABASE_URL' in environment
  return { name, isStored, url: child.found, headers: {}, pids: () => [child.pid], stop: child.stop }
}

/** Any value of a range will do: their answers are of about one size. */
async function ask(
  { url, headers }: HttpTarget,
  { method, path, body, headers: own, status }: Operation,
): Promise<ConstantAnswer> {
  const answer = await fetch(url + fillDraws(path, ({ low }) => low), {
    method,
    headers: { ...headers, ...own, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body }),
  })
  return { method, pattern: patternOf(path), status, body: await answer.text() }
}

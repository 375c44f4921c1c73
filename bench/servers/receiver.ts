import { join } from 'node:path'
import postgres from 'postgres'
import { makeSecret } from '../../src/hooks/signature.ts'
import { HookStore } from '../../src/hooks/store.ts'
import { loadEntities } from '../../src/registry.ts'
import { startAndWait } from '../children.ts'

/** A program that takes webhooks at once. */
export interface Receiver {
  readonly url: string
  /** How many it has taken so far. */
  taken(): Promise<number>
}

/** A process of its own, which ends with the other programs of the bench. */
export async function startReceiver(): Promise<Receiver> {
  const program = join(import.meta.dir, 'receiverProgram.ts')
  const { found: url } = await startAndWait([process.execPath, '--no-env-file', program], /^(http:\S+)$/)
  return { url, taken: async () => Number(await (await fetch(url)).text()) }
}

/** Lets servers that start from now on post what changes from now on to the receiver, and to it alone. */
export async function setHook(databaseUrl: string, { url }: Receiver): Promise<void> {
  await removeHooks(databaseUrl)
  await withDatabase(databaseUrl, async (sql) => {
    await new HookStore(sql, await loadEntities()).add({ url, secret: makeSecret(), events: ['*'] })
  })
}

export function removeHooks(databaseUrl: string): Promise<void> {
  return withDatabase(databaseUrl, async (sql) => void (await sql`delete from hook`))
}

async function withDatabase(url: string, work: (sql: postgres.Sql) => Promise<void>) {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    await work(sql)
  } finally {
    await sql.end()
  }
}

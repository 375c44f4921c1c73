import postgres from 'postgres'

/** A server listens soon after it serves. */
const LISTENS_MS_MAX = 10_000
const LOOK_MS = 50

/** For connections whose writes servers must hear of. (The driver leaves out a setting that is empty.) */
export const LEASE = { 'roster.machine': 'bench' }

/**
 * From now on connections to the database write as the one server does that listens: without a notification, which
 * would cost each of their commits much, and which without that server beside them they would not make. What they write
 * it does not hear of, so that `restore` must undo it before that server is asked again.
 * @throws Error when no server listens
 */
export async function silenceOthers(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined })
  try {
    const untilMs = performance.now() + LISTENS_MS_MAX
    let machine: string | undefined
    while (!machine && performance.now() < untilMs) {
      machine = (await sql`select machine from change_listener`)[0]?.machine
      if (!machine) await Bun.sleep(LOOK_MS)
    }
    if (!machine) throw new Error('the server listens to no writes')
    const [row] =
      await sql`select format('alter database %I set roster.machine = %L', current_database(), ${machine}::text) as text`
    await sql.unsafe(row?.text)
  } finally {
    await sql.end()
  }
}

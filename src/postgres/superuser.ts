import { withConnection } from '../execute/connect.ts'
import type { Log } from '../log.ts'

/** Says so where the address leads in as a superuser, which no server needs. */
export async function warnOfSuperuser(url: string, log: Pick<Log, 'warn'>): Promise<void> {
  const role = await superuserOf(url)
  if (role !== null) log.warn('the role of DATABASE_URL is a superuser: give it rights on its tables alone', { role })
}

/** The role that the address leads in as, if it is a superuser; else null. */
async function superuserOf(url: string): Promise<string | null> {
  return withConnection(url, async (sql) => {
    const [row] = await sql`select current_user::text as role, current_setting('is_superuser') = 'on' as is`
    return row?.is ? (row.role as string) : null
  })
}

import { withConnection } from '../execute/connect.ts'

/** The role that the address leads in as, if it is a superuser; else null. */
export async function superuserOf(url: string): Promise<string | null> {
  return withConnection(url, async (sql) => {
    const [row] = await sql`select current_user::text as role, current_setting('is_superuser') = 'on' as is`
    return row?.is ? (row.role as string) : null
  })
}

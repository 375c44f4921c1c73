import { withConnection } from '../execute/connect.ts'

/** Reads the database's secret, which cursors are signed with. @throws Error when it cannot be read */
export async function readCursorSecret(url: string): Promise<string> {
  const [row] = await withConnection(url, (sql) => sql<{ secret: string }[]>`select secret from cursor_secret`)
  if (!row) throw new Error('the table cursor_secret is empty')
  return row.secret
}

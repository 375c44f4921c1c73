import { connectOnce } from '../execute/connect.ts'

/** What the database signs cursors with. @throws Error when it cannot be read */
export async function readCursorSecret(url: string): Promise<string> {
  const sql = connectOnce(url)
  try {
    const [row] = await sql<{ secret: string }[]>`select secret from cursor_secret`
    if (!row) throw new Error('the table cursor_secret is empty')
    return row.secret
  } finally {
    await sql.end()
  }
}

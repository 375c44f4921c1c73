import { withConnection } from '../execute/connect.ts'
import { pendingOf, readMigrations, requireUtf8 } from './migrate.ts'

/** The files of `folder` that `migrate` would apply. @throws Error as it does, and writes nothing */
export async function pendingMigrations(url: string, folder: string): Promise<string[]> {
  const migrations = readMigrations(folder)
  return withConnection(url, (sql) =>
    sql.begin('read only', async (transaction) => {
      await requireUtf8(transaction)
      const [there] = await transaction`select to_regclass('migration') is not null as yes`
      const applied = there?.yes
        ? await transaction<{ file: string; checksum: string }[]>`select file, checksum from migration`
        : []
      return pendingOf(migrations, applied).map(({ file }) => file)
    }),
  )
}

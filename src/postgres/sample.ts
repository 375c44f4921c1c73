import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { withConnection } from '../execute/connect.ts'

const FILE = 'sample.sql'

/**
 * Loads the sample into a database without rows, once in its life; with `wanted` false only notes that it shall not be
 * loaded later. The note stands with the migrations, and commits with the rows.
 */
export async function loadSample(url: string, folder: string, wanted: boolean): Promise<void> {
  await withConnection(url, (sql) =>
    sql.begin(async (transaction) => {
      const noted = await transaction`
        insert into migration (file, checksum) values (${FILE}, '') on conflict do nothing returning file`
      if (noted.length === 0 || !wanted) return
      const [rows] = await transaction`
        select exists (select from company) or exists (select from employee) or exists (select from absence) as there`
      if (rows?.there) return
      // Triggers leave no lines of what Roster writes without a key.
      await transaction`set local application_name = 'roster'`
      await transaction.unsafe(readFileSync(join(folder, FILE), 'utf8'))
    }),
  )
}

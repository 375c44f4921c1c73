import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { BASELINE } from '../../src/postgres/baseline.ts'
import { migrate } from '../../src/postgres/migrate.ts'
import { connect, createDatabase, MIGRATIONS } from './postgres.ts'
import { temporaryFolder } from './process.ts'

/** Migrations of earlier commits. Together, they created the same as the baseline. */
export const SINGLE_MIGRATIONS = [
  ...[
    '0001_company.sql',
    '0002_employee.sql',
    '0003_absence.sql',
    '0004_api_key.sql',
    '0005_cursor_secret.sql',
    '0006_changes.sql',
  ],
  ...['0007_one_index.sql', '0008_notify_change.sql', '0009_idempotency_key.sql', '0010_found_now.sql', '0011_publication.sql'],
  ...['0012_notify_rows.sql', '0013_entity_change.sql', '0014_hook.sql', '0015_row_change.sql', '0016_change_triggers.sql'],
  '0017_lines_of_row_change.sql',
]

/**
 * Creates a database as an earlier commit left it: instead of the baseline, it records the first `count` single migrations, and
 * no later migration.
 */
export async function createSingleMigrated(count = SINGLE_MIGRATIONS.length): Promise<string> {
  const url = await createDatabase('empty')
  const { path } = temporaryFolder()
  copyFileSync(join(MIGRATIONS, BASELINE), join(path, BASELINE))
  await migrate(url, path)
  const sql = connect(url)
  await sql`delete from migration where file = ${BASELINE}`
  await sql`
    insert into migration (file, checksum)
    select file, 'of ' || file from unnest(${SINGLE_MIGRATIONS.slice(0, count)}::text[]) as file`
  return url
}

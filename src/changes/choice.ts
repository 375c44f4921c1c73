import { withConnection } from '../execute/connect.ts'
import type { Row } from '../model/sql.ts'
import type { Ask } from './listenerStatements.ts'
import { surveyPublication } from './publication.ts'
import type { SlotAddresses } from './slotConnection.ts'
import { connectForReplication } from './slotStream.ts'

/** How writes of others become known. */
export type Way = 'slot' | 'notify'

export interface Choice {
  readonly way: Way
  readonly reason: string
}

/** Computed columns are published from here on. */
const VERSION_MIN = 18
const SLOT: Choice = {
  way: 'slot',
  reason: `PostgreSQL ${VERSION_MIN} or later, wal_level logical, and a role that may replicate`,
}

/** Reads the slot where it can be had, else listens. @throws what the driver throws where the database is away */
export async function chooseWay(
  asked: Way | 'auto',
  addresses: SlotAddresses,
  tables: readonly string[],
): Promise<Choice> {
  if (asked !== 'auto') return { way: asked, reason: `CHANGES=${asked}` }
  const obstacle = await obstacleOf(addresses, tables)
  return obstacle === null ? SLOT : { way: 'notify', reason: obstacle }
}

/** Why no slot can be read; null: it can. */
async function obstacleOf({ url, feedUrl }: SlotAddresses, tables: readonly string[]): Promise<string | null> {
  const found = await withConnection(url, async (sql) => {
    const ask: Ask = async (text, values = []) =>
      (await sql.unsafe(text, values as string[]).values()) as unknown as Row[]
    const [[version = '', level = ''] = []] = await ask(
      "select current_setting('server_version_num'), current_setting('wal_level')",
    )
    const major = Math.floor(Number(version) / 10_000)
    if (major < VERSION_MIN) return `PostgreSQL ${major} does not publish computed columns`
    if (level !== 'logical') return `wal_level is ${level}`
    const { missing } = await surveyPublication(ask, tables)
    return missing.length === 0 ? null : `the publication roster lacks rows of ${missing.join(' and ')}`
  })
  return found ?? (await refusalOf(feedUrl))
}

/** What PostgreSQL says to a connection for replication; null: it lets it in. */
async function refusalOf(url: string): Promise<string | null> {
  const sql = connectForReplication(url)
  try {
    await sql.unsafe('IDENTIFY_SYSTEM')
    return null
  } catch (error) {
    return (error as Error).message
  } finally {
    await sql.end({ timeout: 0 })
  }
}

import { chooseWay } from '../changes/choice.ts'
import type { ChangeLogOwner } from '../changes/owner.ts'
import type { SlotAddresses } from '../changes/slotConnection.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'
import type { Entity } from '../model/entity.ts'

/** Follows writes of others from now on, and says once by what way. @throws what the driver throws where the database is away */
export async function followOthers(
  owner: ChangeLogOwner,
  entities: readonly Entity[],
  addresses: SlotAddresses,
  { changes }: Pick<Config, 'changes'>,
  log: Pick<Log, 'info'>,
): Promise<void> {
  if (owner.isFollowing || changes === 'off') return
  const tables = entities.map(({ table }) => table)
  const { way, reason } = await chooseWay(changes, addresses, tables)
  owner.follow(addresses, entities, way)
  if (way === 'slot') log.info('writes of others are read from the database’s log', { reason })
  else log.info('writes of others are heard by NOTIFY', { reason })
}

/** What the embedded PostgreSQL is started with, so that its log has rows where they may be read from it. */
export function logSettings({ changes, listCache, databasePrepare }: Config): Record<string, string> {
  const isRead = listCache && databasePrepare && (changes === 'auto' || changes === 'slot')
  return isRead ? { wal_level: 'logical' } : {}
}

// Finds keys whose rights do not fit the entities any more, for the start of a server, `roster doctor` and `roster keys list`.
import type { Entity } from '../model/entity.ts'
import type { StoredRights } from '../model/key.ts'
import type { NamedView } from '../model/namedView.ts'
import { type KeyBlocks, RightsReader } from './reader.ts'

/**
 * Returns the keys that have no rights, each with the reason: the rights of the key do not fit the entities, or the roles file
 * has no block for the key. `roles`: null if there is no roles file.
 */
export function findMisfits<Key extends StoredRights>(
  keys: readonly Key[],
  entities: readonly Entity[],
  roles: (KeyBlocks & { readonly views: readonly NamedView[] }) | null,
) {
  const reader = new RightsReader(entities, roles?.views, roles)
  return keys.flatMap((key) => {
    const { fault } = reader.read(key)
    return fault === null ? [] : [{ key, fault }]
  })
}

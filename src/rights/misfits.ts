// Keys whose rights do not fit the entities any more, for the start of a server, `roster doctor` and `roster keys list`.
import type { Entity } from '../model/entity.ts'
import type { KeyRecord } from '../model/key.ts'
import { RightsReader } from './reader.ts'

/** Returns the keys that have no rights, since theirs do not fit the entities, each with the reason. */
export function findMisfits<Key extends Pick<KeyRecord, 'rights' | 'addresses'>>(
  keys: readonly Key[],
  entities: readonly Entity[],
) {
  const reader = new RightsReader(entities)
  return keys.flatMap((key) => {
    const { fault } = reader.read(key)
    return fault === null ? [] : [{ key, fault }]
  })
}

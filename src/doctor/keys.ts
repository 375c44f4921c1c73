// Findings about keys that have lost their rights, because the rights do not fit the entities or the roles file any more.
import type postgres from 'postgres'
import { KeyStore } from '../keys/store.ts'
import type { Entity } from '../model/entity.ts'
import { findMisfits } from '../rights/misfits.ts'
import { type Finding, fault, ok } from './finding.ts'
import type { FoundRoles } from './roles.ts'

/** Examines the rights of the valid keys. Returns nothing if all have rights to whole entities. */
export async function examineKeys(sql: postgres.Sql, entities: readonly Entity[], roles: FoundRoles): Promise<Finding[]> {
  const check = 'keys'
  const valid = await new KeyStore(sql).valid()
  // The rights and views of a faulty roles file are not known, so no key can be compared with them.
  if (roles === undefined || valid.every(({ addresses, role }) => addresses === null && role === null)) return []
  const misfits = findMisfits(valid, entities, roles).map(({ key: { name, id, role }, fault: reason }) => {
    const remedy =
      role === null ? 'Give it others by roster keys change' : 'Write the block, or give the key others by roster keys change'
    return fault(check, `"${name}" (${id}) has no rights: ${reason} ${remedy}`)
  })
  return misfits.length === 0 ? [ok(check, 'the rights of all keys fit the entities')] : misfits
}

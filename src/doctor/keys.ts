// Findings about keys: those whose rights do not fit the entities any more.
import type postgres from 'postgres'
import { KeyStore } from '../keys/store.ts'
import type { Entity } from '../model/entity.ts'
import { findMisfits } from '../rights/misfits.ts'
import { type Finding, fault, ok } from './finding.ts'

/** Examines the rights of the valid keys. Returns nothing if no key has rights by row. */
export async function examineKeys(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding[]> {
  const check = 'keys'
  const keys = await new KeyStore(sql).valid()
  if (keys.every(({ addresses }) => addresses === null)) return []
  const misfits = findMisfits(keys, entities).map(({ key: { name, id }, fault: reason }) =>
    fault(check, `"${name}" (${id}) has no rights: ${reason} Give it others by roster keys change`),
  )
  return misfits.length === 0 ? [ok(check, 'the rights of all keys fit the entities')] : misfits
}

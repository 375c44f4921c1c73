import type { Access, GrantedRights } from '../../src/model/access.ts'
import type { Entity } from '../../src/model/entity.ts'
import { RightsReader } from '../../src/rights/reader.ts'
import { makeKey, type TestKey } from './server.ts'

/** Returns the rights of a key that may do everything, in the form in which the server reads them. */
export function wholeRights(entities: readonly Entity[] = []): GrantedRights {
  return new RightsReader(entities).read({ rights: '*:read,*:write', addresses: null })
}

/** Returns what a key with all rights may do with an entity. */
export function wholeAccess(entity: Entity): Access {
  return wholeRights([entity]).accessTo(entity)
}

/** Makes a key with rights as an operator types them: `read Absences?Status=Approved`. */
export function keyWith(...rights: string[]): TestKey {
  return makeKey({ rights: '', addresses: rights.join('\n') })
}

// `roster keys list`: a line for each key, and below it its rights by row and property.
import type { Config } from '../config/config.ts'
import { Refused } from '../errors.ts'
import type { ListedKey } from '../keys/store.ts'
import type { Entity } from '../model/entity.ts'
import { loadEntities } from '../registry.ts'
import { findMisfits } from '../rights/misfits.ts'
import { loadRoles } from '../roles/load.ts'
import type { Roles } from '../roles/roles.ts'
import { withKeys } from './openDatabase.ts'
import { counted, formatTable, report } from './output.ts'

/** Remark on keys whose rights cannot be read, because the roles file on disk is faulty. */
const UNUSABLE =
  'The roles file on disk cannot be used, as roster roles check explains. A running server goes on with the one that it has.'

const HEADS = ['NAME', 'ID', 'RIGHTS', 'LIMITS', 'CREATED', 'LAST USED', 'STATE']

export async function listKeys(config: Config, json: true | undefined): Promise<void> {
  const entities = await loadEntities(config.entitiesDir)
  const roles = readRoles(config, entities)
  const listed = await withKeys(config, (store) => store.list())
  const faults = faultsOf(listed, entities, roles)
  const data = listed.map((key) => {
    const { addresses, ...shown } = key
    return { ...shown, rights: linesOf(key, roles)?.join('\n') ?? key.rights, fault: faults.get(key) ?? null }
  })
  if (listed.length === 0) return report(json, data, 'There are no keys.\n')
  const cells = listed.map((key) => cellsOf(key, linesOf(key, roles)))
  const [head, ...lines] = formatTable([HEADS, ...cells]).match(/.*\n/g) as string[]
  const texts = listed.map((key, index) => {
    const fault = faults.get(key)
    const below = [...(linesOf(key, roles) ?? []), ...(fault === undefined ? [] : [inWords(fault, key, roles)])]
    return [lines[index], ...below.map((line) => `  ${line}\n`)].join('')
  })
  return report(json, data, head + texts.join(''))
}

function inWords(fault: string, { role }: ListedKey, roles: Roles | null | Refused): string {
  if (fault === UNUSABLE) return fault
  // A running server can still have an older version of the roles file, so the message names the file on disk.
  return `None of them holds${role !== null && roles !== null ? ', by the file on disk' : ''}: ${fault}`
}

/**
 * Returns the roles, or null if there is no roles file. Returns the error of a faulty file instead of throwing it: a list of keys
 * is needed most if something is faulty.
 */
function readRoles(config: Config, entities: readonly Entity[]): Roles | null | Refused {
  try {
    return loadRoles(config, entities)
  } catch (error) {
    if (error instanceof Refused) return error
    throw error
  }
}

/**
 * Returns the reasons why keys have no rights, by key. Keys that have ended are left out, because their rights no longer count.
 */
function faultsOf(listed: readonly ListedKey[], entities: readonly Entity[], roles: Roles | null | Refused) {
  const inForce = listed.filter(({ state }) => state === 'active' || state === 'expiring')
  if (!(roles instanceof Refused))
    return new Map(findMisfits(inForce, entities, roles).map(({ key, fault }) => [key, fault] as const))
  // A right that fits no entity can be a right to a named view, and the views of a faulty file are not known. So the remark
  // blames the file.
  return new Map(findMisfits(inForce, entities, null).map(({ key }) => [key, UNUSABLE] as const))
}

/** Returns a key's rights by row and property, one per line; null if the key has rights to whole entities. */
function linesOf({ addresses, role }: ListedKey, roles: Roles | null | Refused): string[] | null {
  if (role === null) return addresses?.split('\n') ?? null
  const text = roles instanceof Refused ? '' : roles?.rightsOfKey(role)?.signedText
  return text ? text.split('\n') : []
}

function cellsOf(key: ListedKey, lines: readonly string[] | null): string[] {
  const { name, id, rights, role, limits, created, lastUsed, state, expires, ends, revoked } = key
  const end = [expires, ends].filter((time) => time !== null).sort()[0]
  const stateInWords = [state === 'expiring' ? 'expires' : state, revoked ?? end].filter(Boolean).join(' ')
  const counting = role === null ? `${counted(lines?.length ?? 0, 'right')}:` : `role ${role}:`
  return [name, id, lines === null ? rights : counting, limits ?? 'default', created, lastUsed ?? 'never', stateInWords]
}

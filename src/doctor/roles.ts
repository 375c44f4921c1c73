// Findings about the roles file.
import type { Config } from '../config/config.ts'
import { Refused } from '../errors.ts'
import type { Entity } from '../model/entity.ts'
import { loadRoles } from '../roles/load.ts'
import { type Roles, RolesError } from '../roles/roles.ts'
import { type Finding, fault, ok } from './finding.ts'

/** Contents of the roles file. Null: there is no file, or the entities cannot be read. Undefined: the file has faults. */
export type FoundRoles = Roles | null | undefined

/**
 * Reads the roles file. Returns a finding for each fault, or a finding that the file has no faults. Returns no finding if there
 * is no file, or the entities cannot be read.
 */
export function examineRoles(config: Config, entities: readonly Entity[] | null): { roles: FoundRoles; found: Finding[] } {
  const check = 'roles'
  if (config.rolesFile === null || entities === null) return { roles: null, found: [] }
  try {
    const roles = loadRoles(config, entities)
    return { roles, found: [ok(check, `the file ${config.rolesFile} has no faults`)] }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const faults =
      error instanceof RolesError ? error.faults.map(({ line, message }) => `line ${line}: ${message}`) : [error.message]
    return { roles: undefined, found: faults.map((text) => fault(check, text)) }
  }
}

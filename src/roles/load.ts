// Reads the roles file from disk.
import { readFileSync, statSync } from 'node:fs'
import { errorOf, Refused } from '../errors.ts'
import type { Entity } from '../model/entity.ts'
import { parseRoles, type Roles } from './roles.ts'

/** Maximum bytes of the file, checked before it is read. `FILE_LENGTH_MAX` in statements.ts is the limit for its text. */
const BYTES_MAX = 2 * 2 ** 20

/** Reads the text of a roles file. @throws Refused if it cannot be read, or is no text in UTF-8 */
export function readRolesText(path: string): string {
  try {
    const { size } = statSync(path)
    if (size > BYTES_MAX) throw new Error(`it has ${size} bytes, more than any roles file`)
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (error) {
    const { code, message } = errorOf(error) as NodeJS.ErrnoException
    const reason = code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is no text in UTF-8' : message
    throw new Refused(`the roles file ${path} cannot be read: ${reason}`)
  }
}

/**
 * Reads and parses the roles file of the settings. Returns null if the settings name no file. @throws Refused, or RolesError that
 * has all faults
 */
export function loadRoles({ rolesFile }: { readonly rolesFile: string | null }, entities: readonly Entity[]): Roles | null {
  return rolesFile === null ? null : parseRoles(readRolesText(rolesFile), entities)
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROLES_PATH = join(import.meta.dir, '../../docs/roles.txt')

/** The roles file of docs/persons.md: a directory for all, own absences, those of the people that one manages, and HR. */
export const ROLES_FILE = readFileSync(ROLES_PATH, 'utf8')

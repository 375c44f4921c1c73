import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROLES_PATH = join(import.meta.dir, '../../docs/roles.txt')

/** The roles file of docs/persons.md. It has a directory for all, own absences, absences of one's reports, and HR. */
export const ROLES_FILE = readFileSync(ROLES_PATH, 'utf8')

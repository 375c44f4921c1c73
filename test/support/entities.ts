import { join } from 'node:path'
import { loadEntities } from '../../src/registry.ts'

/**
 * Folder that declares companies, employees and absences, and nothing else. Tests rely on them, even if a fork of the project has
 * other entities in `src/entities`.
 */
export const ENTITIES_DIR = join(import.meta.dir, 'entities')

/** Absences, companies and employees, in the order of their files. */
export const entities = await loadEntities(ENTITIES_DIR)

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Entity } from './model/entity.ts'

const FOLDER = join(import.meta.dir, 'entities')

/** Every entity that a file of `entities/` declares: a new file is all it takes. */
export async function loadEntities(folder: string = FOLDER): Promise<Entity[]> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts'))
  const modules = await Promise.all(files.sort().map((file) => import(join(folder, file))))
  return modules.map((module, index) => {
    if (!module.default?.plural) throw new Error(`${files[index]} has no default export made by defineEntity`)
    return module.default
  })
}

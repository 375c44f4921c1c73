import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Entity } from './model/entity.ts'

const FOLDER = join(import.meta.dir, 'entities')

/** Every entity that a file of `entities/` declares: a new file is all it takes. @throws Error for a reference to none */
export async function loadEntities(folder: string | null = FOLDER): Promise<Entity[]> {
  const from = resolve(folder ?? FOLDER)
  const files = readdirSync(from).filter((file) => file.endsWith('.ts'))
  const modules = await Promise.all(files.sort().map((file) => import(join(from, file))))
  const entities = modules.map((module, index): Entity => {
    if (!module.default?.plural) throw new Error(`${files[index]} has no default export made by defineEntity`)
    return module.default
  })
  requireReferred(entities)
  return entities
}

function requireReferred(entities: readonly Entity[]) {
  for (const { name, properties } of entities)
    for (const { name: own, reference } of properties)
      if (reference && !entities.some((other) => other.name === reference.entity))
        throw new Error(`${own} of ${name} refers to ${reference.entity}, and there is no such entity`)
}

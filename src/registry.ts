import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { INDEXED_LENGTH_MAX } from './model/declaration.ts'
import { type Entity, keyColumnOf } from './model/entity.ts'
import { isText } from './model/kinds.ts'

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
  checkTogether(entities)
  return entities
}

/** Tables of the server's own, which migrations make beside those of entities. */
export const OWN_TABLES = [
  'api_key',
  'api_key_version',
  'change_feed',
  'change_listener',
  'cursor_secret',
  'entity_change',
  'hook',
  'hook_sender',
  'idempotency_key',
  'migration',
]

/** What can be seen of declarations only beside each other. @throws Error that names the entity */
function checkTogether(entities: readonly Entity[]) {
  const seen = new Map<string, string>()
  for (const { name, plural, table } of entities) {
    if (OWN_TABLES.includes(table))
      throw new Error(`${name} cannot be the name of an entity: the server has a table ${table} of its own`)
    for (const key of [`table ${table}`, `path /${plural.toLowerCase()}`]) {
      if (seen.has(key)) throw new Error(`${seen.get(key)} and ${name} cannot both have the ${key}`)
      seen.set(key, name)
    }
  }
  for (const entity of entities)
    for (const { name: own, reference } of entity.properties) {
      if (!reference) continue
      const referred = entities.find((other) => other.name === reference.entity)
      if (!referred)
        throw new Error(`${own} of ${entity.name} refers to ${reference.entity}, and there is no such entity`)
      if (reference.copy)
        checkSource(
          `${entity.name} cannot copy ${reference.copy.source} of ${referred.name}`,
          reference.copy.source,
          referred,
        )
    }
}

/** `problem`: begins the sentence that says why it cannot be copied. */
function checkSource(problem: string, source: string, { properties }: Entity) {
  const property = properties.find(({ column }) => column === source)
  if (!property) throw new Error(`${problem}: it has no such property`)
  if (!isText(property.kind.name)) throw new Error(`${problem}: only texts can be copied`)
  if ((property.kind.lengthMax ?? 0) > INDEXED_LENGTH_MAX)
    throw new Error(
      `${problem}: its texts may have more than the ${INDEXED_LENGTH_MAX} characters that fit into an index`,
    )
  if (properties.some(({ column }) => column === keyColumnOf(source)))
    throw new Error(`${problem}: a property stands in the column ${keyColumnOf(source)}, which a copy needs`)
}

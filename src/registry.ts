// The registry of entities: loads their declarations from a folder, and checks them against each other.
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import * as declaring from './model/entity.ts'
import { type Entity, keyColumnOf, linkReferences } from './model/entity.ts'
import { INDEXED_LENGTH_MAX } from './model/kinds.ts'
import { NAME_ENDS, OWN_PATHS, RESERVED_TYPES } from './model/names.ts'

const FOLDER = join(import.meta.dir, 'entities')

/** Thrown for a fault in a declaration. The message names the file or the entity, and the reason. */
export class DeclarationError extends Error {}

function fail(message: string): never {
  throw new DeclarationError(message)
}

/** Returns every entity that the files of a folder declare. To add an entity, add a file. @throws DeclarationError */
export async function loadEntities(folder: string | null = FOLDER): Promise<Entity[]> {
  const from = resolve(folder ?? FOLDER)
  const files = filesOf(from).filter((file) => file.endsWith('.ts'))
  if (files.length === 0)
    fail(`${from} has no file that ends with .ts: declare an entity there, or set ENTITIES_DIR to another folder`)
  const entities = await Promise.all(files.sort().map((file) => load(from, file)))
  checkTogether(entities)
  linkReferences(entities)
  return entities
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    fail(`${folder} cannot be read (${code}): set ENTITIES_DIR to a folder with declarations`)
  }
}

async function load(folder: string, file: string): Promise<Entity> {
  const path = join(folder, file)
  const module = await import(path).catch((error: ImportError) => {
    const line = error.position?.line ?? (error.sourceURL === path ? error.line : undefined)
    const position = line ? `${file}, line ${line}` : file
    throw new DeclarationError(`${position}: ${error.message}${importHint(error, folder)}`, { cause: error })
  })
  if (!module.default?.plural) fail(`${file} has no default export made by defineEntity`)
  return module.default
}

/** An error of an import: a syntax error has a position; a thrown error has the line and the file. */
interface ImportError extends Error {
  readonly position?: { readonly line: number }
  readonly line?: number
  readonly sourceURL?: string
}

/** Returns advice about a missing import, as the end of a message; '' for other errors. */
function importHint({ name, message }: Error, folder: string): string {
  const missing = /^(?:Can't find variable: )?(\w+)(?: is not defined)?$/.exec(message)?.[1] ?? ''
  if (name !== 'ReferenceError' || !Object.hasOwn(declaring, missing)) return ''
  const from = folder === FOLDER ? '../model/entity.ts' : 'roster/entity'
  return `. Add: import { ${missing} } from '${from}'`
}

/** The server's own tables, which migrations create. Each has the rights that the server needs to it. */
export const OWN_TABLES: Readonly<Record<string, string>> = {
  migration: 'select',
  cursor_secret: 'select',
  idempotency_key: 'select, insert, update, delete',
  entity_change: 'select, delete',
  change_feed: 'select, update',
  hook: 'select, insert, update, delete',
  hook_sender: 'select, update',
  api_key: 'select, insert, update',
  api_key_version: 'select, update',
  row_change: 'select, delete',
  row_change_run: 'select, insert, update',
}

/** Checks declarations against each other. @throws DeclarationError that names the entity */
function checkTogether(entities: readonly Entity[]) {
  const seen = new Map<string, string>()
  for (const { name, plural, table } of entities) {
    if (Object.hasOwn(OWN_TABLES, table))
      fail(`${name} cannot be the name of an entity: the server has a table ${table} of its own`)
    const types = NAME_ENDS.map((end) => name + end)
    const own = types.find((type) => RESERVED_TYPES.test(type))
    if (own) fail(`${name} cannot be the name of an entity: the API has a type ${own} of its own`)
    if (OWN_PATHS.includes(plural.toLowerCase()))
      fail(`${name} cannot have the path /${plural}: the server has one of its own; give another "plural"`)
    for (const key of [`table ${table}`, `path /${plural.toLowerCase()}`, ...types.map((type) => `type ${type}`)]) {
      if (seen.has(key)) fail(`${seen.get(key)} and ${name} cannot both have the ${key}`)
      seen.set(key, name)
    }
  }
  for (const entity of entities)
    for (const { name: own, reference } of entity.properties) {
      if (!reference) continue
      const referred = entities.find((other) => other.name === reference.entity)
      if (!referred) fail(`${own} of ${entity.name} refers to ${reference.entity}, and there is no such entity`)
      if (reference.copy)
        checkSource(`${entity.name} cannot copy ${reference.copy.source} of ${referred.name}`, reference.copy.source, referred)
    }
  const still = entities.find(({ properties }) => !properties.some(({ writable }) => writable))
  if (still) fail(`${still.name} needs a property that clients write`)
}

/** Checks that a property can be copied. `problem`: beginning of the message. */
function checkSource(problem: string, source: string, { properties }: Entity) {
  const property = properties.find(({ column }) => column === source)
  if (!property) fail(`${problem}: it has no such property`)
  if (!property.kind.isText) fail(`${problem}: only texts can be copied`)
  if (properties.some(({ reference }) => reference?.copy?.column === source)) fail(`${problem}: it is a copy itself`)
  if ((property.kind.lengthMax ?? 0) > INDEXED_LENGTH_MAX)
    fail(`${problem}: its texts may have more than the ${INDEXED_LENGTH_MAX} characters that fit into an index`)
  if (properties.some(({ column }) => column === keyColumnOf(source)))
    fail(`${problem}: a property stands in the column ${keyColumnOf(source)}, which a copy needs`)
}

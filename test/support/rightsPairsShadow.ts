// Starts a server whose entity has only some of its properties. A key that reads only these properties must get the same answers
// from a server with all of them.
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Entity, Property } from '../../src/model/entity.ts'
import { ENTITIES_DIR, entities } from './entities.ts'
import { temporaryFolder } from './process.ts'
import type { PairAnswer } from './rightsPairsAnswers.ts'
import { sourcesOf, targetOf } from './rightsPairsRows.ts'
import { KEY } from './server.ts'
import { ServerProcesses } from './serverProcesses.ts'

const VIEWS = JSON.stringify(join(import.meta.dir, '../../src/model/view.ts'))

/**
 * Returns whether an entity can be declared with only these properties. They must include the properties that the entity copies
 * from its own rows.
 */
export function canBeDeclared(entity: Entity, properties: readonly Property[]): boolean {
  const copied = properties.flatMap((property) => (property.reference ? [property] : []))
  return (
    properties.some(({ writable }) => writable) &&
    copied.every(({ reference }) => {
      const isOwn = reference?.entity === entity.name && reference.copy !== null
      return !isOwn || properties.some(({ column }) => column === reference.copy?.source)
    }) &&
    // The declaration of a copied value needs the reference along which it is copied.
    properties.every((property) => {
      const { through } = sourcesOf(entity, property, entities)
      return through === null || properties.includes(through.reference)
    })
  )
}

/**
 * Starts a server on the same database that has the entity with only these properties, and the entities to which it refers. The
 * server has its own process, because statements are cached by the names of tables. Returns its URL, and a function that stops
 * it.
 */
export async function openShadow(
  entity: Entity,
  properties: readonly Property[],
  databaseUrl: string,
  settings: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const folder = temporaryFolder()
  const needed = new Set([entity])
  for (const one of needed)
    for (const property of one.properties)
      if (property.reference && (one !== entity || properties.includes(property))) needed.add(targetOf(property, entities))
  for (const file of readdirSync(ENTITIES_DIR)) {
    const path = join(ENTITIES_DIR, file)
    const { default: declared } = (await import(path)) as { default: Entity }
    const own = [...needed].find(({ name }) => name === declared.name)
    if (own === undefined) continue
    const names = JSON.stringify((own === entity ? properties : own.properties).map(({ name }) => name))
    const text = `import original from ${JSON.stringify(path)}
import { withProperties } from ${VIEWS}
const names = ${names}
export default withProperties(original, new Set(original.properties.filter(({ name }) => names.includes(name))))
`
    writeFileSync(join(folder.path, file), text)
  }
  const processes = new ServerProcesses()
  const { url } = await processes.start({
    ...settings,
    DATABASE_URL: databaseUrl,
    ENTITIES_DIR: folder.path,
    WORKERS: '1',
    BOOTSTRAP_API_KEY: KEY,
  })
  const close = async () => {
    await processes.end()
    folder.remove()
  }
  return { url, close }
}

/** Returns the answer without cursors, which are signed for the view, and without the ETags that depend on links with cursors. */
export function withoutCursors({ text }: PairAnswer): string {
  return text.replace(/([?&]cursor=)[\w-]+/g, '$1<cursor>').replace(/^etag: W\/"\w+"$/m, 'etag: <tag>')
}

// A view is an entity: to a key that reads some properties alone, a server must answer as one whose entity has no others.
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

/** Returns whether an entity can be declared with only these properties, which must include what it copies from itself. */
export function canBeDeclared(entity: Entity, properties: readonly Property[]): boolean {
  const copied = properties.flatMap((property) => (property.reference ? [property] : []))
  return (
    properties.some(({ writable }) => writable) &&
    copied.every(({ reference }) => {
      const isOwn = reference?.entity === entity.name && reference.copy !== null
      return !isOwn || properties.some(({ column }) => column === reference.copy?.source)
    }) &&
    // A copied value is declared with the reference along which it is copied.
    properties.every((property) => {
      const { through } = sourcesOf(entity, property, entities)
      return through === null || properties.includes(through.reference)
    })
  )
}

/**
 * Starts a server on the same database that knows the entity with these properties, and those that it refers to. In a process of
 * its own, because statements are kept by the names of tables. Returns its address, and what ends it.
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

/** Returns the answer without cursors, which are signed for the view, and the tags that follow from links with cursors. */
export function withoutCursors({ text }: PairAnswer): string {
  return text.replace(/([?&]cursor=)[\w-]+/g, '$1<cursor>').replace(/^etag: W\/"\w+"$/m, 'etag: <tag>')
}

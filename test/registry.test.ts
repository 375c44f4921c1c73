import { beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeApi } from '../src/describe/openApi.ts'
import { parseRules } from '../src/model/limits.ts'
import { NAME_ENDS, RESERVED_TYPES } from '../src/model/names.ts'
import { loadEntities, OWN_TABLES } from '../src/registry.ts'
import { connect, createDatabase } from './support/postgres.ts'
import { temporaryFolder } from './support/process.ts'
import { wholeAccess } from './support/rights.ts'
import type { Json } from './support/server.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder().path
})

const MODEL = join(import.meta.dir, '../src/model/entity.ts')
const declare = (file: string, name: string) =>
  writeFileSync(
    join(folder, file),
    `import { defineEntity, identity, text } from '${MODEL}'
export default defineEntity('${name}', { id: identity(), label: text() })\n`,
  )

test('an entity needs only its file; entities are in the order of their names', async () => {
  declare('room.ts', 'Room')
  declare('desk.ts', 'Desk')
  expect((await loadEntities(folder)).map(({ name }) => name)).toEqual(['Desk', 'Room'])
})

test('a file that declares nothing stops the start, and the error names the file', async () => {
  declare('desk.ts', 'Desk')
  writeFileSync(join(folder, 'room.ts'), 'export const room = 1\n')
  await expect(loadEntities(folder)).rejects.toThrow('room.ts has no default export made by defineEntity')
})

test('a folder that does not exist, or has no declaration, stops the start, and the error says which setting names it', async () => {
  await expect(loadEntities(join(folder, 'gone'))).rejects.toThrow('gone cannot be read (ENOENT): set ENTITIES_DIR')
  await expect(loadEntities(folder)).rejects.toThrow('has no file that ends with .ts')
})

test('the error of a declaration names its file, and also its line if the file cannot be read', async () => {
  writeFileSync(join(folder, 'odd.ts'), '\nexport default {')
  await expect(loadEntities(folder)).rejects.toThrow(/^odd\.ts, line 2: /)
  const wrong = mkdtempSync(join(folder, 'wrong-'))
  writeFileSync(
    join(wrong, 'desk.ts'),
    `import { defineEntity, identity, text } from '${MODEL}'
export default defineEntity('Desk', { id: identity(), page: text() })\n`,
  )
  await expect(loadEntities(wrong)).rejects.toThrow('desk.ts: Desk cannot have a property called page')
  const lacking = mkdtempSync(join(folder, 'lacking-'))
  writeFileSync(
    join(lacking, 'desk.ts'),
    `import { defineEntity, identity } from '${MODEL}'\n
export default defineEntity('Desk', { id: identity(), label: text() })\n`,
  )
  await expect(loadEntities(lacking)).rejects.toThrow(
    "desk.ts, line 3: text is not defined. Add: import { text } from 'roster/entity'",
  )
})

test('a reference to a missing entity stops the start, and the error names the reference', async () => {
  writeFileSync(
    join(folder, 'desk.ts'),
    `import { defineEntity, identity, reference } from '${MODEL}'
export default defineEntity('Desk', { id: identity(), roomId: reference('Room') })\n`,
  )
  await expect(loadEntities(folder)).rejects.toThrow('RoomId of Desk refers to Room, and there is no such entity')
})

/** Two files: `Room` with these fields, and `Desk`. */
function declareBoth(room: string, desk: string, name = 'Desk') {
  // A module is loaded once.
  const parent = mkdtempSync(join(folder, 'both-'))
  for (const [file, entity, fields] of [
    ['room.ts', 'Room', room],
    ['desk.ts', name, desk],
  ])
    writeFileSync(
      join(parent, file as string),
      `import * as entities from '${MODEL}'
const { copied, defineEntity, identity, integer, reference, text } = entities
export default defineEntity('${entity}', { id: identity(), ${fields} })\n`,
    )
  return loadEntities(parent)
}

test('a copied property stops the start if its source is missing, no text, or a text too long for an index', async () => {
  const copies = "roomId: reference('Room'), room: copied('roomId', 'name')"
  await expect(declareBoth('', copies)).rejects.toThrow('Desk cannot copy name of Room: it has no such property')
  await expect(declareBoth('name: integer()', copies)).rejects.toThrow('only texts can be copied')
  const long = 'name: text({ lengthMax: 651, indexed: false })'
  await expect(declareBoth(long, copies)).rejects.toThrow('more than the 650 characters')
  await expect(declareBoth('name: text(), nameKey: text()', copies)).rejects.toThrow('stands in the column name_key')
  const chain = "otherId: reference('Desk'), name: copied('otherId', 'code')"
  await expect(declareBoth(chain, `code: text(), ${copies}`)).rejects.toThrow(
    'Desk cannot copy name of Room: it is a copy itself',
  )
  expect(await declareBoth('name: text()', copies)).toHaveLength(2)
})

test('entities whose schemas, types or operations would have one name stop the start', async () => {
  await expect(declareBoth('', '', 'RoomGroup')).rejects.toThrow('cannot both have the type RoomGroup')
  await expect(declareBoth('', '', 'RoomFilter')).rejects.toThrow('cannot both have the type RoomFilter')
  await expect(declareBoth('', '', 'RoomChange')).rejects.toThrow('cannot both have the type RoomChange')
  for (const name of ['Fault', 'History', 'ChangeAction', 'Past', 'Error', 'KeyRight'])
    await expect(declareBoth('', '', name)).rejects.toThrow('the API has a type')
})

test('an entity with a path of the server, or without a writable property, stops the start, and the error names it', async () => {
  await expect(declareBoth('a: text()', 'a: text()', 'Doc')).rejects.toThrow('Doc cannot have the path /Docs')
  await expect(declareBoth('a: text()', 'a: text()', 'Right')).rejects.toThrow('Right cannot have the path /Rights')
  await expect(declareBoth('a: text()', '')).rejects.toThrow('Desk needs a property that clients write')
})

test('no entity may have the name of another schema of the API', async () => {
  const entities = await loadEntities()
  const limits = parseRules('750/1m')
  const document = describeApi(entities.map(wholeAccess), {
    baseUrl: 'http://localhost',
    limits,
    anonymousLimits: limits,
    documentNeedsKey: false,
  })
  const own = new Set(entities.flatMap(({ name }) => NAME_ENDS.map((end) => name + end)))
  const others = Object.keys((document as Json).components.schemas).filter((name) => !own.has(name))
  expect(others.length).toBeGreaterThan(10)
  expect(others.filter((name) => !RESERVED_TYPES.test(name))).toEqual([])
})

test('two entities with the same table or path, and an entity with a table of the server, stop the start', async () => {
  await expect(declareBoth('', '', 'Room')).rejects.toThrow('Room and Room cannot both have the table room')
  await expect(declareBoth('', '', 'ROom')).rejects.toThrow('cannot both have the path /rooms')
  for (const name of ['Migration', 'ApiKey', 'EntityChange'])
    await expect(declareBoth('', '', name)).rejects.toThrow('the server has a table')
})

test('the list of the server’s own tables has every table that belongs to no entity', async () => {
  const sql = connect(await createDatabase())
  const found =
    await sql`select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`
  await sql.end()
  const entities = (await loadEntities()).map(({ table }) => table)
  expect(found.map(({ name }) => name).filter((name) => !entities.includes(name))).toEqual(Object.keys(OWN_TABLES).sort())
})

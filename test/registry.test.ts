import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadEntities } from '../src/registry.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'roster-entities-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const MODEL = join(import.meta.dir, '../src/model/entity.ts')
const declare = (file: string, name: string) =>
  writeFileSync(
    join(folder, file),
    `import { defineEntity, identity, text } from '${MODEL}'
export default defineEntity('${name}', { id: identity(), label: text() })\n`,
  )

test('loads the entities of the project', async () => {
  expect((await loadEntities()).map(({ plural }) => plural)).toEqual(
    expect.arrayContaining(['Absences', 'Companies', 'Employees']),
  )
})

test('a file is all that an entity takes; they come in the order of their names', async () => {
  declare('room.ts', 'Room')
  declare('desk.ts', 'Desk')
  expect((await loadEntities(folder)).map(({ name }) => name)).toEqual(['Desk', 'Room'])
})

test('other files are none of its business', async () => {
  declare('desk.ts', 'Desk')
  writeFileSync(join(folder, 'README.md'), 'no code')
  expect(await loadEntities(folder)).toHaveLength(1)
})

test('a file that declares nothing stops the start, by name', async () => {
  declare('desk.ts', 'Desk')
  writeFileSync(join(folder, 'room.ts'), 'export const room = 1\n')
  await expect(loadEntities(folder)).rejects.toThrow('room.ts has no default export made by defineEntity')
})

test('a reference to what is no entity stops the start, by name', async () => {
  writeFileSync(
    join(folder, 'desk.ts'),
    `import { defineEntity, identity, reference } from '${MODEL}'
export default defineEntity('Desk', { id: identity(), roomId: reference('Room') })\n`,
  )
  await expect(loadEntities(folder)).rejects.toThrow('RoomId of Desk refers to Room, and there is no such entity')
})

test('every reference names an entity that there is, and every copy a property of it', async () => {
  const entities = await loadEntities()
  const named = new Map(entities.map((entity) => [entity.name, entity]))
  const references = entities.flatMap(({ properties }) => properties.flatMap(({ reference }) => reference ?? []))
  expect(references.length).toBeGreaterThanOrEqual(3)
  for (const { entity, table, copy } of references) {
    expect(named.get(entity)?.table).toBe(table)
    const source = copy?.sourceColumn.replace(/_key$/, '')
    expect(named.get(entity)?.properties.map(({ column }) => column)).toContain(source as string)
  }
})

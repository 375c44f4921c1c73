import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'

const SOURCE = join(import.meta.dir, '../../src')
const MAP = readFileSync(join(SOURCE, '../docs/architecture.md'), 'utf8')

/** The floor of each room, as the map has it; the ground is 1. */
const floors = new Map<string, number>()
for (const [, floor, rooms = ''] of MAP.matchAll(/^\| (\d+) \| ([^|]*) \|/gm))
  for (const [, room = ''] of rooms.matchAll(/`([\w.]+)\/?`/g)) floors.set(room, Number(floor))

const roomOf = (file: string) => file.split('/')[0] as string
const files = [...new Bun.Glob('**/*.{ts,tsx,mjs}').scanSync(SOURCE)]

/** What each file imports of src, types too. */
const imports = new Map(
  files.map((file) => {
    const text = readFileSync(join(SOURCE, file), 'utf8')
    const paths = [...text.matchAll(/\b(?:from|import\()\s*'(\.[^']+)'/g)].map(([, path = '']) =>
      normalize(join(file, '..', path)),
    )
    return [file, paths.filter((path) => !path.startsWith('..'))]
  }),
)

test('docs/architecture.md names every file and folder of src, and nothing else', () => {
  expect([...floors.keys()].sort()).toEqual(readdirSync(SOURCE).sort())
})

test('at most six files of src are in none of its folders', () => {
  expect(files.filter((file) => !file.includes('/')).length).toBeLessThanOrEqual(6)
})

describe('imports', () => {
  test('are found in main.ts and operations/resource.ts, so that the tests below check something', () => {
    expect(imports.get('main.ts')?.length).toBeGreaterThan(1)
    expect(imports.get('operations/resource.ts')).toContain('model/sql.ts')
  })

  test('lead only to folders that docs/architecture.md has on lower floors', () => {
    const upwards = [...imports].flatMap(([file, paths]) =>
      paths
        .filter((path) => roomOf(path) !== roomOf(file))
        .filter((path) => (floors.get(roomOf(path)) ?? 99) >= (floors.get(roomOf(file)) ?? 0))
        .map((path) => `${file} imports ${path}`),
    )
    expect(upwards).toEqual([])
  })

  test('make no cycle, not even by imports of types', () => {
    const cycles: string[] = []
    const done = new Set<string>()
    const visit = (file: string, trail: readonly string[]) => {
      if (trail.includes(file)) cycles.push([...trail.slice(trail.indexOf(file)), file].join(' → '))
      if (done.has(file) || trail.includes(file)) return
      for (const path of imports.get(file) ?? []) visit(path, [...trail, file])
      done.add(file)
    }
    for (const file of files) visit(file, [])
    expect(cycles).toEqual([])
  })
})

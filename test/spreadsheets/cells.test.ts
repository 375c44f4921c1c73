import { expect, test } from 'bun:test'
import type { KindName } from '../../src/model/kindTraits.ts'
import { type CellProperty, cellConverter } from '../../src/spreadsheets/cells.ts'

const property = (name: string, kind: KindName): CellProperty => ({ path: [name], kind: { name: kind } })
const start = property('start', 'instant')
const end = property('end', 'instant')
const born = property('born', 'date')
const note = property('note', 'text')
const shift = property('shift', 'oneOf')

test.each([
  ['a day of a start becomes midnight', start, '2026-12-03', '2026-12-03T00:00:00Z'],
  ['a day of an end becomes its last minute', end, '2026-12-03', '2026-12-03T23:59:00Z'],
  ['midnight of an end stays midnight', end, '2026-12-03T00:00:00Z', '2026-12-03T00:00:00Z'],
  ['midnight of a date becomes the day', born, '2026-12-03T00:00:00Z', '2026-12-03'],
  ['midnight of a text becomes the day', note, '2026-12-03T00:00:00Z', '2026-12-03'],
  ['midnight of a listed value becomes the day', shift, '2026-12-03T00:00:00.000Z', '2026-12-03'],
  ['another time of a text stays', note, '2026-12-03T09:00:00Z', '2026-12-03T09:00:00Z'],
  ['another time of a date stays, so that it is refused', born, '2026-12-03T09:00:00Z', '2026-12-03T09:00:00Z'],
])('in a cell of a sheet, %s', (_, of, cell, expected) => {
  const convert = cellConverter(null, { isExcel: null, notation: null, ends: new Set([end]), onNote: () => undefined })
  expect(convert(of, { line: 2, separator: null, cells: [cell], plain: new Set([0]) }, 0)).toBe(expected)
})

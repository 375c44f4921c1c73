import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import { wholeView } from '../../src/model/view.ts'
import { loadEntities } from '../../src/registry.ts'
import { RightsReader } from '../../src/rights/reader.ts'

const entities = await loadEntities()
const reader = new RightsReader(entities)
const read = (addresses: string) => reader.read({ rights: '', addresses })

describe('rights to whole entities', () => {
  test('give whole views, and no guards', () => {
    const rights = reader.read({ rights: '*:read,Absences:write' })
    const access = rights.accessTo(absence)
    expect(access.read).toBe(wholeView(absence))
    expect(access.update).toMatchObject({ isComplete: true, guard: null })
  })
})

describe('rights as addresses', () => {
  test('give a view of their filters and properties', () => {
    const { read: view } = read('read Absences?Status=Approved&fields=Id,Start,Period').accessTo(absence)
    expect(view?.properties.map(({ name }) => name)).toEqual(['Id', 'Start', 'Period.Prefered', 'Period.Days', 'Period.Hours'])
    expect(view?.filters.map(({ value }) => value)).toEqual(['Approved'])
  })
})

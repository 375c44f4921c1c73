import { expect, test } from 'bun:test'
import { describeApi } from '../../src/describe/openApi.ts'
import { decimal, defineEntity, type Entity, group, identity, integer, reference, text } from '../../src/model/entity.ts'
import { isQuantity, type Right, resourcesOf } from '../../src/pages/explore/resources.ts'
import { takesAggregate } from '../../src/parse/summary.ts'
import { entities } from '../support/entities.ts'
import { wholeAccess } from '../support/rights.ts'

const team = defineEntity('Team', { id: identity(), name: text() })
const shift = defineEntity('Shift', {
  id: identity(),
  teamId: reference('Team'),
  seats: integer(),
  cost: group({ hours: decimal(2), rate: decimal(4) }),
  tent: group({ id: integer() }),
})

test.each<[string, readonly Entity[]]>([
  ['companies, employees and absences', entities],
  ['entities with references and an id within an object', [team, shift]],
])('for %s, /explore offers sums of exactly the properties that the parameter sum accepts', (_, all) => {
  const resources = resourcesOf(
    describeApi(all.map(wholeAccess), { baseUrl: 'http://localhost', limits: [], anonymousLimits: [], documentNeedsKey: false }),
    [],
  )
  const summed = ({ properties }: Entity) => properties.filter((property) => takesAggregate(property, 'sum'))
  expect(resources.map(({ entity, properties }) => [entity, properties.filter(isQuantity).map(({ name }) => name)])).toEqual(
    all.map((entity) => [entity.name, summed(entity).map(({ name }) => name)]),
  )
})

test('/explore reads the filters of several rights to read a resource as alternatives', () => {
  const facts = { baseUrl: 'http://localhost', limits: [], anonymousLimits: [], documentNeedsKey: false }
  const document = describeApi(entities.map(wholeAccess), facts)
  const right = (query: string): Right => {
    const filters = [...new URLSearchParams(query)].map(([property, value]) => ({ property, operator: '=', value }))
    const text = `read Absences?${query}`
    return { text, template: null, collection: 'Absences', verb: 'read', properties: null, filters, becomes: null }
  }
  const conditionsOf = (...queries: string[]) =>
    resourcesOf(document, queries.map(right)).find(({ plural }) => plural === 'Absences')?.conditions
  const own = { name: 'EmployeeId', sign: '=', values: ['7'] }
  const approved = { name: 'Status', sign: '=', values: ['Approved'] }
  expect(conditionsOf('EmployeeId=7&Status=Approved')).toEqual([[own, approved]])
  expect(conditionsOf('EmployeeId=7', 'Status=Approved')).toEqual([[own], [approved]])
  expect(conditionsOf('EmployeeId=7', '')).toEqual([])
})

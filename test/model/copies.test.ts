import { expect, test } from 'bun:test'
import { writableSourcesOf } from '../../src/model/copies.ts'
import { computed, copied, defineEntity, identity, reference, text } from '../../src/model/entity.ts'

test('a text depends on all properties that it is computed from, also through other computed texts and copies', () => {
  const worker = defineEntity('Worker', {
    ...{ id: identity(), first: text(), last: text(), full: computed(['first', 'last']) },
    ...{ firmId: reference('Firm'), firm: copied('firmId', 'name'), label: computed(['full', 'firm'], { indexed: false }) },
  })
  const behind = worker.properties.map((property) => [property.column, writableSourcesOf(worker, property)])
  expect(Object.fromEntries(behind)).toEqual({
    ...{ id: [], first: ['first'], last: ['last'], full: ['first', 'last'] },
    ...{ firm_id: ['firm_id'], firm: ['firm_id'], label: ['first', 'last', 'firm_id'] },
  })
})

import { describe, expect, test } from 'bun:test'
import { summaryParameters } from '../../src/describe/summary.ts'
import { decimal, defineEntity, group, identity } from '../../src/model/entity.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseSummary } from '../../src/parse/summary.ts'

const bill = defineEntity('Bill', {
  id: identity(),
  amount: decimal(2),
  count: group({ pages: decimal(0) }),
  sum: group({ amount: decimal(2) }),
})

function messageOf(query: string): string {
  try {
    parseSummary(wholeView(bill), query, 'json')
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

// In a group's JSON, a part of such an object would stand where the count or the sums do.
test.each(['Count.Pages', 'Sum.Amount'])(
  'groupBy=%s is refused, because its object would have the JSON name of the count or of the sums',
  (name) => {
    const object = name.toLowerCase().split('.')[0]
    expect(messageOf(`groupBy=${name}`)).toBe(`${name} cannot be a key: "${object}" of a group is something else.`)
    expect(messageOf(`sum=${name}`)).toBe('')
  },
)

test('the OpenAPI document lists exactly the properties that groupBy accepts', () => {
  const names = bill.properties.map(({ name }) => name)
  const [groupBy] = summaryParameters(wholeView(bill)).filter(({ name }) => name === 'groupBy')
  expect(groupBy).toMatchObject({ schema: { items: { enum: names.filter((name) => messageOf(`groupBy=${name}`) === '') } } })
})

describe('an unknown parameter of a summary', () => {
  test.each(['constructor', '__proto__', 'toString'])('%s gets no hint', (name) => {
    expect(messageOf(`${name}=1`)).toEndWith(` has no parameter "${name}".`)
  })

  test('avg gets the hint average', () => expect(messageOf('avg=Amount')).toEndWith('Did you mean average?'))
})

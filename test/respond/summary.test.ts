import { expect, test } from 'bun:test'
import { decimal, defineEntity, identity } from '../../src/model/entity.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseSummary } from '../../src/parse/summary.ts'
import { respondSummary } from '../../src/respond/summary.ts'

const payment = defineEntity('Payment', { id: identity(), amount: decimal(8, { min: -1_000 }) })
const query = parseSummary(wholeView(payment), 'average=Amount', 'json')

/** The average, as the JSON of a group has it: of amounts with this sum. */
function averageOf(sum: string, values: string): string | undefined {
  const { body } = respondSummary(query, [[values, sum, values]], 1, 'http://localhost/Payments/Summary')
  return /"amount":([^}]*)/.exec(Buffer.from(body).toString())?.[1]
}

test.each([
  ['-0.00000003', '2', '-0.00000002'],
  ['-0.00000001', '2', '-0.00000001'],
  ['-0.00000001', '3', '0.00000000'],
  ['0.00000001', '3', '0.00000000'],
  ['-7.00000000', '2', '-3.50000000'],
])('the average of the sum %s and %s values is rounded half away from zero, and never -0: %s', (sum, values, average) => {
  expect(averageOf(sum, values)).toBe(average)
})

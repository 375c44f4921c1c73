import { expect, test } from 'bun:test'
import { columnCases } from '../../bench/micro/columns.ts'
import { compileCases } from '../../bench/micro/compile.ts'
import { measure } from '../../bench/micro/measure.ts'

for (const [part, cases] of Object.entries({ columns: columnCases(2_000), compile: compileCases() }))
  test(`${part}: each case has a cost, and the first of a name is the measure of the others`, () => {
    const costs = measure(cases, 0.05, 1)
    expect(costs.map(({ name, operation }) => [name, operation])).toEqual(cases.map(({ name, operation }) => [name, operation]))
    for (const { name, ns, ratio } of costs) {
      const first = costs.find((cost) => cost.name === name)
      expect([name, ns > 0, ratio]).toEqual([name, true, ns / (first?.ns ?? 0)])
    }
  })

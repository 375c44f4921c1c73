import { expect, test } from 'bun:test'
import type { LogFields } from '../../src/log.ts'
import { slowStatements } from '../../src/processes/slowStatements.ts'
import { quietLog } from '../support/quietLog.ts'

test('slow statements are logged, at most ten per minute, with up to 2,000 characters; a limit of 0 ms logs none', () => {
  const lines: LogFields[] = []
  const log = quietLog({ warn: (_, fields = {}) => void lines.push(fields) })
  slowStatements(log, 0)('select $0', 10_000)
  const note = slowStatements(log, 50)
  note('select $1', 49.9)
  for (let n = 0; n < 100; n++) note('x'.repeat(5_000), 50)
  expect(lines).toEqual(Array(10).fill({ ms: 50, statement: `${'x'.repeat(2_000)}…` }))
})

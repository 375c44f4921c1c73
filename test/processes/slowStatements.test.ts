import { expect, test } from 'bun:test'
import type { Log, LogFields } from '../../src/log.ts'
import { slowStatements } from '../../src/processes/slowStatements.ts'

function logged(msMin: number) {
  const lines: LogFields[] = []
  const log = { warn: (_: string, fields: LogFields) => lines.push(fields) } as unknown as Log
  return { lines, note: slowStatements(log, msMin) }
}

test('what takes as long as the setting says is logged, and nothing else', () => {
  const { lines, note } = logged(50)
  note('select $1', 49.9)
  note('select $2', 50)
  expect(lines).toEqual([{ ms: 50, statement: 'select $2' }])
})

test('0 logs none', () => {
  const { lines, note } = logged(0)
  note('select $1', 10_000)
  expect(lines).toEqual([])
})

test('a minute has ten lines, of up to 2,000 characters', () => {
  const { lines, note } = logged(1)
  for (let n = 0; n < 100; n++) note('x'.repeat(5_000), 2)
  expect(lines).toHaveLength(10)
  expect(lines[0]).toEqual({ ms: 2, statement: `${'x'.repeat(2_000)}…` })
})

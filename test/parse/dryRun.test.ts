import { expect, test } from 'bun:test'
import { parseDryRun } from '../../src/parse/dryRun.ts'

test('D59: rows are only checked where dryRun is 1', () => {
  const read = (query: string) => {
    try {
      return parseDryRun(query)
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  expect(['', '&', 'dryRun=0', 'DryRun=1', 'dry%52un=1'].map(read)).toEqual([false, false, false, true, true])
  expect(['dryRun', 'dryRun=true', 'dryRun=1&dryRun=1'].map(read)).toEqual(Array(3).fill('InvalidDryRun'))
  expect(['name=1', 'dryRun=%zz'].map(read)).toEqual(['UnknownParameter', 'InvalidQueryString'])
})

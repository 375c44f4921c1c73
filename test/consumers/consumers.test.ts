import { describe, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { testLockfile } from '../support/lockfile.ts'
import { CONSUMERS, consumerProgram, hasConsumers, WITHOUT_CONSUMERS } from './consumers.ts'
import { dependencies } from './package.json'
import lockfile from './package-lock.json'

describe('the packages of the consumers', () => {
  testLockfile(dependencies, lockfile, 30)

  if (hasConsumers())
    test('are installed: another TypeScript than that of the project', () => {
      const version = execFileSync('node', [consumerProgram('tsc'), '--version'], { cwd: CONSUMERS, encoding: 'utf8' })
      expect(version.trim()).toBe(`Version ${dependencies.typescript}`)
    })
  else
    test('are not installed', () => {
      console.warn(WITHOUT_CONSUMERS)
      expect(process.env.CI_REQUIRES_CONSUMERS).toBeUndefined()
    })
})

import { describe, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { CONSUMERS, consumerProgram, hasConsumers, WITHOUT_CONSUMERS } from './consumers.ts'
import { dependencies } from './package.json'
import lockfile from './package-lock.json'

const packages: Record<string, { version?: string }> = lockfile.packages

describe('the packages of the consumers', () => {
  test('each has an exact version, which is the lockfile’s', () => {
    const locked = Object.keys(dependencies).map((name) => [name, packages[`node_modules/${name}`]?.version ?? ''])
    expect(Object.fromEntries(locked)).toEqual(dependencies)
    expect(Object.values(dependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
  })

  test('the lockfile names no registry', () => {
    expect(Object.entries(packages).filter(([, entry]) => 'resolved' in entry)).toEqual([])
    expect(Object.keys(packages).length).toBeGreaterThan(30)
  })

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

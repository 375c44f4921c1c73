import { describe, expect, test } from 'bun:test'
import { readConfig } from '../../src/config/config.ts'
import { type Part, Parts } from '../../src/processes/parts.ts'
import { Supervisor } from '../../src/processes/supervisor.ts'
import { quietLog } from '../support/quietLog.ts'

const logged: unknown[] = []
const note = (text: string, fields?: object) => void logged.push([text, fields])
const log = quietLog({ debug: note, info: note, warn: note, error: note })

/** Makes parts that record when they start and stop. */
function recorded(names: readonly string[], steps: string[], more: Record<string, Partial<Part>> = {}): Part[] {
  return names.map((name) => ({
    name,
    start: async () => void steps.push(`start ${name}`),
    stop: async () => {
      await Bun.sleep(1)
      steps.push(`stop ${name}`)
    },
    ...more[name],
  }))
}

describe('parts of a process', () => {
  test('parts are started in order, and stopped in reverse order, each after the one before has stopped', async () => {
    const steps: string[] = []
    const parts = new Parts(log)
    await parts.start(recorded(['a', 'b', 'c'], steps))
    await parts.stop()
    expect(steps).toEqual(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a'])
  })

  test('if the start of a part fails, it and earlier parts are stopped, and later parts are neither started nor stopped', async () => {
    const steps: string[] = []
    const parts = new Parts(log)
    const fail = { b: { start: () => Promise.reject(new Error('no port')) } }
    await expect(parts.start(recorded(['a', 'b', 'c'], steps, fail))).rejects.toThrow('no port')
    await parts.stop()
    expect(steps).toEqual(['start a', 'stop b', 'stop a'])
  })

  test('if stop is called while a part is starting, this part is stopped, and later parts are not started', async () => {
    const steps: string[] = []
    const parts = new Parts(log)
    const { promise, resolve } = Promise.withResolvers<void>()
    const starting = parts.start(recorded(['a', 'b'], steps, { a: { start: () => promise } }))
    const stopped = parts.stop()
    resolve()
    await Promise.all([starting, stopped])
    expect(steps).toEqual(['stop a'])
  })

  test('parts are stopped once, even if stop is called three times', async () => {
    const steps: string[] = []
    const parts = new Parts(log)
    await parts.start(recorded(['a'], steps))
    await Promise.all([parts.stop(), parts.stop()])
    await parts.stop()
    expect(steps).toEqual(['start a', 'stop a'])
  })

  test('a part that fails to stop or takes too long does not prevent other parts from being stopped', async () => {
    const steps: string[] = []
    const parts = new Parts(log)
    const faults = {
      b: { stop: () => Promise.reject(new Error('stuck')) },
      c: { stop: () => new Promise<void>(() => undefined), stopMsMax: 5 },
    }
    await parts.start(recorded(['a', 'b', 'c'], steps, faults))
    await parts.stop()
    expect(steps.at(-1)).toBe('stop a')
    expect(logged).toContainEqual(['a part of the server did not stop cleanly', { part: 'b', error: 'Error: stuck' }])
  })
})

describe('a server', () => {
  const namesWith = (environment: Record<string, string>) =>
    new Supervisor(readConfig(environment), log, () => undefined).parts().map(({ name }) => name)

  test('a server starts its ports first, then PostgreSQL, limiter tables and background jobs, and workers last; it stops in reverse', () => {
    expect(namesWith({ ADMIN_PORT: '9' })).toEqual([
      'certificates',
      'port',
      'admin port',
      'postgres',
      'entities',
      'limiter tables',
      'database',
      'background jobs',
      'workers',
    ])
  })

  test('a server with DATABASE_URL starts no PostgreSQL', () => {
    expect(namesWith({ DATABASE_URL: 'postgres://127.0.0.1/people' })).not.toContain('postgres')
  })
})

import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { hasFault, resultLine } from '../../bench/servers/lines.ts'
import type { SideRun } from '../../bench/servers/measure.ts'
import { copyCluster } from '../support/cluster.ts'
import { run, temporaryFolder } from '../support/process.ts'

const folder = temporaryFolder()
afterAll(folder.remove)

const command = (...words: string[]) => run([process.execPath, '--no-env-file', 'bench/servers.ts', ...words])

describe('the line of a scenario', () => {
  const runs = (requestsPerSecond: number[], more: Partial<SideRun> = {}): SideRun[] =>
    requestsPerSecond.map((figure) => {
      const unmeasured = { foreignWritesPerSecond: null, postedPerSecond: null, cpuUs: null }
      return { requestsPerSecond: figure, loadsAnew: 0, ...unmeasured, fault: null, ...more }
    })

  test('has both sides, the ratio of the second to the first, and its spread', () => {
    const result = { scenario: 'create', first: runs([100, 100, 200, 200]), second: runs([90, 90, 220, 220]) }
    expect(resultLine(result).split(/ {2,}/)).toEqual(['create', '150 → 155', '1.000 (0.900 – 1.100)', 'no errors'])
    expect(hasFault(result)).toBe(false)
  })

  test('says how often columns were read anew beside foreign writes', () => {
    const first = runs([100, 100], { foreignWritesPerSecond: 99.5 })
    const second = runs([100, 100], { foreignWritesPerSecond: 98.9, loadsAnew: 2 })
    const line = resultLine({ scenario: 'new-lists', first, second })
    expect(line).toContain('columns read anew 0 → 4 times, by at least 98 foreign writes/s')
  })

  test('says what a request cost the servers, and how many webhooks were taken', () => {
    const first = runs([100, 100], { cpuUs: 80 })
    const second = runs([90, 90], { cpuUs: 100, postedPerSecond: 75 })
    const line = resultLine({ scenario: 'create', first, second })
    expect(line).toContain('  80.0 → 100 µs CPU of the server each  75.0 webhooks/s  no errors')
  })

  test('leaves out a block in which a run was answered wrongly, and says so', () => {
    const fault = '9 answers of 500 instead of 200'
    const result = { scenario: 'create', first: runs([100, 100]), second: runs([100, 100], { fault }) }
    expect(resultLine(result).split(/ {2,}/)).toEqual(['create', '–', '–', `WRONG in 2 of 4 runs: ${fault}`])
    expect(hasFault(result)).toBe(true)
  })
})

describe('the command', () => {
  const tiny = ['--rows', '1000', '--seconds', '0.5', '--rounds', '1', '--connections', '4', '--workers', '2']
  const line = /^([a-z-]+) +([\d,.]+) → ([\d,.]+) +([\d.]+) \([\d.]+ – [\d.]+\) {2}.*no errors$/m

  test('ends with 2 and says why when it is used wrongly', async () => {
    const cases: [words: string[], message: string][] = [
      [['--only', 'creat'], 'there is no scenario creat. Did you mean create?'],
      [['--changes', 'slot'], 'It must be two of slot, notify and off, like slot,notify.'],
      [['--changes', 'slot,slot'], 'It must be two of slot, notify and off, like slot,notify.'],
      [['--workers', '0'], 'It must be an integer from 1 to 256.'],
      [['--cost', 'hooks'], 'Allowed choices are lines, hook.'],
      [['--seconds', 'ten'], 'It must be a number from 0.1 to 3600.'],
    ]
    const ended = cases.map(async ([words, message]) => {
      const program = command(...words)
      expect(await program.ended).toBe(2)
      expect(program.output()).toContain(message)
    })
    await Promise.all(ended)
  }, 60_000)

  test('loads one server and two in turns, whose lists are those of the database', async () => {
    const data = join(folder.path, 'layouts')
    copyCluster(join(data, 'slot'))
    const program = command('--only', 'two-servers', ...tiny, '--data', data)
    expect([await program.ended, program.output()]).toEqual([0, expect.stringContaining('every answer as expected')])
    expect(program.output()).toContain('one server → two servers')
    expect(line.exec(program.output())?.[1]).toBe('two-servers')
  }, 180_000)

  test('loads a server without a webhook and one whose receiver takes what it posts, in turns', async () => {
    const data = join(folder.path, 'costs')
    copyCluster(join(data, 'slot'))
    const program = command('--cost', 'hook', '--only', 'create', ...tiny, '--data', data)
    expect([await program.ended, program.output()]).toEqual([0, expect.stringContaining('every answer as expected')])
    expect(program.output()).toContain('no webhook → one webhook')
    expect(line.exec(program.output())?.[1]).toBe('create')
    expect(Number(/([\d,.]+) webhooks\/s/.exec(program.output())?.[1]?.replaceAll(',', ''))).toBeGreaterThan(0)
  }, 180_000)
})

import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkOut } from '../../bench/compare/checkout.ts'
import { type Comparison, comparisonLine, comparisonOf, isFailure } from '../../bench/compare/lines.ts'
import { changeOf, isLoss } from '../../bench/compare/verdict.ts'
import type { Sample } from '../../bench/results.ts'
import { copyCluster } from '../support/cluster.ts'
import { run, temporaryFolder } from '../support/process.ts'

const ROOT = join(import.meta.dir, '../..')
const folder = temporaryFolder()
afterAll(folder.remove)

describe('a change', () => {
  test('is the middle of the ratios of the blocks, with the least and the greatest', () => {
    expect(changeOf([100, 100, 200, 200, 50, 50], [80, 100, 220, 220, 50, 50])).toEqual({
      before: 100,
      after: 90,
      ratio: 1,
      least: 0.9,
      greatest: 1.1,
    })
  })

  test('is a loss beyond the threshold, not at it', () => {
    const change = (ratio: number) => ({ before: 1, after: ratio, ratio, least: ratio, greatest: ratio })
    expect([0.5, 0.899, 0.9, 1, 2].map((ratio) => isLoss(change(ratio), 10))).toEqual([true, true, false, false, false])
    expect([0.99, 1].map((ratio) => isLoss(change(ratio), 0))).toEqual([true, false])
  })
})

describe('a comparison', () => {
  const sample = (requestsPerSecond: number, serverCpuUs: number | null): Sample => {
    const rest = { p50Ms: 1, p99Ms: 1, postgresCpuUs: null, rssMb: null }
    return { requestsPerSecond, serverCpuUs, ...rest }
  }
  const compare = (after: number, faults: Partial<Comparison['faults']> = {}, cpuUs: number | null = 40) => {
    const measured = (target: 'before' | 'after', rate: number) => {
      return { target, rounds: [sample(rate, cpuUs), sample(rate, cpuUs)], void: faults[target] ?? null }
    }
    return comparisonOf({
      name: 'create',
      title: 'create a company',
      targets: [measured('before', 12_000), measured('after', after)],
    })
  }

  test('fails by a loss of throughput, or when the working tree answers wrongly', () => {
    const fault = 'round 1: 9 answers of 500 instead of 200'
    const cases = [compare(12_000), compare(10_000), compare(12_000, { after: fault }), compare(9, { before: fault })]
    expect(cases.map((comparison) => isFailure(comparison, 10))).toEqual([false, true, true, false])
    const verdicts = cases.map((comparison) => comparisonLine(comparison, 10).split(/ {2,}/)[5])
    expect(verdicts).toEqual([undefined, 'LOSS', `FAILS: ${fault}`, `void, since before: ${fault}`])
    expect(isFailure(compare(10_000), 20)).toBe(false)
  })
})

describe('a checkout', () => {
  const root = join(folder.path, 'repository')
  const git = (...words: string[]) => {
    const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false']
    const { exitCode, stdout } = Bun.spawnSync(['git', ...identity, ...words], { cwd: root })
    expect(exitCode).toBe(0)
    return stdout.toString().trim()
  }
  const write = (path: string, text: string) => writeFileSync(join(root, path), text)
  const lock = (version: string) =>
    JSON.stringify({ name: 'r', version, lockfileVersion: 3, packages: { '': { name: 'r', version } } })
  const commit = (version: string) => {
    write('package.json', JSON.stringify({ name: 'r', version }))
    write('package-lock.json', lock(version))
    write('src/main.ts', `// ${version}\n`)
    git('add', '.')
    git('commit', '-q', '-m', version)
  }
  mkdirSync(join(root, 'src'), { recursive: true })
  mkdirSync(join(root, 'node_modules'))
  write('.gitignore', 'node_modules\n')
  git('init', '-q', '-b', 'main')
  commit('1.0.0')
  commit('2.0.0')
  write('src/main.ts', '// edited\n')

  test('has the files of the commit and the dependencies of the working tree, and leaves nothing behind', () => {
    const before = git('status', '--porcelain', '--ignored')
    const checkout = checkOut(root, 'main')
    expect(readFileSync(join(checkout.root, 'src/main.ts'), 'utf8')).toBe('// 2.0.0\n')
    expect(git('rev-parse', 'HEAD')).toStartWith(checkout.commit)
    expect(lstatSync(join(checkout.root, 'node_modules')).isSymbolicLink()).toBe(true)
    checkout.remove()
    expect(existsSync(checkout.root)).toBe(false)
    expect(existsSync(join(root, 'node_modules'))).toBe(true)
    expect(git('status', '--porcelain', '--ignored')).toBe(before)
    expect(git('worktree', 'list').split('\n')).toHaveLength(1)
  })
})

describe('the command', () => {
  const command = (...words: string[]) => run([process.execPath, '--no-env-file', 'bench/compare.ts', ...words])

  test('ends with 2 and says why when it is used wrongly', async () => {
    const cases: [words: string[], message: string][] = [
      [[], "missing required argument 'ref'"],
      [['no-such-ref'], `there is no commit no-such-ref in ${ROOT}`],
      [['HEAD', '--only', 'one-by-idd'], 'there is no scenario one-by-idd. Did you mean one-by-id?'],
      [['HEAD', '--rounds', '1.5'], 'It must be an integer from 1 to 1000.'],
      [['HEAD', '--threshold', 'ten'], 'It must be a number from 0 to 100.'],
      [['HEAD', '--fast'], "unknown option '--fast'"],
    ]
    const ended = cases.map(async ([words, message]) => {
      const program = command(...words)
      expect(await program.ended).toBe(2)
      expect(program.output()).toContain(message)
    })
    await Promise.all(ended)
  }, 20_000)

  test('compares two commits on one database, and cleans up', async () => {
    const options = ['--rows', '1000', '--seconds', '0.5', '--rounds', '1', '--connections', '4']
    // On a busy machine so short a run tells nothing of speed, so none is a loss.
    const judged = ['--threshold', '100', '--data', join(folder.path, 'data')]
    copyCluster(join(folder.path, 'data'))
    const program = command('HEAD', '--only', 'create,filter-sort', ...options, ...judged)
    expect([await program.ended, program.output()]).toEqual([0, expect.stringContaining('no loss over 100 %')])
    const line = /^([a-z-]+) +([\d,.]+) → ([\d,.]+) +[\d.]+ \([\d.]+ – [\d.]+\) .*(?<! )$/gm
    const found = [...program.output().matchAll(line)]
    expect(found.map(([, name]) => name)).toEqual(['filter-sort', 'create'])
    for (const [, , before, after] of found)
      expect([Number.parseFloat(before ?? '') > 0, Number.parseFloat(after ?? '') > 0]).toEqual([true, true])
    expect(program.output()).toMatch(/before: [0-9a-f]+, after: the working tree, [0-9a-f]+\+?;/)
  }, 120_000)
})

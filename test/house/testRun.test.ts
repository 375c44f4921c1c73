import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, temporaryFolder, until } from '../support/process.ts'
import { againAlone, type Result, reportOf, runTestFiles } from '../support/testFiles.ts'

const folder = temporaryFolder()
afterAll(() => folder.remove())

const PASSES = "test('right', () => undefined)\n"
const FAILS = "test('wrong', () => { throw new Error('always') })"
const FAILS_ONCE = `
test('late', () => {
  const isFirst = !existsSync('ran')
  writeFileSync('ran', '')
  if (isFirst) throw new Error('the first time')
})`

/** Runs files with these texts as `test/run.ts` does, the failed ones again. */
async function runAll(texts: Record<string, string>) {
  const root = mkdtempSync(join(folder.path, 'root-'))
  const outputs = join(root, 'outputs')
  mkdirSync(outputs)
  for (const [name, text] of Object.entries(texts))
    writeFileSync(
      join(root, name),
      `import { test } from 'bun:test'\nimport { existsSync, writeFileSync } from 'node:fs'\n${text}\n`,
    )
  const runOne = (file: string) =>
    runTestFiles(file, [file], { root, outputs, options: [], env: process.env, running: new Set(), print })
  const runEach = async (files: string[]) => {
    const results: Result[] = []
    for (const file of files) results.push(await runOne(file))
    return results
  }
  const ranAgain: string[] = []
  const results = await againAlone(await runEach(Object.keys(texts)), (files) => {
    ranAgain.push(...files)
    return runEach(files)
  })
  return { results, ranAgain }
}

const print = (text: string) => expect(text).toContain('.test.ts:')
const result = (file: string, failures: number, hung = false): Result => ({
  ...{ file, passes: 1, failures, hung, tookMs: 1, cpuMs: 1 },
  faults: failures > 0 ? [`(fail) ${file}`] : [],
})

test('a file that fails is run once more, alone; the second run decides; one without a test has failed', async () => {
  const { results, ranAgain } = await runAll({
    'passes.test.ts': PASSES,
    'late.test.ts': PASSES + FAILS_ONCE,
    'fails.test.ts': PASSES + FAILS,
    'empty.test.ts': '',
    'ends.test.ts': `${PASSES}\nprocess.exit(0)`,
  })
  expect(ranAgain).toEqual(['late.test.ts', 'fails.test.ts', 'empty.test.ts', 'ends.test.ts'])
  expect(results.map(({ failures }) => failures)).toEqual([0, 0, 1, 1, 1])
  const report = reportOf(results, 1)
  expect(report).toMatch(/^failed beside others, passed alone: late\.test\.ts\n\(fail\) late/m)
  expect(report).not.toContain('alone: fails.test.ts')
  expect(report).toMatch(/^fails\.test\.ts:\n\(fail\) wrong/m)
  expect(report).toMatch(/^ 3 fail\nRan \d+ tests across 5 files\./m)
})

test('a file is not run again where it was alone, where it hung, or where more than 20 failed', async () => {
  const never = () => Promise.reject(new Error('run again'))
  const many = Array.from({ length: 21 }, (_, at) => result(`${at}`, 1))
  for (const results of [[result('a', 1)], [result('a', 1, true), result('b', 0)], many, [result('a', 0)]])
    expect(await againAlone(results, never)).toEqual(results)
})

test('a file that is interrupted leaves none of its programs behind', async () => {
  const support = join(import.meta.dir, '../support')
  const root = mkdtempSync(join(folder.path, 'root-'))
  const pidFile = join(root, 'pid')
  writeFileSync(
    join(root, 'waits.test.ts'),
    `import { test } from 'bun:test'
    import { writeFileSync } from 'node:fs'
    import { run } from '${support}/process.ts'
    test('waits', async () => {
      const program = run(['sleep', '600'])
      writeFileSync('${pidFile}', String(program.pid))
      await program.ended
    })`,
  )
  const running = new Set<Bun.Subprocess>()
  const options = ['--preload', join(support, 'preload.ts')]
  const files = ['waits.test.ts']
  const result = runTestFiles('waits.test.ts', files, { root, outputs: root, options, env: process.env, running, print })
  await until(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '')
  const program = Number(readFileSync(pidFile, 'utf8'))
  expect(isAlive(program)).toBe(true)
  for (const { pid } of running) process.kill(-pid, 'SIGTERM')
  expect((await result).failures).toBe(1)
  await until(() => !isAlive(program))
})

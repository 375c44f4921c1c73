import { closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Time limit of a process that hangs outside of a test. */
const PROCESS_MS_MAX = 1_200_000
/** Time limit of a test: ten times what the longest ones take on a machine at rest. */
export const TEST_MS_MAX = 300_000
/** Maximum number of failed files to repeat: if a change breaks more files, a repetition tells nothing new. */
const AGAIN_MAX = 20
/** Maximum length of a test's name. `titled` shortens values in names, because long names flood the output. */
const NAME_LENGTH_MAX = 200
/** Processes that the end of a run names. */
const SLOWEST = 10

/** A process, and the files that it has run. */
interface TestProcess {
  readonly files: readonly string[]
  readonly tookMs: number
  /** CPU time of the process and its children, without the PostgreSQL of the tests. */
  readonly cpuMs: number
}

/** Result of a run of one file. */
export interface Result {
  readonly file: string
  readonly process: TestProcess
  readonly passes: number
  readonly failures: number
  /** Lines of failed tests, or other faults. */
  readonly faults: readonly string[]
  /** Lines that failed in the first run, at the same time as other files. Only results of a second run have this member. */
  readonly before?: readonly string[]
}

interface Run {
  readonly root: string
  /** Folder for the output of the files. */
  readonly outputs: string
  readonly options: readonly string[]
  readonly env: Record<string, string | undefined>
  /** Running processes, so that an interrupted run can end them. */
  readonly running: Set<Bun.Subprocess>
  readonly print: (text: string) => void
}

/** Runs files in one process, and prints its output; returns the result of each file. */
export async function runTestFiles(files: readonly string[], run: Run): Promise<Result[]> {
  const beganMs = performance.now()
  const { root, outputs, options, env, running } = run
  // Output goes to a file instead of a pipe: a process that a test has left running would keep the pipe open.
  const outputFile = join(mkdtempSync(join(outputs, 'output-')), 'output')
  const output = openSync(outputFile, 'a')
  const paths = files.map((path) => `./${path}`)
  const child = Bun.spawn([process.execPath, 'test', `--timeout=${TEST_MS_MAX}`, ...options, ...paths], {
    cwd: root,
    env,
    stdio: ['ignore', output, output],
    // The process runs in a new session, because Linux divides processor time among sessions, and the servers of tests have their
    // own sessions. In a single session, a busy machine would give the tests less time than their servers.
    detached: true,
    timeout: PROCESS_MS_MAX,
    killSignal: 'SIGKILL',
  })
  running.add(child)
  await child.exited
  running.delete(child)
  closeSync(output)
  const text = readFileSync(outputFile, 'utf8').replace(/^bun test v.*\n/, '')
  // The totals of one file are left out, because `reportOf` prints the totals of all files.
  run.print(text.replace(/\n *\d+ pass\n[\s\S]*$/, '\n'))
  const cpuMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000
  const own = { files, tookMs: performance.now() - beganMs, cpuMs }
  const isPart = options.length > 0
  // Bun repeats the failed tests after the last file, so the repetition is removed.
  const plain = Bun.stripANSI(text)
  const texts = textsOf(plain.replace(/^\d+ tests? failed:$[\s\S]*/m, ''))
  const results = files.map((file) => ({ file, process: own, ...judge(texts.get(file) ?? '', isPart) }))
  const end = child.signalCode ?? child.exitCode ?? 1
  // Totals are missing if the process crashed. A number of errors means that an error occurred outside of tests.
  const isExplained = /^Ran \d+ tests? /m.test(plain) && !/^ *\d+ errors?$/m.test(plain)
  if (end === 0 || (isExplained && results.some(({ failures }) => failures > 0))) return results
  const faults = [...(text.match(/^error: .*$/gm) ?? []), `(fail) the process ended with ${end}`]
  return results.map((result) => (result.failures > 0 ? result : { ...result, failures: 1, faults }))
}

/** Splits Bun's output by file; each part follows a line with the file's name. */
function textsOf(text: string): Map<string, string> {
  const parts = text.split(/^(test\/\S+\.test\.ts):$/m)
  return new Map(parts.flatMap((part, index) => (index % 2 ? [[part, parts[index + 1] ?? '']] : [])))
}

/** Reads the result of a file. A file without a test is a fault, unless only some tests are run. */
function judge(text: string, isPart: boolean): Pick<Result, 'passes' | 'failures' | 'faults'> {
  const passes = text.match(/^\(pass\) /gm)?.length ?? 0
  const failed =
    text.match(/^\(fail\) .*$/gm) ??
    (passes > 0 || isPart ? [] : [...(text.match(/^error: .*$/gm) ?? []), '(fail) no test of it has run'])
  const faults = [...failed, ...longNamesIn(text)]
  return { passes, failures: faults.length, faults }
}

/** Returns a fault for each test whose own name is too long. Names of its `describe`s do not count. */
function longNamesIn(text: string): string[] {
  return [...text.matchAll(/^\((?:pass|fail)\) (.*?)(?: \[[\d.]+ms\])?$/gm)].flatMap(([, path = '']) => {
    const name = path.split(' > ').at(-1) as string
    return name.length > NAME_LENGTH_MAX ? [`(fail) a name of ${name.length} characters: ${name.slice(0, 60)}...`] : []
  })
}

/**
 * Runs failed files again, without other files at the same time, and returns all results. Exceptions: a file that hung, a file
 * that was the only one, and all files if more than `AGAIN_MAX` have failed.
 */
export async function againAlone(
  results: readonly Result[],
  runAlone: (files: string[]) => Promise<Result[]>,
): Promise<Result[]> {
  const again = results.filter(({ failures, process }) => failures > 0 && process.tookMs < PROCESS_MS_MAX)
  if (results.length < 2 || again.length === 0 || again.length > AGAIN_MAX) return [...results]
  const seconds = new Map((await runAlone(again.map(({ file }) => file))).map((result) => [result.file, result]))
  return results.map((first) => {
    const second = seconds.get(first.file)
    return second ? { ...second, before: first.faults } : first
  })
}

/** Returns the end of a run's output: slowest processes, failed files, files that passed only in the second run, and totals. */
export function reportOf(results: readonly Result[], tookMs: number): string {
  const sum = (key: 'passes' | 'failures') => results.reduce((total, result) => total + result[key], 0)
  const seconds = (ms: number) => (ms / 1_000).toFixed(1)
  const processes = [...new Set(results.map(({ process }) => process))].sort((one, other) => other.tookMs - one.tookMs)
  const times = processes.slice(0, SLOWEST).map(({ files, tookMs, cpuMs }) => {
    const others = files.length > 1 ? ` and ${files.length - 1} more` : ''
    return `${seconds(tookMs).padStart(7)} s ${seconds(cpuMs).padStart(7)} s  ${files[0]}${others}`
  })
  const cpu = `CPU time of all files: ${seconds(processes.reduce((total, { cpuMs }) => total + cpuMs, 0))} s`
  const failed = results.filter(({ failures }) => failures > 0)
  const passedAlone = results.filter(({ failures, before }) => failures === 0 && before)
  return [
    ...['\nThe processes that took longest, and their CPU time:', ...times, cpu],
    ...failed.map(({ file, faults }) => `\n${file}:\n${faults.join('\n')}`),
    ...passedAlone.map(({ file, before }) => `\nfailed beside others, passed alone: ${file}\n${before?.join('\n')}`),
    `\n ${sum('passes')} pass\n ${sum('failures')} fail`,
    `Ran ${sum('passes') + sum('failures')} tests across ${results.length} files. [${seconds(tookMs)}s]`,
  ].join('\n')
}

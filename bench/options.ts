import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { type Rows, rowsFor } from './data.ts'
import { DATA_DIR } from './database.ts'
import { PAGE, scenariosFor } from './scenarios.ts'

export interface Options {
  readonly rows: number
  /** True if properties of an absence depend on each other. */
  readonly together: boolean
  readonly seconds: number
  readonly connections: number
  readonly rounds: number
  readonly only: readonly string[]
  /** Kinds of lists that are requested before the measured kind; empty: the default kind. */
  readonly after: readonly string[]
  /** Number of lists of another kind before a round. */
  readonly listsBefore: number
  readonly peers: readonly string[]
  /** Number of servers to compare with one server; the run has no other scenarios. Null: no such comparison. */
  readonly servers: number | null
  readonly workers: number
  /** Seed of all random values. */
  readonly seed: number
  readonly curves: boolean
  /** File of an earlier run to publish, without measuring; null to measure. */
  readonly publish: string | null
  readonly output: string
  readonly data: string
}

/** Options of a quick run, about a minute on two quiet processors; its speeds are rough. */
const QUICK = { rows: 20_000, seconds: 0.3, rounds: 1, listsBefore: 200, curves: false }
/** Half of the processors; the database and the load use the others. */
const WORKERS = Math.max(1, availableParallelism() >> 1)
const SEED_MAX = 999_999
const ROWS = 1_000_000

export const WRONG_USAGE = 2

/** Returns the command line of a run for its report. Folders are left out, because they differ on another machine. */
export function commandOf(args: readonly string[]): string {
  const isFolder = (word?: string) => word === '--data' || word === '--output'
  const told = args.filter((word, index) => !isFolder(word) && !isFolder(args[index - 1]) && !/^--(data|output)=/.test(word))
  return ['npm run bench', ...(told.length > 0 ? ['--', ...told] : [])].join(' ')
}

const ROOT = join(import.meta.dir, '..')

/** Reads the command line; ends the process if it is not valid. */
export function readOptions(args: readonly string[], peerNames: readonly string[]): Options {
  const command = loadOptions(
    new Command('bench').description('Measures the server, a floor beneath it, and others like it, in one run.'),
    { seconds: 4, rounds: 3 },
  )
    .option('--quick', `a run of about a minute: ${QUICK.rows} rows, ${QUICK.seconds} s, ${QUICK.rounds} round, no curves`)
    .option('--peers [names]', `other servers too: ${peerNames.join(', ')}, comma-separated; default: all`)
    .option('--servers <n>', 'compare so many servers that share the workers with one', numberIn(2, 8, true))
    .addOption(
      new Option('--after <kinds>', 'ask for lists of these kinds before those of each kind; all: each other one')
        .argParser(parseNames)
        .default([], 'employee'),
    )
    .option('--lists-before <n>', 'how many lists of the other kind', numberIn(1, 1_000_000, true), 20_000)
    .option('--workers <n>', 'of the server, and processes of each peer', numberIn(1, 256, true), WORKERS)
    .option('--seed <n>', 'of all random values, to repeat those of a run', numberIn(0, SEED_MAX, true))
    .option('--no-curves', 'leave out requests/s by the size of the table')
    .option('--publish <file>', 'measure nothing: publish this JSON of a run')
    .option('--output <folder>', 'of the results', join(ROOT, 'bench/results'))
  const given = readCommand(command, args)
  const peers = given.peers === true ? peerNames : parseNames(given.peers ?? '')
  const unknown = peers.find((name) => !peerNames.includes(name))
  if (unknown) command.error(`error: there is no peer ${unknown}; there are ${peerNames.join(', ')}`)
  // An explicit option wins over `--quick`.
  const isFree = (name: string) => given.quick && command.getOptionValueSource(name) !== 'cli'
  const quick = Object.fromEntries(Object.entries(QUICK).filter(([name]) => isFree(name)))
  // A new seed in each run, so that programs cannot be tuned for certain lists.
  const seed = Math.floor(Math.random() * (SEED_MAX + 1))
  return { seed, servers: null, publish: null, ...given, ...quick, peers } as Options
}

/** Returns the numbers of rows of a run. */
export function rowsOf({ rows, together }: Pick<Options, 'rows' | 'together'>): Rows {
  return rowsFor(rows, together)
}

export function loadOptions(command: Command, defaults: { seconds: number; rounds: number }): Command {
  const scenarios = scenariosFor(rowsFor(ROWS)).map(({ name, title }) => `  ${name.padEnd(24)}${title}\n`)
  return command
    .addOption(
      new Option('--only <names>', `these scenarios, comma-separated; ${PAGE}: those of docs/benchmarks.md`)
        .argParser(parseNames)
        .default([], 'all'),
    )
    .option('--rows <n>', 'absences; employees and companies follow', numberIn(100, 10_000_000, true), ROWS)
    .option('--together', 'absences whose properties go together: instants grow with ids', false)
    .option('--seconds <n>', 'how long each target is loaded in each round', numberIn(0.1, 3_600), defaults.seconds)
    .option('--rounds <n>', 'of each scenario; targets take turns', numberIn(1, 1_000, true), defaults.rounds)
    .option('--connections <n>', 'of the load', numberIn(1, 1_000, true), 32)
    .option('--data <folder>', 'of PostgreSQL, kept for the next run', DATA_DIR)
    .addHelpText('after', `\nScenarios:\n${scenarios.join('')}`.trimEnd())
}

// biome-ignore lint/suspicious/noExplicitAny: commander types its values so
export function readCommand(command: Command, args: readonly string[]): Record<string, any> {
  return command
    .showHelpAfterError('(--help tells more)')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : WRONG_USAGE))
    .parse(args, { from: 'user' })
    .opts()
}

function parseNames(text: string): string[] {
  return text.split(',').flatMap((name) => name.trim() || [])
}

export function numberIn(min: number, max: number, isWhole = false): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && value >= min && value <= max && (!isWhole || Number.isInteger(value))) return value
    throw new InvalidArgumentError(`It must be ${isWhole ? 'an integer' : 'a number'} from ${min} to ${max}.`)
  }
}

import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { WAYS, type Way } from './sides.ts'

/** What a write may cost beside its own work. */
export type CostOf = 'lines' | 'hook'

/** What is to be compared, and how. */
export interface Options {
  /** One server by the first of these ways is compared with one by the second; null: two servers with one. */
  readonly changes: readonly [Way, Way] | null
  /** One server without this is compared with one that has it; null: it is not asked for. */
  readonly cost: CostOf | null
  /** Names of scenarios; none: all of the comparison. */
  readonly only: readonly string[]
  /** Of all servers of a side together. */
  readonly workers: number
  readonly seconds: number
  /** Blocks of A B B A for each scenario. */
  readonly rounds: number
  readonly rows: number
  readonly connections: number
  /** Folder of PostgreSQL's data: one cluster for each setting of its log. */
  readonly data: string
}

export const WRONG_USAGE = 2

const DATA_DIR = join(import.meta.dir, '../../.data/servers')

/** Reads the command line; ends the process where it cannot be read. */
export function readOptions(args: readonly string[]): Options {
  return new Command('bench:servers')
    .description('Compares one server with two on the same PostgreSQL and the same processors, in turns.')
    .option(
      '--changes <ways>',
      'instead, compare one server that hears of changes by the first way with one by the second, of slot, notify and off',
      waysOf,
      null,
    )
    .addOption(
      new Option(
        '--cost <of>',
        'instead, compare one server without lines of what has changed, or a webhook, with one that has',
      )
        .choices(['lines', 'hook'])
        .conflicts('changes')
        .default(null),
    )
    .addOption(
      new Option('--only <names>', 'these scenarios, comma-separated').argParser(parseNames).default([], 'all'),
    )
    .option('--workers <n>', 'of the one server, or of the two together', wholeIn(1, 256), availableParallelism())
    .option('--seconds <n>', 'how long each run loads', numberIn(0.1, 3_600), 2)
    .option('--rounds <n>', 'of each scenario, four runs each: A, B, B, A', wholeIn(1, 1_000), 5)
    .option('--rows <n>', 'absences; employees and companies follow', wholeIn(100, 10_000_000), 100_000)
    .option('--connections <n>', 'of the load; two servers have half of them each', wholeIn(1, 1_000), 32)
    .option('--data <folder>', 'of PostgreSQL, kept for the next run', DATA_DIR)
    .showHelpAfterError('(--help tells more)')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : WRONG_USAGE))
    .parse(args, { from: 'user' })
    .opts<Options>()
}

function parseNames(text: string): string[] {
  return text.split(',').flatMap((name) => name.trim() || [])
}

function waysOf(text: string): [Way, Way] {
  const [first, second, ...more] = parseNames(text)
  if (isWay(first) && isWay(second) && first !== second && more.length === 0) return [first, second]
  throw new InvalidArgumentError('It must be two of slot, notify and off, like slot,notify.')
}

function isWay(text: string | undefined): text is Way {
  return WAYS.some((way) => way === text)
}

function wholeIn(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`)
  }
}

function numberIn(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`)
  }
}

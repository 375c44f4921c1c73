import { Command, InvalidArgumentError, Option } from 'commander'
import { DATA_DIR } from '../database.ts'

/** What a comparison is asked to do. */
export interface Options {
  /** Names a commit, as Git does. */
  readonly ref: string
  /** Names of scenarios; none: all. */
  readonly only: readonly string[]
  readonly seconds: number
  /** Blocks of A B B A for each scenario. */
  readonly rounds: number
  readonly rows: number
  readonly connections: number
  /** The loss of requests/s, in percent, beyond which it fails. */
  readonly threshold: number
  /** Folder of PostgreSQL's data. */
  readonly data: string
}

export const WRONG_USAGE = 2

/** Reads the command line; ends the process where it cannot be read. */
export function readOptions(args: readonly string[]): Options {
  const command = new Command('bench:compare')
    .description('Compares the working tree with another commit: both servers, the same load, in turns.')
    .argument('<ref>', 'the commit to compare with, such as main or HEAD~1')
    .addOption(
      new Option('--only <names>', 'these scenarios, comma-separated').argParser(parseNames).default([], 'all'),
    )
    .option('--seconds <n>', 'how long each run loads', numberIn(0.1, 3_600), 2)
    .option(
      '--rounds <n>',
      'of each scenario, four runs each: before, after, after, before',
      numberIn(1, 1_000, true),
      5,
    )
    .option('--rows <n>', 'absences; employees and companies follow', numberIn(100, 10_000_000, true), 1_000_000)
    .option('--connections <n>', 'of the load', numberIn(1, 1_000, true), 32)
    .option('--threshold <percent>', 'the loss of requests/s beyond which it fails', numberIn(0, 100), 10)
    .option('--data <folder>', 'of PostgreSQL, kept for the next run', DATA_DIR)
    .showHelpAfterError('(--help tells more)')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : WRONG_USAGE))
    .parse(args, { from: 'user' })
  return { ref: command.args[0] as string, ...command.opts<Omit<Options, 'ref'>>() }
}

function parseNames(text: string): string[] {
  return text.split(',').flatMap((name) => name.trim() || [])
}

function numberIn(min: number, max: number, isWhole = false): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && value >= min && value <= max && (!isWhole || Number.isInteger(value))) return value
    throw new InvalidArgumentError(`It must be ${isWhole ? 'an integer' : 'a number'} from ${min} to ${max}.`)
  }
}

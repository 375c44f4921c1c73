import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { DATA_DIR } from './database.ts'

/** What a run of the suite is asked to do. */
export interface Options {
  /** Absences; the other tables follow. */
  readonly rows: number
  readonly seconds: number
  /** A run that is to be short: scenarios that say little more than others are left out. */
  readonly quick: boolean
  readonly connections: number
  readonly rounds: number
  /** Names of scenarios; none: all. */
  readonly only: readonly string[]
  /** Names of peers; none: no peers. */
  readonly peers: readonly string[]
  readonly workers: number
  /** Of all random values. */
  readonly seed: number
  readonly curves: boolean
  readonly columns: boolean
  /** Nothing is measured: the server runs until it is interrupted, for load programs of others. */
  readonly serve: boolean
  /** Nothing is measured: this file of an earlier run is published; null: none. */
  readonly publish: string | null
  /** Folder of the results. */
  readonly output: string
  /** Folder of PostgreSQL's data. */
  readonly data: string
}

/** About a minute on two quiet cores; what it says of speed is rough. */
const QUICK = { rows: 20_000, seconds: 0.3, rounds: 1, curves: false, columns: false }
/** The database and the load have the others. */
const WORKERS = Math.max(1, availableParallelism() >> 1)
const DEFAULTS = { rows: 1_000_000, seconds: 4, connections: 32, rounds: 3 }

const SEED_MAX = 999_999

export const WRONG_USAGE = 2

const ROOT = join(import.meta.dir, '..')

/** Reads the command line; ends the process where it cannot be read. */
export function readOptions(args: readonly string[], peerNames: readonly string[]): Options {
  const command = new Command('bench')
    .description('Measures the server, the floors beneath it, and others like it, in one run.')
    .addOption(count('--rows <n>', 'absences; employees and companies follow', DEFAULTS.rows, 100, 10_000_000))
    .addOption(amount('--seconds <n>', 'how long each target is loaded in each round', DEFAULTS.seconds, 3_600))
    .addOption(count('--connections <n>', 'of the load', DEFAULTS.connections, 1, 1_000))
    .addOption(count('--rounds <n>', 'of each scenario; targets take turns', DEFAULTS.rounds, 1, 1_000))
    .addOption(
      new Option('--only <names>', 'these scenarios, comma-separated').argParser(parseNames).default([], 'all'),
    )
    .option(
      '--quick',
      `the main scenarios in about a minute: ${QUICK.rows} rows, ${QUICK.seconds} s, ${QUICK.rounds} round`,
    )
    .option('--peers [names]', `other servers too: ${peerNames.join(', ')}, comma-separated; default: all`)
    .addOption(count('--workers <n>', 'of the server, and processes of each peer', WORKERS, 1, 256))
    .addOption(count('--seed <n>', 'of all random values, to repeat those of a run', null, 0, SEED_MAX))
    .option('--no-curves', 'leave out cost by depth, rows, connections and load')
    .option('--no-columns', 'leave out what a table in columns costs to read, to keep true and in memory')
    .option(
      '--serve',
      'measure nothing: run the loaded server until Ctrl-C, and print how to load it with wrk, oha and k6',
    )
    .option(
      '--publish <file>',
      'measure nothing: copy this JSON of a run to bench/published, and its figures to the README',
    )
    .option('--output <folder>', 'of the results', join(ROOT, 'bench/results'))
    .option('--data <folder>', 'of PostgreSQL, kept for the next run', DATA_DIR)
    .showHelpAfterError('(--help tells more)')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : WRONG_USAGE))
    .parse(args, { from: 'user' })
  const given = command.opts()
  const peers = given.peers === true ? peerNames : parseNames(given.peers ?? '')
  const unknown = peers.find((name) => !peerNames.includes(name))
  if (unknown) command.error(`error: there is no peer ${unknown}; there are ${peerNames.join(', ')}`)
  return {
    quick: false,
    // Another one in each run: no list is one that the programs were made fast for.
    seed: Math.floor(Math.random() * (SEED_MAX + 1)),
    serve: false,
    publish: null,
    ...given,
    ...(given.quick ? quick(command) : {}),
    peers,
  } as unknown as Options
}

/** What is asked for by itself counts more than `--quick`. */
function quick(command: Command): Partial<Options> {
  return Object.fromEntries(Object.entries(QUICK).filter(([name]) => command.getOptionValueSource(name) !== 'cli'))
}

function count(flags: string, meaning: string, fallback: number | null, min: number, max: number): Option {
  const allowed = `It must be an integer from ${min} to ${max}.`
  return withDefault(new Option(flags, meaning), fallback).argParser((text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) throw new InvalidArgumentError(allowed)
    return value
  })
}

function amount(flags: string, meaning: string, fallback: number | null, max: number): Option {
  return withDefault(new Option(flags, meaning), fallback).argParser((text) => {
    const value = Number(text)
    if (!(value >= 0.1 && value <= max)) throw new InvalidArgumentError(`It must be a number from 0.1 to ${max}.`)
    return value
  })
}

function withDefault(option: Option, fallback: number | null): Option {
  return fallback === null ? option : option.default(fallback)
}

function parseNames(text: string): string[] {
  return text.split(',').flatMap((name) => name.trim() || [])
}

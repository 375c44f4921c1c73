import { Command } from 'commander'
import { loadOptions, numberIn, type Options as RunOptions, readCommand } from '../options.ts'

/** What a comparison is asked to do. `rounds`: blocks of before, after, after, before. */
export interface Options extends Pick<RunOptions, 'only' | 'rows' | 'seconds' | 'rounds' | 'connections' | 'data'> {
  /** Names a commit, as Git does. */
  readonly ref: string
  /** The loss of requests/s, in percent, beyond which it fails. */
  readonly threshold: number
}

/** Reads the command line; ends the process where it cannot be read. */
export function readOptions(args: readonly string[]): Options {
  const named = new Command('bench:compare')
    .description('Compares the working tree with another commit: both servers, the same load, in turns.')
    .argument('<ref>', 'the commit to compare with, such as main or HEAD~1')
    .option('--threshold <percent>', 'the loss of requests/s beyond which it fails', numberIn(0, 100), 10)
  const command = loadOptions(named, { seconds: 2, rounds: 5 })
  const given = readCommand(command, args)
  return { ...(given as Omit<Options, 'ref'>), ref: command.args[0] as string }
}

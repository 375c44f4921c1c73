// Runs the command line; a wrong argument is reported in one line on stderr.
import { type Command, CommanderError, InvalidArgumentError } from 'commander'
import { ConfigError } from '../config/config.ts'
import { errorOf, Refused } from '../errors.ts'
import { printable } from '../log.ts'
import { suggest } from '../model/nearest.ts'
import { DeclarationError } from '../registry.ts'

/** An error that the user can correct: printed as one line on stderr, without a stack. */
export class CommandError extends Error {}

const DONE = 0
const FAILED = 1
const WRONG_USAGE = 2

/** Runs the command with its arguments, `words`. Returns the exit code; errors are printed on stderr. */
export async function runCommandLine(program: Command, words: readonly string[]): Promise<number> {
  throwInsteadOfExit(program)
  try {
    refuseUnknown(program, words[0])
    refuseSwallowed(program, words)
    await program.parseAsync(words, { from: 'user' })
    return DONE
  } catch (error) {
    // Commander has printed the error already; help that was asked for is no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : WRONG_USAGE
    const isKnown = [CommandError, ConfigError, DeclarationError, Refused].some((kind) => error instanceof kind)
    console.error(isKnown ? printable(errorOf(error).message).replace(/^/gm, 'roster: ') : error)
    return FAILED
  }
}

/** Refuses an unknown command: the default command would take a misspelled name as its argument. */
function refuseUnknown(program: Command, word: string | undefined) {
  const known = [...program.commands.map((command) => command.name()), 'help']
  if (word === undefined || word.startsWith('-') || known.includes(word)) return
  program.error(`error: unknown command '${word}'.${suggest(word, known)}`)
}

/** Refuses a command whose options npm has consumed, because `--` was missing in front of them. @throws CommandError */
function refuseSwallowed(program: Command, words: readonly string[]) {
  // npm before version 11 calls the command `run-script`.
  if (!/^run(?:-script)?$/.test(process.env.npm_command ?? '')) return
  let command = program
  for (const word of words) command = command.commands.find((below) => below.name() === word) ?? command
  const taken = command.options.flatMap(({ long }) => {
    const keptBy = (option = '') => process.env[`npm_config_${option.replaceAll('-', '_')}`]
    // npm stores --no-excel as an empty npm_config_excel.
    const isKept = keptBy(long?.slice(2)) || (long?.startsWith('--no-') && keptBy(long.slice(5)) === '')
    return long && isKept && !words.some((word) => word.split('=')[0] === long) ? [long] : []
  })
  if (taken.length === 0 || command === program) return
  throw new CommandError(
    `npm has kept ${taken.join(' and ')} for itself: put -- in front, as in npm run --silent roster -- ${words.join(' ')} ${taken[0]} …`,
  )
}

function throwInsteadOfExit(command: Command) {
  command.exitOverride()
  for (const below of command.commands) throwInsteadOfExit(below.showHelpAfterError('(--help says more)'))
}

/**
 * Adds a command with the option `--json`. `required`: flags of its required options; `example`: arguments of the example in its
 * help.
 */
export function addCommand(parent: Command, name: string, description: string, example: string, required: string[] = []) {
  const command = parent
    .command(name)
    .description(description)
    .usage([...required, '[options]'].join(' '))
  // `requiredOption` of Commander would report a missing option before a misspelled one gets its "Did you mean".
  command.hook('preAction', () => {
    const given = command.opts()
    const missing = required.find((flags) => !((/\w+/.exec(flags)?.[0] as string) in given))
    if (missing) command.error(`error: required option '${missing}' not specified`)
  })
  return command
    .option('--json', 'one JSON value on stdout')
    .addHelpText('after', `\nExample:\n  npm run --silent roster -- ${parent.name()} ${name} ${example}`.trimEnd())
}

/** Returns the earlier values of an option that can be given several times, and the new value. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}

/** Returns a parser whose errors Commander reports with the option's name. */
export function parserOf<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text)
    } catch (error) {
      throw new InvalidArgumentError(errorOf(error).message)
    }
  }
}

/** Returns a parser of an option whose value is an integer from `min` to `max`. */
export function parserOfNumber(min: number, max: number): (text: string) => number {
  return parserOf((text) => {
    const number = Number(text)
    if (!/^\d+$/.test(text) || number < min || number > max) throw new Error(`It is a number from ${min} to ${max}.`)
    return number
  })
}

/**
 * Runs a check that an option's own parser cannot make. Reports an error of the check in the same form as an error of a parser.
 */
export function orUsage<T>(command: Command, option: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    return command.error(`error: option '${option}' is invalid. ${errorOf(error).message}`)
  }
}

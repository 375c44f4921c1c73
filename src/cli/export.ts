// `roster export`: streams the rows of a list from a running server into a CSV or NDJSON file, or to stdout.
import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { Command, Option } from 'commander'
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import { progress } from './output.ts'
import { messageOf, serverUrl, URL_MEANING } from './request.ts'
import { CommandError, collect } from './run.ts'

interface Options {
  readonly url?: string
  readonly format: 'csv' | 'ndjson'
  readonly filter?: readonly string[]
  readonly sort?: string
  readonly fields?: string
  readonly excel?: true
  readonly locale?: string
  readonly output?: string
}

const MEDIA = { csv: 'text/csv', ndjson: 'application/x-ndjson' }
/** Beginning of the last line of a stream that an error has ended. No row begins like this. */
const FAULT = '{"Error":'
const CUT = 'the export was cut short, and is not whole'
const SLOW_READER_MS = 10

/** Returns the command. `key`: ROSTER_KEY. */
export function exportCommand(key: string | undefined, readSettings: () => Config): Command {
  return new Command('export')
    .description('Write all rows of an entity as CSV or NDJSON, from a server that runs. The key is ROSTER_KEY.')
    .argument('<entity>', 'as in its address: employees')
    .option('--url <address>', URL_MEANING)
    .addOption(new Option('--format <format>', 'the form').choices(['csv', 'ndjson']).default('csv'))
    .option('--filter <filter>', 'Status=Approved, Start=>=2026-03-01T00:00:00Z; several must all hold', collect)
    .option('--sort <sort>', 'the order, as -Start,Name')
    .option('--fields <names>', 'the properties, as Id,Period.Days,EmployeeId.Department; all of its own without it')
    .option(
      '--excel',
      'a CSV for Excel: with a byte order mark, date-times that it knows, and no text that it would run as a formula',
    )
    .option('--locale <language>', 'a CSV for spreadsheets in this language: for de with semicolons and decimal commas')
    .option('--output <file>', 'the file, which is there when it is whole; stdout without it')
    .addHelpText('after', '\nExample:\n  ROSTER_KEY=... npm run --silent roster -- export employees --output people.csv')
    .action((entity: string, options: Options) => exportRows(entity, options, serverUrl(options.url, readSettings), key?.trim()))
}

async function exportRows(entity: string, options: Options, url: string, key: string | undefined): Promise<void> {
  if (!key) throw new CommandError('ROSTER_KEY is not set: it is the key to read with')
  const { format, output: path } = options
  const there = path === undefined ? undefined : output(() => statSync(path, { throwIfNoEntry: false }))
  if (there?.isDirectory()) throw new CommandError(`--output ${path} is a folder: name a file in it`)
  const response = await ask(addressOf(entity, url, options), MEDIA[format], key)
  // If stdout is redirected, /dev/stdout is a link to a regular file, which must not be replaced.
  if (path === undefined || path === '/dev/stdout') return copy(response, format, 1)
  // A device or a named pipe is opened and written to. A regular file is replaced when the new file is complete.
  const open = (name: string, flags: 'w' | 'wx') => output(() => openSync(name, flags, 0o600))
  if (there && !there.isFile()) return copy(response, format, open(path, 'w'))
  // The file is opened exclusively (`wx`), so that nothing is written to a link or to another user's file of this name.
  const unfinished = `${path}.${crypto.randomUUID()}.part`
  const file = open(unfinished, 'wx')
  const abort = () => {
    rmSync(unfinished, { force: true })
    process.exit(1)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, abort)
  try {
    await copy(response, format, file)
    renameSync(unfinished, path)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

async function ask(address: string, accept: string, key: string): Promise<Response> {
  const headers = { Authorization: `ApiKey ${key}`, Accept: accept }
  const response = await fetch(address, { headers, redirect: 'manual' }).catch((error) => {
    throw new CommandError(`${address.replace(/\?.*/, '')} cannot be reached: ${error.message} (--url names the server)`)
  })
  if (!response.ok) throw new CommandError(messageOf(await response.text(), response.status))
  if (response.headers.get('content-type')?.split(';')[0] !== accept)
    throw new CommandError('the address is not that of a list of a Roster')
  return response
}

function addressOf(entity: string, url: string, { filter = [], sort, fields, excel, locale }: Options): string {
  const filters = filter.map((text) => {
    const equals = text.indexOf('=')
    if (equals < 1) throw new CommandError(`the filter "${text}" is not a property, = and a value`)
    return [text.slice(0, equals), text.slice(equals + 1)]
  })
  const others = Object.entries({ sort, fields, bom: excel && '1', excel: excel && '1', locale })
  const pairs = [...filters, ...others.filter((pair): pair is [string, string] => pair[1] !== undefined)]
  const query = pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')
  return `${url}/${encodeURIComponent(entity)}${query && `?${query}`}`
}

/** Writes the response to the output. @throws CommandError if the connection breaks, or if the last line of NDJSON is an error */
async function copy(response: Response, format: Options['format'], file: number): Promise<void> {
  using shown = progress((bytes) => `${(bytes / 1e6).toFixed(1)} MB`)
  const decoder = new TextDecoder()
  let last = ''
  try {
    for await (const piece of response.body as ReadableStream<Uint8Array>) {
      let at = 0
      while (at < piece.length) {
        const written = output(() => writeSome(file, piece.subarray(at)))
        if (written === 0) await Bun.sleep(SLOW_READER_MS)
        at += written
      }
      shown.add(piece.length)
      if (format === 'csv') continue
      const text = last + decoder.decode(piece, { stream: true })
      last = text.slice(text.lastIndexOf('\n', text.length - 2) + 1)
    }
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${CUT}: ${errorOf(error).message}`)
  }
  if (last.startsWith(FAULT)) throw new CommandError(`${CUT}: ${messageOf(last, 200)}`)
  if (last !== '' && !last.endsWith('\n')) throw new CommandError(CUT)
}

/**
 * Writes as many of the bytes as the output takes, and returns their number; 0 if the output is a pipe that is full at the
 * moment.
 */
function writeSome(file: number, bytes: Uint8Array): number {
  try {
    return writeSync(file, bytes)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0
    throw error
  }
}

/** Runs a step of writing the output. @throws CommandError if it fails */
function output<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new CommandError(`the output could not be written: ${errorOf(error).message}`)
  }
}

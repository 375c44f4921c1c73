import { existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'

const LOG_FILE = 'postgres.log'
const LOG_BYTES_MAX = 1024 * 1024

export function openLog(dataDir: string) {
  const path = logOf(dataDir)
  // The log of the last run stays, since it may say why that ended; older ones are deleted.
  if (existsSync(path) && statSync(path).size > LOG_BYTES_MAX) renameSync(path, `${path}.old`)
  return { path, file: openSync(path, 'a', 0o600) }
}

export const logOf = (dataDir: string) => join(dataDir, LOG_FILE)

/** The last lines behind the first `from` bytes; '' where an operator has deleted the file. */
export function tail(path: string, from = 0): string {
  if (!existsSync(path)) return ''
  return readFileSync(path).subarray(from).toString().trim().split('\n').slice(-8).join('\n')
}

/** A log with its first error message in front, since the lines behind that one only report consequences. */
export function causeOf(log: string): string {
  const cause = /(?:FATAL|PANIC|error): +(.+)/.exec(log)?.[1]
  return cause === undefined ? log : `${cause}\n${log}`
}

// Files such as .env that Bun reads into the environment. Finds the names of variables in these files, for messages, and stores
// no values.
import { existsSync, readFileSync } from 'node:fs'

/** A file of settings that Bun has read into the environment. */
export interface EnvironmentFile {
  readonly name: string
  /** Variables that the file sets. */
  readonly variables: readonly string[]
  /** Variables to which values in the file refer, such as `${PASSWORD}`. */
  readonly references: readonly string[]
}

/**
 * Returns the files that Bun has read for this process, from its working folder. Returns none if Bun was started with
 * `--env-file` or `--no-env-file`.
 */
export function readEnvironmentFiles(): EnvironmentFile[] {
  if (process.execArgv.some((option) => /^--(no-)?env-file\b/.test(option))) return []
  const environment = process.env.BUN_ENV ?? process.env.NODE_ENV ?? ''
  const kind = ['production', 'test'].includes(environment) ? environment : 'development' // Bun defaults to development
  const names = [`.env.${kind}.local`, ...(kind === 'test' ? [] : ['.env.local']), `.env.${kind}`, '.env']
  return names.filter((name) => existsSync(name)).map((name) => parseEnvironmentFile(name, readFileSync(name, 'utf8')))
}

/** Matches a setting with a quoted value. Such a value can contain line breaks, and therefore lines that look like settings. */
const QUOTED = /^([ \t]*(?:export[ \t]+)?\w[\w.-]*[ \t]*[=:][ \t]*)(["'`])(?:\\.|(?!\2)[^\\])*\2/gms
const VARIABLE = /^[ \t]*(?:export[ \t]+)?(\w[\w.-]*)[ \t]*[=:]/gm
const REFERENCE = /(?<!\\)\$\{?([A-Za-z_]\w*)/g

/** Finds the names of variables in the text of a file. */
export function parseEnvironmentFile(name: string, text: string): EnvironmentFile {
  const found = (pattern: RegExp, inside: string) => [...inside.matchAll(pattern)].map(([, found = '']) => found)
  return { name, variables: found(VARIABLE, text.replace(QUOTED, '$1')), references: found(REFERENCE, text) }
}

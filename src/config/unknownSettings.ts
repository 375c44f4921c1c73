// Finds unknown settings in .env files, and variables of the environment that look like misspelled settings.
import { distance } from 'fastest-levenshtein'
import { suggest } from '../model/nearest.ts'
import type { EnvironmentFile } from './environmentFiles.ts'
import { secretFileNames } from './secretFiles.ts'
import { settings } from './settings.ts'

const NAMES = Object.keys(settings)
/** Matches variables of Bun, Node and PostgreSQL's drivers. A .env file may set these, too. */
const FOREIGN_VARIABLE = /^(BUN_|NODE_|PG[A-Z])/
/** Minimum length of a name that is compared. Shorter names, such as `HOST`, are too similar to variables of other programs. */
const LENGTH_MIN = 7

/**
 * Returns a fault for each unknown setting in a file. Without this fault, the default of a misspelled setting would stay in
 * force.
 */
export function unknownLines(files: readonly EnvironmentFile[]): string[] {
  const known = new Set([...NAMES, ...secretFileNames, ...files.flatMap(({ references }) => references)])
  return files.flatMap((file) => {
    const unknown = file.variables.filter((name) => !known.has(name) && !FOREIGN_VARIABLE.test(name))
    return unknown.map((name) => `${file.name} sets ${name}, which is no setting.${suggest(name, NAMES)}`)
  })
}

/**
 * Returns variables that differ from a setting only by a letter, underscores or case, each with the setting that was probably
 * meant. Variables that differ more may belong to other programs.
 */
export function nearMisses(environment: Record<string, string | undefined>) {
  return Object.keys(environment).flatMap((name) => {
    const meant = environment[name] && !NAMES.includes(name) ? NAMES.find((setting) => isNear(name, setting)) : undefined
    return meant === undefined ? [] : [{ name, meant }]
  })
}

function isNear(name: string, setting: string): boolean {
  const own = lettersOf(name)
  const known = lettersOf(setting)
  // Names are compared only if their lengths are similar, because the time for a distance grows with the product of the lengths.
  if (known.length < LENGTH_MIN || Math.abs(own.length - known.length) > 1) return false
  return distance(own, known) <= 1
}

function lettersOf(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]/g, '')
}

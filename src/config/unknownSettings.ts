// Variables that look like misspelled settings, and settings that have ended.
import { distance } from 'fastest-levenshtein'
import { suggest } from '../model/nearest.ts'
import type { EnvironmentFile } from './environmentFiles.ts'
import { secretFileNames } from './secretFiles.ts'
import { settings } from './settings.ts'

const ONE_MEMORY = 'has ended: set MEMORY_MB, one bound for all that a worker keeps of lists'
const NO_SWITCH = 'has ended: MEMORY_MB=0 reads every list from the database'
const NO_STANDBYS = 'has ended: lists come from memory or from DATABASE_URL; delete the line'

/**
 * Settings of earlier versions, each with what to do now. They stop the start by name: ignored, they would leave an operator with
 * less than was asked for. A secret's variable for a file (`..._FILE`) has an entry of its own.
 */
export const FORMER: Readonly<Record<string, string>> = {
  VIEWS: NO_SWITCH,
  VIEWS_MB: ONE_MEMORY,
  LIST_CACHE: NO_SWITCH,
  LIST_CACHE_MB: ONE_MEMORY,
  COLUMNS_MB: ONE_MEMORY,
  COLUMNS_LOAD: 'has ended: the first list of a table loads it into memory; delete the line',
  CHANGES: 'has ended: writes of others are known by triggers, on every PostgreSQL; delete the line',
  DATABASE_READ_URLS: NO_STANDBYS,
  DATABASE_READ_URLS_FILE: NO_STANDBYS,
}

const NAMES = Object.keys(settings)
/** Variables of Bun, Node and PostgreSQL's drivers, which a file may have beside the settings. */
const OF_OTHERS = /^(BUN_|NODE_|PG[A-Z])/
/** Shorter names, `HOST` and `PORT`, are too near to what other programs are set by. */
const LENGTH_MIN = 7

/** A fault for each line that sets nothing the server knows: a misspelt setting would leave its default in force. */
export function unknownLines(files: readonly EnvironmentFile[]): string[] {
  const known = new Set([...NAMES, ...secretFileNames, ...Object.keys(FORMER), ...files.flatMap(({ references }) => references)])
  return files.flatMap((file) => {
    const unknown = file.variables.filter((name) => !known.has(name) && !OF_OTHERS.test(name))
    return unknown.map((name) => `${file.name} sets ${name}, which is no setting.${suggest(name, NAMES)}`)
  })
}

/** Variables that differ from a setting by a letter, underscores or case, and that setting. Others may be of other programs. */
export function nearMisses(environment: Record<string, string | undefined>) {
  return Object.keys(environment).flatMap((name) => {
    const meant = environment[name] && !NAMES.includes(name) ? NAMES.find((setting) => isNear(name, setting)) : undefined
    return meant === undefined ? [] : [{ name, meant }]
  })
}

function isNear(name: string, setting: string): boolean {
  const [own, known] = [lettersOf(name), lettersOf(setting)]
  // The distance costs the product of both lengths.
  if (known.length < LENGTH_MIN || Math.abs(own.length - known.length) > 1) return false
  return distance(own, known) <= 1
}

function lettersOf(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]/g, '')
}

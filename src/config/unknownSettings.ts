// Variables that look like misspelled settings.
import { distance } from 'fastest-levenshtein'
import { suggest } from '../model/nearest.ts'
import type { EnvironmentFile } from './environmentFiles.ts'
import { secretFileNames } from './secretFiles.ts'
import { settings } from './settings.ts'

const NAMES = Object.keys(settings)
/** Variables of Bun, Node and PostgreSQL's drivers, which a file may have beside the settings. */
const OF_OTHERS = /^(BUN_|NODE_|PG[A-Z])/
/** Shorter names, `HOST` and `PORT`, are too near to what other programs are set by. */
const LENGTH_MIN = 7

/** A fault for each line that sets nothing the server knows: a misspelt setting would leave its default in force. */
export function unknownLines(files: readonly EnvironmentFile[]): string[] {
  const known = new Set([...NAMES, ...secretFileNames, ...files.flatMap(({ references }) => references)])
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

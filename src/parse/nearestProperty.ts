// Suggests the property that an unknown name probably means: by its letters, by its words, or by its meaning.
import type { Entity, Property } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { haveOf } from '../model/names.ts'
import { nearestOf } from '../model/nearest.ts'
import { operators } from '../model/operators.ts'
import { listed, plain } from './names.ts'

/** A path that a name probably means. */
export interface MeantPath {
  readonly name: string
  /** True if the given name contains the reference; false if it has only the name of the property at the end of the path. */
  readonly namesReference: boolean
}

/** A property or an object. */
interface Candidate {
  readonly name: string
}

/**
 * Maximum number of letters in which a misspelled name differs from the known name. If more letters differ, the words and the
 * meaning of the name are compared first.
 */
const MISSPELLED_MAX = 2
/** Maximum length of names that are compared. */
const COMPARED_LENGTH_MAX = 64
/** Minimum length of words that are compared: a shorter word can begin or end an unrelated name by chance. */
const WORD_LENGTH_MIN = 3
/** Maximum number of names that a message lists. */
const LISTED_MAX = 30

/**
 * Returns a hint with one of `candidates`, ` Did you mean Start?`, or with one of `others` if its letters are similar; '' if
 * nothing is similar. `path`: the path that the name may mean; null if there is none.
 */
export function suggestProperty(
  name: string,
  candidates: readonly Candidate[],
  others: readonly string[] = [],
  path: MeantPath | null = null,
): string {
  if (name.length > COMPARED_LENGTH_MAX) return path === null ? '' : ` Did you mean ${path.name}?`
  const names = [...candidates.map((one) => one.name), ...others]
  const nearest =
    nearestOf(name, names, MISSPELLED_MAX) ??
    (path?.namesReference ? path.name : null) ??
    byMeaning(plain(name), candidates) ??
    path?.name ??
    nearestOf(name, names)
  return nearest === null ? '' : ` Did you mean ${nearest}?`
}

/** Returns the hint of `suggestProperty`; if nothing is similar, a list of all candidates: ` There are Id, Name and Enabled.` */
export function suggestOrList(name: string, candidates: readonly Candidate[], path: MeantPath | null = null): string {
  if (candidates.length === 0) return ''
  return (
    suggestProperty(name, candidates, [], path) ||
    ` There ${candidates.length === 1 ? 'is' : 'are'} ${listed(namesOf(candidates), 'and')}.`
  )
}

/** Returns the end of a message, which lists what is allowed: `: Start or End`. */
export function listOrNone(entity: Entity, candidates: readonly Candidate[]): string {
  return candidates.length === 0 ? `, and ${entity.plural} ${haveOf(entity)} none` : `: ${listed(namesOf(candidates), 'or')}`
}

function namesOf(candidates: readonly Candidate[]): string[] {
  const names = candidates.slice(0, LISTED_MAX).map((one) => one.name)
  return candidates.length > LISTED_MAX ? [...names, `${candidates.length - LISTED_MAX} more`] : names
}

/**
 * Returns the message about a name that `parameter` does not accept. `candidates`: the properties that it accepts; `path`: the
 * path that the name may mean.
 */
export function faultOfName(
  entity: Entity,
  name: string,
  parameter: string,
  candidates: readonly Candidate[],
  path: MeantPath | null,
): string {
  if (name === '') return `${parameter} is names of properties with commas between; one of them is empty.`
  return `${entity.plural} ${haveOf(entity)} no property "${excerpt(name)}".${suggestOrList(name, candidates, path)}`
}

/**
 * Returns the property that a full-text search most likely means: the property that probably has a row's name, else the first
 * free text. Returns null if there is no free text.
 */
export function searchedProperty({ properties }: Entity): Property | null {
  return nameLike(properties) ?? properties.find(isSearched) ?? null
}

/** Matches the words at the end of a name of a time, such as `createdAt` and `startDateFrom`. The name is in lower case. */
const TIME_END = /(?:date|timestamp|time|day|when|at|on|from|to|since|until)+$/
const NAME = /^(?:full|display)?name$/

function byMeaning(name: string, candidates: readonly Candidate[]): string | null {
  const properties = candidates.filter((one): one is Property => 'kind' in one)
  if (TIME_END.test(name)) {
    const times = properties.filter(({ kind }) => kind.temporal !== null)
    const stem = name.replace(TIME_END, '')
    const names = times.map((one) => one.name)
    const found = stem === '' ? names[0] : (nearestOf(stem, names) ?? byWords(stem, names))
    if (found) return found
  }
  const named = NAME.test(name) ? nameLike(properties)?.name : undefined
  const all = candidates.map((one) => one.name)
  return named ?? byWords(name, all)
}

/**
 * Finds the longest known name with which this name begins or ends: `EmployeeName` → `Employee`. If there is none, finds the
 * first known name that begins or ends with the words of this name: `email` → `WorkEmail`.
 */
function byWords(name: string, known: readonly string[]): string | null {
  if (name.length < WORD_LENGTH_MIN) return null
  const within = known
    .filter((one) => one.length >= WORD_LENGTH_MIN && (name.startsWith(plain(one)) || name.endsWith(plain(one))))
    .sort((one, other) => other.length - one.length)
  return within[0] ?? known.find((one) => beginsOrEnds(one, name)) ?? null
}

/** Returns whether the name consists of the first or the last words of a known name, such as `email` of `WorkEmail`. */
function beginsOrEnds(known: string, name: string): boolean {
  const words = known.split(/(?=[A-Z])|\./).map((word) => word.toLowerCase())
  return words.some((_, at) => words.slice(at).join('') === name || words.slice(0, at).join('') === name)
}

/**
 * Returns the property that most probably has a row's name; the last choice is a name that is copied from a referred row. Returns
 * null if there is neither.
 */
function nameLike(properties: readonly Property[]): Property | null {
  const copies = properties.flatMap(({ reference }) => (reference?.copy?.source.endsWith('name') ? reference.copy.column : []))
  const ranks: readonly ((property: Property) => boolean)[] = [
    ({ name }) => NAME.test(plain(name)),
    ({ name, computedFrom }) => name.endsWith('Name') && computedFrom.length > 0,
    ({ name }) => name.endsWith('Name'),
    ({ column }) => copies.includes(column),
  ]
  const texts = properties.filter(isSearched)
  for (const rank of ranks) {
    const found = texts.find(rank)
    if (found) return found
  }
  return null
}

function isSearched(property: Property): boolean {
  return operators.some(({ folded, serves }) => folded === 'anywhere' && serves(property))
}

// Requests of the proof, lists and summaries, each with SQL that reads the right answer.
import type { Random } from '../../support/random.ts'
import type { Answer } from './cluster.ts'
import { type List, randomList, relatedShown, type Truth, truthOfList } from './randomList.ts'
import { groupValues, randomSummary, type Summary, truthOfSummary } from './randomSummary.ts'
import { isRelated, jsonPath } from './related.ts'

export type Asked = List | Summary

/** Chance in percent that a request is for a summary. */
const SUMMARIES = 25

export function randomAsked(random: Random): Asked {
  return random.chance(SUMMARIES) ? randomSummary(random) : randomList(random)
}

export function isSummary(asked: Asked): asked is Summary {
  return 'keys' in asked
}

/** Returns whether the answer needs rows of several tables. */
export function hasPaths(asked: Asked): boolean {
  const { collection, filters } = asked
  const fields = isSummary(asked) ? [...asked.keys, ...asked.measures].map(({ field }) => field) : (asked.shown ?? [])
  const compared = filters.map(({ field }) => field)
  return (
    [...fields, ...compared].some((field) => isRelated(collection, field)) ||
    filters.some(({ operator }) => operator === '[under]')
  )
}

/** Returns SQL that reads the right answer: the total, the ids of a list, and `shown`, which has groups or related values. */
export function truthOf(asked: Asked): Truth {
  return isSummary(asked) ? truthOfSummary(asked) : truthOfList(asked)
}

/** Returns how an answer differs from the right answer; null if it does not differ. */
export function differenceFrom(truth: Record<string, unknown> | undefined, asked: Asked, answer: Answer): string | null {
  if (answer.status !== 200) return `status ${answer.status}`
  if (answer.total !== truth?.total) return `total ${answer.total}, not ${truth?.total}`
  const rows = rowsOf(answer)
  if (!isSummary(asked) && String(rows.map(({ id }) => id)) !== String(truth?.ids ?? '').replace(/[{}]/g, ''))
    return `ids ${rows.map(({ id }) => id)}, not ${truth?.ids}`
  const shown = JSON.stringify(rows.map((row) => shownOf(asked, row)))
  const expected = JSON.stringify(JSON.parse(String(truth?.shown)))
  return shown === expected ? null : `${shown}, not ${expected}`
}

function shownOf(asked: Asked, row: Record<string, unknown>): unknown[] {
  if (isSummary(asked)) return groupValues(asked, row)
  return relatedShown(asked.collection, asked.shown).map((field) => row[jsonPath(asked.collection, field)[0] as string])
}

/** Returns the rows or groups of an answer. Decimals are texts with all of their digits. */
export function rowsOf({ text }: Pick<Answer, 'text'>): Record<string, unknown>[] {
  return JSON.parse(text.replace(/:(-?\d+\.\d{8})(?=[,}])/g, ':"$1"'))
}

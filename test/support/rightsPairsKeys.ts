// Keys of the trials: which are accepted, how they are stored, and which names they know.
import type { Entity } from '../../src/model/entity.ts'
import type { KeyRecord } from '../../src/model/key.ts'
import { parseRights } from '../../src/rights/checks.ts'
import { RightError } from '../../src/rights/grammar.ts'
import { entities as declared } from './entities.ts'
import type { Random } from './random.ts'
import type { PairAnswer, PairRequest } from './rightsPairsAnswers.ts'
import { KINDS, type Kind, type RandomKey, type RandomRight, randomKey } from './rightsPairsRights.ts'
import { canBeDeclared } from './rightsPairsShadow.ts'
import { namedViews, VIEWS } from './rightsPairsViews.ts'
import { hasSeveral, severalRights } from './severalRights.ts'

/** Returns whether the server accepts a key with these rights. */
export function isAccepted({ text }: RandomKey, entities: readonly Entity[]): boolean {
  try {
    if (hasSeveral(text)) severalRights(text, entities)
    else parseRights(text.split('\n'), entities, namedViews)
    return true
  } catch (error) {
    if (error instanceof RightError) return false
    throw error
  }
}

/** Returns the kind of the key with this number: kinds take turns. */
export function kindOf(number: number): Kind {
  return KINDS[number % KINDS.length] as Kind
}

/**
 * Draws a key that the server accepts. A key of the kind `narrow` reads all rows and some properties of an entity, which could be
 * declared with only these properties. `onRefused`: called for each key that the server would refuse.
 */
export function acceptedKey(random: Random, kind: Kind, onRefused: () => void): RandomKey {
  for (let attempt = 1; ; attempt++) {
    const key = randomKey(random, declared, kind, VIEWS)
    if (kind === 'narrow' && !canStandAlone(key, attempt > 50)) continue
    if (isAccepted(key, declared)) return key
    onRefused()
  }
}

/**
 * Returns whether an entity can be declared with only the properties that the key reads. Entities that then hide only a few
 * properties are accepted if `mayBeSmall`.
 */
function canStandAlone({ rights: [read] }: RandomKey, mayBeSmall: boolean): boolean {
  const { entity, fields } = read as RandomRight
  const shown = [entity.id, ...(fields ?? entity.properties)]
  return canBeDeclared(entity, shown) && (mayBeSmall || shown.length + 3 < entity.properties.length)
}

/** Returns the record of a key with these rights. */
export function recordOf({ text }: RandomKey): Partial<KeyRecord> {
  if (text.startsWith('*:')) return { rights: text }
  const { rights } = hasSeveral(text)
    ? severalRights(text, declared)
    : { rights: parseRights(text.split('\n'), declared, namedViews) }
  return { rights: '', addresses: rights.map((right) => right.text).join('\n') } as Partial<KeyRecord>
}

/** Returns a key with rights to whole entities, which sees everything. */
export function wholeKey(entities: readonly Entity[]): RandomKey {
  const rights = entities.flatMap((entity) =>
    (['read', 'create', 'update', 'delete'] as const).map((verb) => ({
      verbs: [verb],
      entity,
      filters: [],
      fields: null,
      becomes: null,
      text: `${verb} ${entity.plural}`,
    })),
  )
  return { rights, text: '*:read,*:write' }
}

/**
 * Returns the name of a property that the key does not know, if the answer names it and the request does not; else null.
 * `openText`: text that everyone may read.
 */
export function hiddenNameIn(
  { rights, text }: RandomKey,
  entities: readonly Entity[],
  request: PairRequest,
  answer: PairAnswer,
  openText: string,
): string | null {
  if (text.startsWith('*:') || /^\/rights/i.test(request.target)) return null
  const known = new Set(
    rights.flatMap(({ entity, fields, verbs }) =>
      (verbs.includes('delete') ? [] : (fields ?? entity.properties)).map(({ name }) => name),
    ),
  )
  const asked = `${request.target} ${request.body ?? ''}`.toLowerCase()
  for (const { properties } of entities)
    for (const { name, path } of properties) {
      const last = path.at(-1) as string
      // Names of one word also occur as words in messages and in JSON Schema.
      const isWord = !/[a-z][A-Z]/.test(last)
      if (name === 'Id' || known.has(name) || asked.includes(last.toLowerCase())) continue
      // The document has the examples of errors, which everyone may read.
      if (request.channel === 'document' && (isWord || new RegExp(`\\b${last}\\b`, 'i').test(openText))) continue
      const named = name.replace('.', '\\.')
      // A name of one word counts only as a member, in a hint, as the target of an error, or in the conditions that a refusal
      // names.
      const pattern = isWord
        ? `"${last}":|mean ${named}\\b|"Target":"${named}"|(with|&|lets) ${named}[=[ ]`
        : `\\b(${last}|${last.charAt(0).toUpperCase()}${last.slice(1)})\\b`
      if (new RegExp(pattern).test(answer.body)) return name
    }
  return null
}

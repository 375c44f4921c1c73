// Entity tags: parses If-Match and If-None-Match, and compares tags strongly or weakly. RFC 9110, 8.8.3

interface EntityTag {
  readonly isWeak: boolean
  /** Text in its quotes. */
  readonly opaque: string
}

/** Value of `If-Match` and `If-None-Match`: some tags, or any. */
export type EntityTags = readonly EntityTag[] | '*'

/** Preconditions of a request; null: there are none. RFC 9110, 13.1 */
export interface Conditions {
  /** It must be one of these: compared strongly, so that a weak tag is none. */
  readonly ifMatch: EntityTags | null
  /** It must be none of these: compared weakly. */
  readonly ifNoneMatch: EntityTags | null
}

// No two parts of it take the same characters one after the other, so its time grows with the text's length alone.
const TAG_AND_COMMA = /(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)")?[ \t]*(?:,[ \t]*|$)/y

/** The tags of a header; null: it is none of these headers, or names no tag. A comma may be missing its tag, or stand in one. */
export function readTags(text: string): EntityTags | null {
  if (text === '*') return '*'
  const tags: EntityTag[] = []
  TAG_AND_COMMA.lastIndex = 0
  while (TAG_AND_COMMA.lastIndex < text.length) {
    const found = TAG_AND_COMMA.exec(text)
    if (found === null) return null
    const [, weak, opaque] = found
    if (opaque !== undefined) tags.push({ isWeak: weak !== undefined, opaque })
  }
  return tags.length === 0 ? null : tags
}

/** Returns whether the tags name this strong one. RFC 9110, 8.8.3.2 */
export function hasStrongly(tags: EntityTags, opaque: string): boolean {
  return tags === '*' || tags.some((tag) => !tag.isWeak && tag.opaque === opaque)
}

/** Returns whether the tags name this one, weak or not. */
export function hasWeakly(tags: EntityTags, opaque: string): boolean {
  return tags === '*' || tags.some((tag) => tag.opaque === opaque)
}

// Entity tags: parses If-Match and If-None-Match, and compares tags strongly and weakly. RFC 9110, 8.8.3

interface EntityTag {
  readonly isWeak: boolean
  /** The tag without its quotes. */
  readonly opaque: string
}

/** Value of `If-Match` or `If-None-Match`: tags, or any tag. */
export type EntityTags = readonly EntityTag[] | '*'

/** Preconditions of a request. A member is null if the request does not have its header. RFC 9110, 13.1 */
export interface Conditions {
  /** Tags that must include the current tag. The comparison is strong, so that weak tags never match. */
  readonly ifMatch: EntityTags | null
  /** Tags that must not include the current tag, in a weak comparison. */
  readonly ifNoneMatch: EntityTags | null
}

// Consecutive parts of the pattern match different characters, so matching takes linear time.
const TAG_AND_COMMA = /(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)")?[ \t]*(?:,[ \t]*|$)/y

/**
 * Parses the tags of a header. Returns null if the header's syntax is wrong, or the header has no tag. Several commas in a row
 * are allowed, and commas inside a tag.
 */
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

/** Returns whether one of the tags is strong and equals `opaque`; true for `*`. RFC 9110, 8.8.3.2 */
export function hasStrongly(tags: EntityTags, opaque: string): boolean {
  return tags === '*' || tags.some((tag) => !tag.isWeak && tag.opaque === opaque)
}

/** Returns whether one of the tags, weak or strong, equals `opaque`; true for `*`. */
export function hasWeakly(tags: EntityTags, opaque: string): boolean {
  return tags === '*' || tags.some((tag) => tag.opaque === opaque)
}

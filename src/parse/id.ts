const ID = /^[1-9]\d{0,15}$/

/** The id in a path, 1 to 2^53-1, as text for PostgreSQL; null: no row can have it. */
export function parseId(segment: string): string | null {
  return ID.test(segment) && Number(segment) <= Number.MAX_SAFE_INTEGER ? segment : null
}

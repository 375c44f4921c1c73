// Words that people write where there is no value: N/A, NULL, -. Runs in browsers, too.

/**
 * Matches words and signs that people write for "no value", and that are no real text in most files. Case matters: people are
 * called Nan and Null, but not NULL.
 */
const PLACEHOLDER =
  /^(?:#?[nN]\/[aAdD]|#?NA|NULL|null|None|none|NONE|NIL|nil|NaN|nan|-+|–|—|\?+|\.{3}|k\. ?A\.|\((?:blank|leer|vide|vacío|empty|null)\))$/

/** Returns whether a cell seems to say that there is no value. */
export function isPlaceholder(cell: string): boolean {
  return PLACEHOLDER.test(cell.trim())
}

/** Returns a sentence such as `--empty N/A reads it as no value`; null if none of the cells is a placeholder. */
export function placeholderHint(cells: Iterable<string>): string | null {
  const found = [...new Set([...cells].map((cell) => cell.trim()).filter(isPlaceholder))]
  const options = found.slice(0, 3).map((cell) => `--empty ${/^[\p{Letter}\p{Number}/]+$/u.test(cell) ? cell : `'${cell}'`}`)
  if (options.length === 0) return null
  return options.length === 1 ? `${options[0]} reads it as no value` : `${options.join(' ')} read them as no values`
}

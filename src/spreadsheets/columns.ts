// Finds the meanings of a file's columns by the names in its header. Runs in browsers, too.

/** A meaning that a column can have, and the names that stand for it in a header. */
export interface NamedColumn<Of> {
  readonly names: readonly string[]
  readonly of: Of
}

/** Reduces a name to letters and digits, so that `Employee number`, `EMPLOYEE_NUMBER` and `employeeNumber` become equal. */
export function plainHeader(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}]/gu, '')
}

/**
 * Returns the meaning that has the header among its names, ignoring case. If there is none, compares the names by `plainHeader`.
 * Returns undefined if no name is equal to the header.
 */
export function findColumn<Of>(header: string, columns: readonly NamedColumn<Of>[]): Of | undefined {
  const lower = header.trim().toLowerCase()
  const exact = columns.find(({ names }) => names.some((name) => name.toLowerCase() === lower))
  if (exact) return exact.of
  const plain = plainHeader(header)
  return plain === '' ? undefined : columns.find(({ names }) => names.some((name) => plainHeader(name) === plain))?.of
}

/** Names of properties by the headers that stand for them; null: the column is left out. */
export type HeaderMapping = ReadonlyMap<string, string | null>

/** Key of a mapping that stands for all headers without an entry. */
export const ALL_OTHERS = '*'

/** Returns a header in small letters, with single spaces instead of line breaks and several spaces. */
function keyOf(header: string): string {
  return header.trim().replace(/\s+/g, ' ').toLowerCase()
}

/**
 * Parses texts such as `Personalnummer=EmployeeNumber`. `Remarks=` leaves out a column, and `*=` leaves out all columns that the
 * texts do not name. A number names a column by its position. @throws Error that says what is allowed
 */
export function parseMapping(texts: readonly string[]): HeaderMapping {
  const mapping = new Map<string, string | null>()
  for (const text of texts) {
    // A header may have an equals sign; the name of a property has none.
    const at = text.lastIndexOf('=')
    const header = text.slice(0, Math.max(0, at)).trim()
    if (header === '')
      throw new Error(`"${text}" is not a header of the file, = and a property. Nothing after = leaves the column out.`)
    const key = keyOf(header)
    if (mapping.has(key)) throw new Error(`The column ${header} is there twice.`)
    const name = text.slice(at + 1).trim() || null
    if (key === ALL_OTHERS && name !== null) throw new Error('* is all other columns: *= leaves them out.')
    mapping.set(key, name)
  }
  return mapping
}

/** Finds the entry of a mapping for a header, ignoring case and repeated spaces. Returns undefined if there is none. */
function mappedName(mapping: HeaderMapping, header: string): string | null | undefined {
  return mapping.get(keyOf(header))
}

/**
 * Finds the entry of a mapping for a column of a file: by the column's header, or by its position from 1. A header that is a
 * number takes precedence over a position. Returns undefined if there is none.
 */
export function mappedColumn(
  mapping: HeaderMapping,
  headers: readonly (string | null)[],
  index: number,
): string | null | undefined {
  const position = String(index + 1)
  const byPosition = mapping.get(position)
  const isPosition = byPosition !== undefined && !headers.some((header) => keyOf(header ?? '') === position)
  return isPosition ? byPosition : mappedName(mapping, headers[index] ?? '')
}

/** Returns the first key of a mapping that names no column of a file; undefined if every key names a column. */
export function unusedKey(mapping: HeaderMapping, headers: readonly (string | null)[]): string | undefined {
  const keys = new Set(headers.map((header) => keyOf(header ?? '')))
  // A mapping may leave out a column after the last header, because a column without a name can have values.
  const isPosition = (key: string) => /^[1-9]\d{0,2}$/.test(key) && (Number(key) <= headers.length || mapping.get(key) === null)
  return [...mapping.keys()].find((key) => key !== ALL_OTHERS && !keys.has(key) && !isPosition(key))
}

/** Returns a header as a word of a shell command, in quotes if it needs them. */
export function shellWord(header: string): string {
  const line = header.trim().replace(/\s+/g, ' ')
  return /^[\p{Letter}\p{Number}_.-]+$/u.test(line) ? line : `'${line.replaceAll("'", "'\\''")}'`
}

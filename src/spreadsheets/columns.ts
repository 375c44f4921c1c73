// Finds what the columns of a file are, by the names in its header. No Node: browsers may read files with it, too.

/** Something that a column may be, by any of these names. */
export interface NamedColumn<Of> {
  readonly names: readonly string[]
  readonly of: Of
}

/** Reduces a name to letters and digits, so that `Employee number`, `EMPLOYEE_NUMBER` and `employeeNumber` are one. */
export function plainHeader(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}]/gu, '')
}

/** Returns what a header names: by its exact letters if it can, else by `plainHeader`; undefined if nothing has such a name. */
export function findColumn<Of>(header: string, columns: readonly NamedColumn<Of>[]): Of | undefined {
  const lower = header.trim().toLowerCase()
  const exact = columns.find(({ names }) => names.some((name) => name.toLowerCase() === lower))
  if (exact) return exact.of
  const plain = plainHeader(header)
  return plain === '' ? undefined : columns.find(({ names }) => names.some((name) => plainHeader(name) === plain))?.of
}

/** Headers with the names that they stand for; null: the column is left out. */
export type HeaderMapping = ReadonlyMap<string, string | null>

/** Parses `Personalnummer=EmployeeNumber`, and `Remarks=` for a column to leave out. @throws Error that says what is allowed */
export function parseMapping(texts: readonly string[]): HeaderMapping {
  const mapping = new Map<string, string | null>()
  for (const text of texts) {
    // A header may have an equals sign; the name of a property has none.
    const at = text.lastIndexOf('=')
    const header = text.slice(0, Math.max(0, at)).trim()
    if (header === '')
      throw new Error(`"${text}" is not a header of the file, = and a property. Nothing after = leaves the column out.`)
    const key = header.toLowerCase()
    if (mapping.has(key)) throw new Error(`The column ${header} is there twice.`)
    mapping.set(key, text.slice(at + 1).trim() || null)
  }
  return mapping
}

/** Returns the entry of a mapping for a header, in any case; undefined if it has none. */
export function mappedName(mapping: HeaderMapping, header: string): string | null | undefined {
  return mapping.get(header.trim().toLowerCase())
}

/** Writes a header into an example of a command. */
export function shellWord(header: string): string {
  return /^[\p{Letter}\p{Number}_.-]+$/u.test(header) ? header : `'${header.replaceAll("'", "'\\''")}'`
}

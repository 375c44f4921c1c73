// Checks one entity's declaration: names, index sizes, copies, computed properties. registry.ts checks the entities together.
import type { Field, Fields } from './fields.ts'
import { INDEXED_LENGTH_MAX, READ_ONLY_LENGTH_MAX } from './kinds.ts'
import { AGGREGATES, GROUPING_PARAMETERS, RESERVED_PARAMETERS, snakeCase } from './names.ts'

const ENTITY = /^[A-Z][A-Za-z0-9]*$/
const PROPERTY = /^[a-z][A-Za-z0-9]*$/
const SYSTEM_COLUMNS = ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']
/**
 * Maximum length of a name: PostgreSQL truncates names at 63 bytes, and `generate migration` creates a table for a test, with a
 * prefix of 4 bytes before its names.
 */
const NAME_LENGTH_MAX = 59
/** Longest suffix that is appended to the name of a constraint or an index. */
const LONGEST_END = '_current'
/** Length that is assumed for values of kinds without a maximum length, when the length of a computed text is calculated. */
const VALUE_LENGTH_MAX = 100

/** A field of a declaration. `path`: name of the field; for a part of an object, the names of the object and of the part. */
export interface NamedField {
  readonly path: readonly string[]
  readonly field: Field
}

/** Checks a declaration, and returns its properties. @throws Error that says why the entity cannot be served or stored */
export function checkDeclaration(name: string, plural: string, fields: Fields): NamedField[] {
  const fail = (message: string): never => {
    throw new Error(`${name} ${message}`)
  }
  for (const text of [name, plural])
    if (!ENTITY.test(text))
      throw new Error(
        `"${text}" cannot be the name of an entity: it must begin with a capital letter, and letters A to Z and digits may follow`,
      )
  const named = Object.entries(fields).flatMap(([key, field]): NamedField[] =>
    'group' in field
      ? Object.entries(field.group).map(([part, of]) => ({ path: [key, part], field: of }))
      : [{ path: [key], field }],
  )
  for (const [key, field] of Object.entries(fields)) {
    // An object may be called `sum`: filters name only its parts, such as `Sum.Days`.
    const reserved = [...RESERVED_PARAMETERS, ...('group' in field ? [] : [...GROUPING_PARAMETERS, ...AGGREGATES])]
    if (reserved.some((parameter) => parameter.toLowerCase() === key.toLowerCase()))
      fail(`cannot have a property called ${key}: lists or summaries have a parameter of that name`)
  }
  for (const key of [...Object.keys(fields), ...named.flatMap(({ path }) => path)])
    if (!PROPERTY.test(key))
      fail(`cannot have a property called "${key}": it must begin with a small letter, and letters A to Z and digits may follow`)
  // Statements have the id in the first column of a row.
  if ('id' in fields && Object.keys(fields)[0] !== 'id') fail('needs id: identity() as its first field')
  for (const [key, field] of Object.entries(fields))
    if ('group' in field && Object.keys(field.group).length === 0) fail(`cannot have ${key} without any part`)
  checkColumns(name, named, fail)
  for (const one of named) checkProperty(one, named, fail)
  for (const { path, field } of named)
    if (field.computedFrom && field.computedBy === undefined && field.indexed !== false)
      checkIndexed(path.join('.'), lengthOf(field, named, READ_ONLY_LENGTH_MAX), 'say indexed: false', fail)
  return named
}

type Fail = (message: string) => never

function checkColumns(name: string, named: readonly NamedField[], fail: Fail) {
  const seen = new Map<string, string>()
  const reserve = (column: string, property: string) => {
    const other = seen.get(column)
    if (other !== undefined)
      fail(`cannot have both ${other} and ${property}: their names are the same for clients or in the table`)
    seen.set(column, property)
  }
  const groups = named.flatMap(({ path: [key = '', part] }) => (part === undefined ? [] : key))
  for (const group of new Set(groups)) reserve(group.toLowerCase(), group)
  for (const { path, field } of named) {
    const property = path.join('.')
    const column = path.map(snakeCase).join('_')
    if (SYSTEM_COLUMNS.includes(column)) fail(`cannot have a property called ${property}: every table has a column of that name`)
    reserve(column, property)
    if (property.toLowerCase() !== column) reserve(property.toLowerCase(), property)
    if ('copied' in field) reserve(`${column}_key`, property)
    checkLength(`${snakeCase(name)}_${column}${LONGEST_END}`, fail)
  }
}

/** Checks the length of a name. @throws Error if PostgreSQL would truncate it */
export function checkLength(text: string, fail: Fail): void {
  if (text.length > NAME_LENGTH_MAX)
    fail(`has names that are too long: ${text} would have ${text.length} letters, of ${NAME_LENGTH_MAX} that there may be`)
}

function checkProperty({ path, field }: NamedField, named: readonly NamedField[], fail: Fail) {
  const property = path.join('.')
  const { kind, readOnly, copied, computedFrom, unique, indexed = true } = field
  if (readOnly && !copied && !computedFrom && property !== 'id')
    fail(`cannot have the property ${property}: the one identity is called id`)
  if (property === 'id' && (!readOnly || copied || computedFrom)) fail('needs id: identity()')
  if (copied) checkCopy(path, copied.reference, named, fail)
  if (computedFrom) checkComputed(property, field, named, fail)
  const { lengthMax } = kind
  if (lengthMax === undefined) return
  if (!Number.isSafeInteger(lengthMax) || lengthMax < 1)
    fail(`cannot have a lengthMax of ${lengthMax} for ${property}: it must be an integer from 1 on`)
  if (indexed || unique) checkIndexed(property, lengthMax, unique ? 'it cannot be unique' : 'say indexed: false', fail)
}

function checkIndexed(property: string, length: number, remedy: string, fail: Fail) {
  if (length > INDEXED_LENGTH_MAX)
    fail(
      `cannot have an index on ${property}: its texts may have ${length} characters, of ${INDEXED_LENGTH_MAX} that fit into one; ${remedy}`,
    )
}

function checkCopy(path: readonly string[], reference: string, named: readonly NamedField[], fail: Fail) {
  const property = path.join('.')
  const found = find(named, reference)
  if (path.length > 1 || (found && found.path.length > 1))
    fail(`cannot copy ${property} by ${reference}: neither can be a part of an object`)
  if (!found?.field.reference) fail(`cannot copy ${property} by ${reference}: it has no reference of that name`)
  const copies = named.filter(({ field }) => field.copied && snakeCase(field.copied.reference) === snakeCase(reference))
  if (copies.length > 1)
    fail(`cannot copy both ${copies.map(({ path }) => path.join('.')).join(' and ')} by ${reference}: a reference has one copy`)
}

function checkComputed(property: string, field: Field, named: readonly NamedField[], fail: Fail) {
  const { computedFrom = [], computedBy } = field
  if (computedFrom.length === 0) fail(`cannot compute ${property} from nothing`)
  for (const key of computedFrom) {
    const { kind } = find(named, key)?.field ?? fail(`cannot compute ${property} from ${key}: it has no such property`)
    if (isComputedFrom(key, property, named)) fail(`cannot compute ${property} from itself, by way of ${key}`)
    if (computedBy === undefined && !kind.isCompared)
      fail(`cannot compute ${property} from ${key}, which is JSON; give an expression with "by"`)
    if (computedBy === undefined && kind.temporal !== null)
      fail(`cannot compute ${property} from ${key}: how dates are printed is a setting; give an expression with "by"`)
  }
}

/**
 * Returns the maximum length of a value in characters. `ofCopy`: the length to assume for a copied property, whose source belongs
 * to another entity.
 */
export function lengthOf(
  { kind, copied, computedFrom, computedBy }: Field,
  named: readonly NamedField[],
  ofCopy: number,
): number {
  if (copied) return ofCopy
  if (!computedFrom || computedBy !== undefined) return kind.lengthMax ?? VALUE_LENGTH_MAX
  const lengths = computedFrom.map((key) => lengthOf((find(named, key) as NamedField).field, named, ofCopy))
  return lengths.reduce((sum, one) => sum + one, lengths.length - 1)
}

/** Finds a field by its name, or by the name of its column. */
function find(named: readonly NamedField[], key: string): NamedField | undefined {
  return named.find(({ path }) => path.map(snakeCase).join('_') === snakeCase(key))
}

function isComputedFrom(key: string, property: string, named: readonly NamedField[], seen: readonly string[] = []): boolean {
  if (snakeCase(key) === snakeCase(property)) return true
  if (seen.includes(key)) return false
  const from = find(named, key)?.field.computedFrom ?? []
  return from.some((one) => isComputedFrom(one, property, named, [...seen, key]))
}

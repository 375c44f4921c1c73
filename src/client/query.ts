import { clientOperators } from '../model/operators.ts'

/** Operand for a property without an order: a value, or operators, which must all hold. */
export type RosterEqual<Value> =
  | Value
  | { readonly '='?: Value; readonly '!='?: Value | readonly Value[]; readonly any?: readonly Value[] }

/** Operand for a property that is not compared: null for rows without a value, `{ '!=': null }` for rows with a value. */
export type RosterPresence = null | { readonly '='?: null; readonly '!='?: null }

/** Operand for a property with an order: a value, operators (which must all hold), or null for rows without a value. */
export type RosterOrdered<Value> = Value | null | RosterOperators<Value>

/** Operand for a text: a value, operators (which must all hold), or null for rows without a value. */
export type RosterText =
  | string
  | null
  | (RosterOperators<string> & {
      /** Text that the value begins with, ignoring case and accents. */
      readonly begins?: string
      /** Text that the value contains, ignoring case and accents. */
      readonly contains?: string
    })

/**
 * Operand for a reference to rows of the same entity, such as to a manager: a value, operators (which must all hold), or null for
 * rows without a value.
 */
export type RosterChained =
  | number
  | null
  | (RosterOperators<number> & {
      /** Id of a row to which the reference leads, directly or through further rows. */
      readonly under?: number
    })

/** Operators for a property with an order. */
export interface RosterOperators<Value> {
  readonly '='?: Value | null
  /** Value or values that a row must not have. Rows without a value match if null is not one of the values. */
  readonly '!='?: Value | null | readonly (Value | null)[]
  /** Values of which a row must have one; null stands for rows without a value. */
  readonly any?: readonly (Value | null)[]
  readonly '<'?: Value
  readonly '<='?: Value
  readonly '>'?: Value
  readonly '>='?: Value
}

/** Property to sort by: ascending, or descending with a minus in front. */
export type RosterSorted<Name extends string> = Name | `-${Name}`

/** Properties of a row that these names select; an object has only its named parts. A path through a reference is one name. */
export type RosterPicked<Row, Name> = {
  [Key in keyof Row & RosterMember<Row, Name>]: Key extends Name ? Row[Key] : RosterParts<Row[Key], RosterPart<Key, Name>>
}
/**
 * Member of a row that a name selects. If the names of the row's type are not known, a dot always separates an object from its
 * part.
 */
type RosterMember<Row, Name> = string extends keyof Row
  ? RosterOuter<Name>
  : (Name & keyof Row) | RosterOuter<Exclude<Name, keyof Row>>
/** Name of an object, from the name of its part: `period` from `period.days`. */
type RosterOuter<Name> = Name extends `${infer Outer}.${string}` ? Outer : Name
/** Name of a part without the name of its object: `days` from `period.days`. */
type RosterPart<Outer, Name> = Name extends `${Outer & string}.${infer Part}` ? Part : never
type RosterParts<Values, Part> = Pick<NonNullable<Values>, keyof NonNullable<Values> & Part> | Extract<Values, null>

/** Write that `may` asks about. `update`: names of the properties that one request sets. */
export type RosterMay<Name extends string> = 'update' | 'delete' | { readonly update: Name | readonly Name[] }

/** Properties that a body sets: `status`, `period`, `period.days`. */
export type RosterSet<Write> = {
  [Key in keyof Write & string]-?: Key | RosterSetParts<Key, NonNullable<Write[Key]>>
}[keyof Write & string]
type RosterSetParts<Key extends string, Values> = Values extends Date
  ? never
  : Values extends object
    ? `${Key}.${keyof Values & string}`
    : never

/** Options of every call. */
export interface RosterCall {
  /** Aborts the call, also while it waits before a retry. */
  readonly signal?: AbortSignal | undefined
}

/** Options of creating several rows. */
export interface RosterCreateMany extends RosterCall {
  /** True to check the rows only, and write none. */
  readonly dryRun?: boolean | undefined
}

/** Options of creating or updating several rows. */
export interface RosterCreateOrUpdate<Write> extends RosterCreateMany {
  /** Property by whose value stored rows are found; each given row needs a value of it. */
  readonly match: keyof Write & string
}

/** Result for a given row: the row was created or updated, or it had the values already. */
export interface RosterResult<Row> {
  readonly result: 'created' | 'updated' | 'unchanged'
  readonly row: Row
}

/** Options of writes of all rows that match a filter. */
export interface RosterWhere<May> extends RosterCall {
  /**
   * Selects only rows that the key or person may write in this way. Without `may`, a single matching row that may not be written
   * fails the whole call.
   */
  readonly may?: May | undefined
  /** True to check and count the rows only, and write none. */
  readonly dryRun?: boolean | undefined
  /** Results of `versionOf`. If a matching row has none of these versions, the call fails with PreconditionFailed. */
  readonly ifMatch?: readonly string[]
}

/** Options of updates and deletions. */
export interface RosterChange extends RosterCall {
  /** Result of `versionOf` for the row; if the row has changed since, the call fails with PreconditionFailed. */
  readonly ifMatch?: string
}

/** Options of a read of one row. */
export interface RosterGet<Field> extends RosterCall {
  /** The properties to return; an object's name selects all its parts. Default: all. */
  readonly fields?: readonly Field[] | undefined
}

/** Query for all rows: filter, sort order, properties. */
export interface RosterStream<Filter, Sort, Field, May = never> extends RosterGet<Field> {
  readonly filter?: Filter | undefined
  /** Selects only rows that the key or person may write in this way. */
  readonly may?: May | undefined
  /** Sorts by the first name, then by the next; default: by id. */
  readonly sort?: Sort | readonly Sort[] | undefined
}

/** Query for all rows in pages: filter, sort order, properties, page size. */
export interface RosterRows<Filter, Sort, Field, May = never> extends RosterStream<Filter, Sort, Field, May> {
  /** Number of rows of a page, 5 to 50. */
  readonly pageSize?: number | undefined
}

/** Query for a page of rows: filter, sort order, properties, page. */
export interface RosterQuery<Filter, Sort, Field, May = never> extends RosterRows<Filter, Sort, Field, May> {
  /** Page number from 1; default: 1. */
  readonly page?: number | undefined
}

/**
 * Returns the query string, with its question mark. `others`: further parameters by name. @throws TypeError for a filter without
 * a meaning
 */
export function queryString(
  { filter, may, sort, fields, pageSize, page }: RosterQuery<unknown, unknown, unknown, RosterMay<string>>,
  others: Readonly<Record<string, unknown>> = {},
): string {
  // For an empty list of names, the server would return all properties.
  if (fields?.length === 0) throw new TypeError('fields has no name in it: leave it out for all properties')
  const parameters = Object.entries({ ...others, may: mayText(may), sort, fields, PageSize: pageSize, page })
  const all = [
    ...Object.entries(filter ?? {}).flatMap(([name, test]) => filtersOf(name, test)),
    ...parameters.flatMap(([name, value]) => {
      const values: unknown[] = value === undefined ? [] : [value].flat()
      return values.length === 0 ? [] : [`${name}=${values.map((one) => encoded(name, String(one))).join()}`]
    }),
  ]
  return all.length === 0 ? '' : `?${all.join('&')}`
}

/**
 * Returns the text of `may`, such as `update(status,reason)`. @throws TypeError for an empty list of names, which would mean any
 * update
 */
function mayText(may: RosterMay<string> | undefined): string | undefined {
  if (may === undefined || typeof may === 'string') return may
  const names = [may.update].flat()
  if (names.length === 0) throw new TypeError("may has no name in update: write may: 'update' for any update")
  return `update(${names.join()})`
}

function filtersOf(name: string, test: unknown): string[] {
  if (typeof test !== 'object' || test === null || test instanceof Date) return parameters(name, '=', test)
  if (Array.isArray(test)) throw new TypeError(`the filter ${name} is a list: write { any: [...] } for one of its values`)
  return Object.entries(test).flatMap(([operator, operand]) => {
    const sign = clientOperators[operator]
    if (sign === undefined) {
      const known = Object.keys(clientOperators).join(' ')
      throw new TypeError(`the filter ${name} has an operator "${operator}"; there are ${known}`)
    }
    const values: unknown[] = Array.isArray(operand) && (operator === 'any' || operator === '!=') ? operand : [operand]
    // An empty list is refused: if the filter were left out, the server would return more rows, not fewer.
    if (values.length === 0 && operator === 'any')
      throw new TypeError(`the filter ${name} has no value in any: leave it out for all rows`)
    if (!sign.startsWith('[')) return values.flatMap((value) => parameters(name, operator, value))
    // `status: { any: ['Approved', null] }` is `status[]=Approved&status[]=`.
    return values.map((value) => `${encoded(name, name + sign)}=${encoded(name, textOf(name, value))}`)
  })
}

function parameters(name: string, operator: string, value: unknown): string[] {
  const text = textOf(name, value)
  // `<` with the operand `=x` is sent as two filters, `<= =x` and `!= =x`, because `<=x` would mean `<=` with the operand `x`.
  if ((operator === '<' || operator === '>') && text.startsWith('='))
    return [...parameters(name, `${operator}=`, value), ...parameters(name, '!=', value)]
  return [`${encoded(name, name)}=${encodeURI(operator)}${encoded(name, text)}`]
}

function textOf(name: string, value: unknown): string {
  if (value === null) return ''
  if (value instanceof Date) return secondsText(name, value)
  if (value !== undefined && typeof value !== 'object') return String(value)
  // An undefined value or an object is refused: if the filter were left out, the server would return more rows, not fewer.
  const remedy = 'leave it out for all rows, or compare with null for those without a value'
  throw new TypeError(`the filter ${name} is ${value === undefined ? 'undefined' : 'an object'}: ${remedy}`)
}

function encoded(name: string, text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    throw new TypeError(`${name} has half of a surrogate pair`)
  }
}

/** Returns `YYYY-MM-DDThh:mm:ssZ`; the milliseconds are dropped, because the server does not store them. */
function secondsText(name: string, date: Date): string {
  if (Number.isNaN(date.getTime())) throw new TypeError(`${name} is a Date without a time`)
  return `${date.toISOString().slice(0, -5)}Z`
}

/** Returns values as JSON. @throws TypeError for values that JSON would turn into null: NaN, infinite numbers, invalid dates */
export function bodyText(values: unknown): string {
  return JSON.stringify(values, function (this: Readonly<Record<string, unknown>>, name: string, value: unknown) {
    // JSON calls this function with the text of a Date, so the Date itself is looked up.
    const own = this[name]
    if (own instanceof Date) return secondsText(name, own)
    if (typeof own === 'number' && !Number.isFinite(own)) throw new TypeError(`${name} is ${own}, not a finite number`)
    return value
  })
}

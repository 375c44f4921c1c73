// Kinds of property by name, with the traits that distinguish them. The types of kind names at the end of this file follow from
// this table.

/** Traits that all kinds of one name have in common. A `Kind` also has limits that a declaration decides, such as a length. */
export interface KindTraits {
  /** Type of a value in JSON, as TypeScript names it. */
  readonly jsonType: 'string' | 'number' | 'boolean' | 'unknown'
  /** The `format` in the JSON Schema of a value; null: the schema has none. */
  readonly format: 'date-time' | 'date' | 'int64' | 'uuid' | null
  /** True for decimals, whose values may have digits after the point. */
  readonly hasFraction: boolean
  /** True for texts, which are ordered by the collation of their column. */
  readonly isText: boolean
  /** True for texts with any content, in which filters can search for a part. */
  readonly isFreeText: boolean
  /** True if '' can be stored, and filters treat it as "no value". */
  readonly emptyIsNoValue: boolean
  /** True if values may have characters that mean something in a CSV or a spreadsheet. */
  readonly isEscaped: boolean
  /** True if values are written differently in different languages, such as `1,5` and `01.09.2026`. */
  readonly isNotated: boolean
  /**
   * `day`: values are days of the calendar. `instant`: values are instants, whose day depends on the time zone. Null: neither.
   */
  readonly temporal: 'day' | 'instant' | null
  /** True if the kind allows `<`, `<=`, `>` and `>=`. */
  readonly ordered: boolean
  /** False if filters only ask whether there is a value, and nothing is sorted or grouped by it. */
  readonly isCompared: boolean
  /** True if a declaration may say that no two rows have the same value. */
  readonly mayBeUnique: boolean
  /** True if people use values to name rows, such as a number, a name or a code. */
  readonly namesRows: boolean
  /**
   * Form of values in copies in memory. `text`: each different value once, as a text; only PostgreSQL knows the order, because
   * its ICU and Bun's may differ in version. `number`: numbers in the order of the values. `presence`: only whether a row has a
   * value.
   */
  readonly memory: 'text' | 'number' | 'presence'
}

export const KIND_TRAITS = {
  text: {
    jsonType: 'string',
    format: null,
    hasFraction: false,
    isText: true,
    isFreeText: true,
    emptyIsNoValue: true,
    isEscaped: true,
    isNotated: false,
    temporal: null,
    ordered: true,
    isCompared: true,
    mayBeUnique: true,
    namesRows: true,
    memory: 'text',
  },
  oneOf: {
    jsonType: 'string',
    format: null,
    hasFraction: false,
    isText: true,
    isFreeText: false,
    emptyIsNoValue: false,
    isEscaped: true,
    isNotated: false,
    temporal: null,
    ordered: true,
    isCompared: true,
    mayBeUnique: false,
    namesRows: true,
    memory: 'text',
  },
  uuid: {
    jsonType: 'string',
    format: 'uuid',
    hasFraction: false,
    isText: false,
    isFreeText: false,
    emptyIsNoValue: false,
    isEscaped: false,
    isNotated: false,
    temporal: null,
    ordered: false,
    isCompared: true,
    mayBeUnique: true,
    namesRows: true,
    memory: 'text',
  },
  boolean: {
    jsonType: 'boolean',
    format: null,
    hasFraction: false,
    isText: false,
    isFreeText: false,
    emptyIsNoValue: false,
    isEscaped: false,
    isNotated: true,
    temporal: null,
    ordered: false,
    isCompared: true,
    mayBeUnique: false,
    namesRows: false,
    memory: 'number',
  },
  integer: {
    jsonType: 'number',
    format: 'int64',
    hasFraction: false,
    isText: false,
    isFreeText: false,
    emptyIsNoValue: false,
    isEscaped: false,
    isNotated: true,
    temporal: null,
    ordered: true,
    isCompared: true,
    mayBeUnique: true,
    namesRows: true,
    memory: 'number',
  },
  decimal: {
    jsonType: 'number',
    format: null,
    hasFraction: true,
    isText: false,
    isFreeText: false,
    emptyIsNoValue: false,
    isEscaped: false,
    isNotated: true,
    temporal: null,
    ordered: true,
    isCompared: true,
    mayBeUnique: false,
    namesRows: false,
    memory: 'number',
  },
  date: {
    jsonType: 'string',
    format: 'date',
    hasFraction: false,
    isText: false,
    isFreeText: false,
    emptyIsNoValue: false,
    isEscaped: false,
    isNotated: true,
    temporal: 'day',
    ordered: true,
    isCompared: true,
    mayBeUnique: true,
    namesRows: false,
    memory: 'number',
  },
  instant: {
    jsonType: 'string',
    format: 'date-time',
    hasFraction: false,
    isText: false,
    isFreeText: false,
    emptyIsNoValue: false,
    isEscaped: false,
    isNotated: true,
    temporal: 'instant',
    ordered: true,
    isCompared: true,
    mayBeUnique: false,
    namesRows: false,
    memory: 'number',
  },
  json: {
    jsonType: 'unknown',
    format: null,
    hasFraction: false,
    isText: false,
    isFreeText: false,
    emptyIsNoValue: false,
    isEscaped: true,
    isNotated: false,
    temporal: null,
    ordered: false,
    isCompared: false,
    mayBeUnique: false,
    namesRows: false,
    memory: 'presence',
  },
} as const satisfies Readonly<Record<string, KindTraits>>

type Table = typeof KIND_TRAITS
export type KindName = keyof Table

/** Names of the kinds that have these traits. */
type NameWith<Traits extends Partial<KindTraits>> = {
  [Name in KindName]: Table[Name] extends Traits ? Name : never
}[KindName]

/** Kinds of which copies in memory keep each different value as a text. */
type KeptAsText = NameWith<{ memory: 'text' }>
/** Kinds that copies in memory keep as numbers, which stand for the value or for its presence. */
export type PlainName = Exclude<KindName, KeptAsText>
/** Kinds whose values are written differently in different languages. */
export type NotatedName = NameWith<{ isNotated: true }>
export type TemporalName = NameWith<{ temporal: 'day' | 'instant' }>

export function isKeptAsText(name: KindName): name is KeptAsText {
  return KIND_TRAITS[name].memory === 'text'
}

export function isNotated(name: KindName): name is NotatedName {
  return KIND_TRAITS[name].isNotated
}

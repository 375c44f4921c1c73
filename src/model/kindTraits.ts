// Kinds of property by name, with what tells them apart. The names of kinds, and of groups of them, follow from this table.

/** Traits that all kinds of one name have in common. A `Kind` also has what a declaration decides, such as a length. */
export interface KindTraits {
  /** Type of a value in JSON, as TypeScript names it. */
  readonly jsonType: 'string' | 'number' | 'boolean' | 'unknown'
  /** The `format` of its JSON Schema; null: it has none. */
  readonly format: 'date-time' | 'date' | 'int64' | 'uuid' | null
  /** True for decimals, whose values may have digits after the point. */
  readonly hasFraction: boolean
  /** True for texts, which have the order of their column's collation. */
  readonly isText: boolean
  /** True for texts that people make up, in whose parts filters search. */
  readonly isFreeText: boolean
  /** True if '' is a value, which filters take for none. */
  readonly emptyIsNoValue: boolean
  /** True if values may have characters that mean something in a CSV or a spreadsheet. */
  readonly isEscaped: boolean
  /** True if languages write values differently, as `1,5` and `01.09.2026`. */
  readonly isNotated: boolean
  /** A day of the calendar, or an instant, whose day depends on the zone; null for all other values. */
  readonly moment: 'day' | 'instant' | null
  /** True if the kind allows `<`, `<=`, `>` and `>=`. */
  readonly ordered: boolean
  /** False if filters only ask whether there is a value, and nothing is sorted or grouped by it. */
  readonly isCompared: boolean
  /** True if a declaration may say that no two rows have the same value. */
  readonly mayBeUnique: boolean
  /** True if people name rows by values, as by a number, a name or a code. */
  readonly namesRows: boolean
  /**
   * How copies in memory keep values: each different one as a text, whose order PostgreSQL knows; as numbers in the order of the
   * values; or only whether there is one.
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
    moment: null,
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
    moment: null,
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
    moment: null,
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
    moment: null,
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
    moment: null,
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
    moment: null,
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
    moment: 'day',
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
    moment: 'instant',
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
    moment: null,
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
/** Kinds of which copies in memory have numbers: the value, or whether there is one. */
export type PlainName = Exclude<KindName, KeptAsText>
/** Kinds whose values languages write differently. */
export type NotatedName = NameWith<{ isNotated: true }>
export type MomentName = NameWith<{ moment: 'day' | 'instant' }>

export function isKeptAsText(name: KindName): name is KeptAsText {
  return KIND_TRAITS[name].memory === 'text'
}

export function isNotated(name: KindName): name is NotatedName {
  return KIND_TRAITS[name].isNotated
}

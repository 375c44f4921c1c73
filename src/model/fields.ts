import { booleanKind, decimalKind, instantKind, integerKind, type Kind, textKind } from './kinds.ts'

/** What a declaration says of one property. Its type says, too, what the value is in JSON and whether clients write it. */
export interface Field<Of extends Kind = Kind, ReadOnly extends boolean = boolean> {
  readonly kind: Of
  readonly readOnly: ReadOnly
  readonly examples?: readonly string[]
  readonly indexed?: boolean
  readonly reference?: string
  readonly computedFrom?: readonly string[]
  readonly copied?: { readonly reference: string; readonly source: string }
}

/** What a declaration says of an object among the properties. */
export interface FieldGroup<Parts extends Readonly<Record<string, Field>> = Readonly<Record<string, Field>>> {
  readonly group: Parts
}

export type Fields = Readonly<Record<string, Field | FieldGroup>>

type Text<ReadOnly extends boolean> = Field<Kind<'text', true>, ReadOnly>

/** What every property may say of itself, but ids and references: by those, rows of others look for it. */
interface Indexing {
  /** `false`: each row is written into an index less; to filter and sort by it reads all rows, within the deadline. */
  indexed?: boolean
}

// Two names of 200 and the space between.
const READ_ONLY_LENGTH_MAX = 401

/** The id that the service generates on creation. */
export const identity = (): Field<Kind<'integer', false>, true> => ({ kind: integerKind(false), readOnly: true })

/** Text of at most `lengthMax` (200) code points. */
export const text = ({
  lengthMax = 200,
  ...options
}: { lengthMax?: number; examples?: string[] } & Indexing = {}): Text<false> => ({
  kind: textKind(lengthMax),
  readOnly: false,
  ...options,
})

/** True or false, never null. */
export const boolean = (options: Indexing = {}): Field<Kind<'boolean', false>, false> => ({
  kind: booleanKind,
  readOnly: false,
  ...options,
})

/** A date-time to the second, in UTC. */
export const instant = (options: Indexing = {}): Field<Kind<'instant', true>, false> => ({
  kind: instantKind,
  readOnly: false,
  ...options,
})

/** An exact number of 0 or more with 10 digits before the point and `scale` after it. */
export const decimal = (scale: number, options: Indexing = {}): Field<Kind<'decimal', true>, false> => ({
  kind: decimalKind(10, scale),
  readOnly: false,
  ...options,
})

/** The id of a row of `entity`. */
export const reference = (entity: string): Field<Kind<'integer', true>, false> => ({
  kind: integerKind(true),
  readOnly: false,
  reference: entity,
})

/** Read-only: the property `source` of the row that the property `reference` names, kept right by the database. */
export const copied = (reference: string, source: string, options: Indexing = {}): Text<true> => ({
  kind: textKind(READ_ONLY_LENGTH_MAX),
  readOnly: true,
  copied: { reference, source },
  ...options,
})

/** Read-only text that the database makes from other properties of the row, which `from` names. */
export const computed = (from: readonly string[], options: Indexing = {}): Text<true> => ({
  kind: textKind(READ_ONLY_LENGTH_MAX),
  readOnly: true,
  computedFrom: from,
  ...options,
})

/** An object: its parts are properties of their own, with a dot in the name. */
export const group = <Parts extends Readonly<Record<string, Field>>>(parts: Parts): FieldGroup<Parts> => ({
  group: parts,
})

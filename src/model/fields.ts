import { dateKind } from './dateKind.ts'
import { booleanKind, decimalKind, instantKind, integerKind, type Kind, textKind } from './kinds.ts'
import { checkedRange, numberKind, type Range } from './numberKind.ts'
import { type OneOfKind, oneOfKind } from './oneOfKind.ts'

/** What a declaration says of one property. Its type says, too, what the value is in JSON and whether clients write it. */
export interface Field<Of extends Kind = Kind, ReadOnly extends boolean = boolean> {
  readonly kind: Of
  readonly readOnly: ReadOnly
  readonly examples?: readonly string[]
  readonly indexed?: boolean
  readonly required?: boolean
  readonly unique?: boolean
  readonly reference?: string
  readonly computedFrom?: readonly string[]
  readonly computedBy?: string
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

/** What a property that clients write may say of itself. */
interface Requiring<Required extends boolean = boolean> {
  /** `true`: no row is without a value. */
  required?: Required
}

interface Unique {
  /** `true`: no two rows have the same value; any number may have none. */
  unique?: boolean
}

/** Whether values may be null: where the option `required` does not say otherwise. */
type Nullable<Required extends boolean> = true extends Required ? false : true

type Writable<Name extends Kind['name'], Required extends boolean> = Field<Kind<Name, Nullable<Required>>, false>

const SCALE_MAX = 20
// Two names of 200 and the space between.
const READ_ONLY_LENGTH_MAX = 401

/** The field with its options. */
function writable<Name extends Kind['name'], Required extends boolean>(
  kind: Kind<Name, true>,
  options: { required?: Required },
): Writable<Name, Required> {
  return { kind: kindOf<Kind<Name, Nullable<Required>>>(kind, options), readOnly: false, ...options }
}

/** Of a required property, the kind without null; an empty text is no value either. */
function kindOf<Of extends Kind>(kind: Kind, { required = false }: { required?: boolean }): Of {
  const [some] = kind.schema.anyOf
  const schema = kind.emptyIsNoValue ? { ...some, minLength: 1 } : some
  return (required ? { ...kind, nullable: false, schema } : kind) as Of
}

/** The id that the service generates on creation. */
export const identity = (): Field<Kind<'integer', false>, true> => ({ kind: integerKind(false), readOnly: true })

/** Text of at most `lengthMax` (200) code points. */
export const text = <Required extends boolean = false>({
  lengthMax = 200,
  ...options
}: { lengthMax?: number; examples?: string[] } & Indexing & Requiring<Required> & Unique = {}): Writable<
  'text',
  Required
> => writable(textKind(lengthMax), options)

/** One of these texts, in this spelling: `oneOf(['Requested', 'Approved'])`. */
export const oneOf = <const Value extends string, Required extends boolean = false>(
  values: readonly Value[],
  options: Indexing & Requiring<Required> = {},
): Field<OneOfKind<Value, Nullable<Required>>, false> => ({
  kind: kindOf(oneOfKind(values), options),
  readOnly: false,
  ...options,
})

/** True or false, never null. */
export const boolean = (options: Indexing = {}): Field<Kind<'boolean', false>, false> => ({
  kind: booleanKind,
  readOnly: false,
  ...options,
})

/** An integer from `min` to `max`, which are those that JSON's numbers keep in all languages. */
export const integer = <Required extends boolean = false>({
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
  ...options
}: Partial<Range> & Indexing & Requiring<Required> & Unique = {}): Writable<'integer', Required> =>
  writable(numberKind(checkedRange({ min, max })), options)

/** A day of the calendar, without a time. */
export const date = <Required extends boolean = false>(
  options: Indexing & Requiring<Required> & Unique = {},
): Writable<'date', Required> => writable(dateKind, options)

/** A date-time to the second, in UTC. */
export const instant = <Required extends boolean = false>(
  options: Indexing & Requiring<Required> = {},
): Writable<'instant', Required> => writable(instantKind, options)

/** An exact number of 0 or more with 10 digits before the point and `scale` after it. */
export const decimal = <Required extends boolean = false>(
  scale: number,
  options: Indexing & Requiring<Required> = {},
): Writable<'decimal', Required> => writable(decimalKind(10, checkedScale(scale)), options)

/** @throws Error where a number cannot have so many digits behind its point */
function checkedScale(scale: number): number {
  if (Number.isSafeInteger(scale) && scale >= 0 && scale <= SCALE_MAX) return scale
  throw new Error(`decimal(${scale}) is no kind: the digits after the point must be 0 to ${SCALE_MAX}`)
}

/** The id of a row of `entity`. */
export const reference = <Required extends boolean = false>(
  entity: string,
  options: Requiring<Required> & Unique = {},
): Writable<'integer', Required> => ({ ...writable(integerKind(true), options), reference: entity })

/** Read-only: the property `source` of the row that the property `reference` names, kept right by the database. */
export const copied = (reference: string, source: string, options: Indexing = {}): Text<true> => ({
  kind: textKind(READ_ONLY_LENGTH_MAX),
  readOnly: true,
  copied: { reference, source },
  ...options,
})

/**
 * Read-only text that the database makes from other properties of the row, which `from` names: what they have, with a space
 * between; or what the SQL expression `by` makes of their columns, which must be immutable.
 */
export const computed = (from: readonly string[], { by, ...options }: { by?: string } & Indexing = {}): Text<true> => ({
  kind: textKind(READ_ONLY_LENGTH_MAX),
  readOnly: true,
  computedFrom: from,
  ...(by === undefined ? {} : { computedBy: by }),
  ...options,
})

/** An object: its parts are properties of their own, with a dot in the name. */
export const group = <Parts extends Readonly<Record<string, Field>>>(parts: Parts): FieldGroup<Parts> => ({
  group: parts,
})

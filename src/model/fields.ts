// Constructors of fields, by which entities are declared: text(), reference(), computed() and others.
import { dateKind, instantKind } from './dateKinds.ts'
import { plainDecimal } from './decimal.ts'
import { JSON_BYTES_END, JSON_BYTES_MAX, jsonKind } from './jsonKind.ts'
import {
  booleanKind,
  DECIMAL_END,
  decimalKind,
  fitsDecimal,
  INDEXED_LENGTH_MAX,
  idKind,
  integerKind,
  type Kind,
  type NumberRange,
  oneOfKind,
  READ_ONLY_LENGTH_MAX,
  textKind,
  uuidKind,
} from './kinds.ts'

/** Declaration of one property. */
export interface Field {
  readonly kind: Kind
  readonly readOnly: boolean
  readonly examples?: readonly string[]
  readonly indexed?: boolean
  readonly required?: boolean
  readonly unique?: boolean
  readonly reference?: string
  readonly computedFrom?: readonly string[]
  readonly computedBy?: string
  readonly copied?: { readonly reference: string; readonly source: string }
}

/** Declaration of an object among the properties. */
export interface FieldGroup {
  readonly group: Readonly<Record<string, Field>>
}

export type Fields = Readonly<Record<string, Field | FieldGroup>>

/**
 * Options of properties. Ids and references always have an index. `NonUniqueOptions`: options of kinds whose values cannot be
 * declared unique.
 */
interface Options {
  /** `false`: the column has no index, which makes writes cheaper; filters and sorts by it read all rows, within the deadline. */
  indexed?: boolean
  /** `true`: every row has a value. */
  required?: boolean
  /** `true`: no two rows have the same value; any number of rows may have no value. */
  unique?: boolean
}
type Indexing = Pick<Options, 'indexed'>
type NonUniqueOptions = Pick<Options, 'indexed' | 'required'>

const SCALE_MAX = 20
/** Least `bytesMax` that a declaration can give, so that generated data fit. */
const JSON_BYTES_MIN = 100

/** Makes a field that clients write. If it is required, it is never null, and an empty text counts as no value. */
function writable(kind: Kind, options: NonUniqueOptions): Field {
  if (!options.required) return { kind, readOnly: false, ...options }
  const schema = kind.emptyIsNoValue ? { ...kind.schema, minLength: 1 } : kind.schema
  return { kind: { ...kind, nullable: false, schema }, readOnly: false, ...options }
}

/** The id, which the database generates when a row is created. */
export const identity = (): Field => ({ kind: idKind(false), readOnly: true })

/** Text of at most `lengthMax` code points, by default 200. */
export const text = ({ lengthMax = 200, ...options }: { lengthMax?: number; examples?: string[] } & Options = {}): Field =>
  writable(textKind(lengthMax), options)

/** One of these texts, case-sensitive: `oneOf(['Requested', 'Approved'])`. */
export const oneOf = (values: readonly string[], options: NonUniqueOptions = {}): Field => writable(oneOfKind(values), options)

/** True or false, never null. */
export const boolean = (options: Indexing = {}): Field => writable(booleanKind, options)

/**
 * An integer from `min` to `max`, by default any integer that every JSON parser reads exactly. @throws Error for an invalid range
 */
export const integer = ({
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
  ...options
}: Partial<NumberRange> & Options = {}): Field => {
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || min > max)
    throw new Error(`no range of integers from -(2^53-1) to 2^53-1: ${min} to ${max}`)
  return writable(integerKind({ min, max }), options)
}

/** A day of the calendar, without a time. */
export const date = (options: Options = {}): Field => writable(dateKind, options)

/** A date-time to the second, in UTC. */
export const instant = (options: NonUniqueOptions = {}): Field => writable(instantKind, options)

/**
 * An exact number with up to 10 digits before the point and `scale` after it, from `min` (by default 0) to `max`. @throws Error
 * for an invalid scale or range
 */
export const decimal = (scale: number, { min, max, ...options }: Partial<NumberRange> & NonUniqueOptions = {}): Field => {
  if (!Number.isSafeInteger(scale) || scale < 0 || scale > SCALE_MAX)
    throw new Error(`decimal(${scale}) is no kind: the digits after the point must be 0 to ${SCALE_MAX}`)
  if (min === undefined && max === undefined) return writable(decimalKind(scale), options)
  const range = { min: min ?? 0, max: max ?? DECIMAL_END }
  for (const end of [min, max])
    if (end !== undefined && !(Math.abs(end) < DECIMAL_END && fitsDecimal(plainDecimal(String(end)) as string, scale)))
      throw new Error(`decimal(${scale}) cannot be bounded by ${end}: it has 10 digits before the point and ${scale} after it`)
  if (range.min > range.max) throw new Error(`decimal(${scale}) has no numbers from ${range.min} to ${range.max}`)
  return writable(decimalKind(scale, range), options)
}

/** A UUID of any version. */
export const uuid = (options: Options = {}): Field => writable(uuidKind, options)

/** JSON of at most `bytesMax` bytes, by default 16,384. It has no index. @throws Error for an invalid maximum */
export const json = ({
  bytesMax = JSON_BYTES_MAX,
  ...options
}: { bytesMax?: number } & Pick<Options, 'required'> = {}): Field => {
  if (!Number.isSafeInteger(bytesMax) || bytesMax < JSON_BYTES_MIN || bytesMax > JSON_BYTES_END)
    throw new Error(
      `json cannot have a bytesMax of ${bytesMax}: it must be an integer from ${JSON_BYTES_MIN} to ${JSON_BYTES_END}`,
    )
  return { ...writable(jsonKind(bytesMax), options), indexed: false }
}

/** The id of a row of `entity`. */
export const reference = (entity: string, options: Omit<Options, 'indexed'> = {}): Field => ({
  ...writable(idKind(true), options),
  reference: entity,
})

/** Read-only copy of the property `source` of the row that the property `reference` names, kept current by the database. */
export const copied = (reference: string, source: string, options: Indexing = {}): Field => ({
  kind: textKind(INDEXED_LENGTH_MAX),
  readOnly: true,
  copied: { reference, source },
  ...options,
})

/**
 * Read-only text that the database computes from the properties `from`: their values joined by spaces, or the result of `by`, an
 * immutable SQL expression of their columns.
 */
export const computed = (from: readonly string[], { by, ...options }: { by?: string } & Indexing = {}): Field => ({
  kind: textKind(READ_ONLY_LENGTH_MAX),
  readOnly: true,
  computedFrom: from,
  ...(by === undefined ? {} : { computedBy: by }),
  ...options,
})

/** An object, whose parts are properties with a dot in their names. */
export const group = (parts: FieldGroup['group']): FieldGroup => ({ group: parts })

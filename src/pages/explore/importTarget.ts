// Properties that an import may write, and texts by which their values are compared.
import type { KindName } from '../../model/kinds.ts'
import type { FormField } from './writable.ts'

/** A property that an import may set, or find rows by. */
export interface ImportProperty extends Omit<FormField, 'kind'> {
  readonly kind: { readonly name: KindName }
  readonly writable: boolean
  /** As `references`, by the name that the reading of files has for it. */
  readonly reference: string | null
  /** The document does not say which values are unique. */
  readonly unique: null
  /** True if it refers to rows of its own kind, as to a manager: these may be in the same file. */
  readonly isToItself: boolean
  /** False if it can only be set in new rows. */
  readonly mayChange: boolean
  /** False if it can only be changed in rows that are there. */
  readonly mayCreate: boolean
}

/** Returns a text that is the same for equal values; null: no value. `value`: of JSON; a number may be a text with all digits. */
export function comparable(kind: KindName, value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null
  const text = String(value)
  if (kind === 'decimal') return plainDecimal(text)
  if (kind !== 'instant') return text
  const ms = Date.parse(text)
  // Times have microseconds, and a date of JavaScript milliseconds.
  const isExact = !/\.\d{4}/.test(text)
  return Number.isNaN(ms) || !isExact ? text : new Date(ms).toISOString()
}

function plainDecimal(text: string): string {
  const plain = /e/i.test(text) ? Number(text).toFixed(8) : text
  return plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain
}

/** As `comparable`, of a value in JSON, whose numbers keep all digits. */
export function textOfJson({ kind }: Pick<ImportProperty, 'kind'>, json: string): string | null {
  return comparable(kind.name, json.startsWith('"') || json === 'null' ? JSON.parse(json) : json)
}

// Properties that an import may write, and texts by which their values are compared.
import type { KindName } from '../../model/kinds.ts'
import type { FormField } from './writable.ts'

/** A property that an import may set, or find rows by. */
export interface ImportProperty extends Omit<FormField, 'kind'> {
  readonly kind: { readonly name: KindName }
  readonly writable: boolean
  /** Same as `references`, under the name that the code of `spreadsheets/` uses. */
  readonly reference: string | null
  /** Always null, because the OpenAPI document does not say which values are unique. */
  readonly unique: null
  /**
   * True if the property refers to rows of its own collection, such as the manager of an employee. The referenced rows can be in
   * the imported file, too.
   */
  readonly isToItself: boolean
  /** False if the property can only be set in new rows. */
  readonly mayChange: boolean
  /** False if the property can only be changed in stored rows. */
  readonly mayCreate: boolean
}

/**
 * Returns a text that is the same for equal values; null for null, undefined and an empty text. `value`: a value of JSON, or a
 * text with all digits of a number.
 */
export function comparable(kind: KindName, value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null
  const text = String(value)
  if (kind === 'decimal') return plainDecimal(text)
  if (kind !== 'instant') return text
  const ms = Date.parse(text)
  // Times of the API have microseconds, JavaScript's dates only milliseconds. So a text with microseconds stays as it is.
  const isExact = !/\.\d{4}/.test(text)
  return Number.isNaN(ms) || !isExact ? text : new Date(ms).toISOString()
}

function plainDecimal(text: string): string {
  const plain = /e/i.test(text) ? Number(text).toFixed(8) : text
  return plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain
}

/** Returns the text of `comparable` for a value in JSON. Numbers keep all digits. */
export function textOfJson({ kind }: Pick<ImportProperty, 'kind'>, json: string): string | null {
  return comparable(kind.name, json.startsWith('"') || json === 'null' ? JSON.parse(json) : json)
}

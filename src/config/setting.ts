import type { TSchema } from '@sinclair/typebox'

/** What a setting may be, and what is said of it. */
export interface Setting {
  readonly schema: TSchema
  /** As an operator would write it; null: none. */
  readonly default: string | null
  /** Continues "must be". */
  readonly allowed: string
  readonly meaning: string
  /** Finds faults that a pattern cannot. @throws Error that says what is wrong */
  readonly check?: (text: string) => unknown
}

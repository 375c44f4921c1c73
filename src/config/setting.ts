import type { TSchema } from '@sinclair/typebox'
import { readDatabaseUrl } from '../model/databaseUrl.ts'
import { readAuthorities } from '../os/certificate.ts'

/** A setting: its allowed values and its description. */
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

/**
 * Checks that an address can be used, with the file that it names. @throws Error that says what is wrong, and repeats no value
 */
export function checkDatabaseUrl(text: string): void {
  const { authoritiesFile } = readDatabaseUrl(text)
  if (authoritiesFile !== undefined) readAuthorities(authoritiesFile)
}

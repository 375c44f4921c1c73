import { changesOf } from '../../src/client/changes.ts'
import { collectionAt } from '../../src/client/collection.ts'
import { connect, type RosterOptions } from '../../src/client/connection.ts'
import { rightsOf } from '../../src/client/rights.ts'
import type { RosterKinds } from '../../src/client/summary.ts'

export { RosterError } from '../../src/client/error.ts'

// biome-ignore lint/suspicious/noExplicitAny: which values there are is a matter of types, which programs/use.ts tests.
type Values = Record<string, any>

/** The code of the generated client for the entities of tests, whose rows may have any properties. */
export function createRoster(options: RosterOptions) {
  const connection = connect(options)
  const rows = (plural: string) => collectionAt<Values, Values, Values, string, string, RosterKinds>(connection, `/${plural}`)
  return {
    absences: rows('Absences'),
    companies: rows('Companies'),
    employees: rows('Employees'),
    changes: changesOf<string>(connection),
    rights: () => rightsOf<string>(connection),
  }
}

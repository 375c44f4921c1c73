import type { Fault } from '../errors.ts'
import type { Entity } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'

/** The reference in this column names no row. */
export function missingReference(column: string, assignments: Assignments): Fault {
  const [property, value] = [...assignments].find(([candidate]) => candidate.column === column) ?? []
  const message = `${property?.name} names no ${property?.reference?.entity}${value === '0' ? '' : `: there is none with id ${value}`}.`
  return { code: 'ReferenceNotFound', target: property?.name ?? 'Body', message }
}

/** What the constraint of a unique property says of its value; null: it is another constraint. */
export function takenValue({ name, properties }: Entity, constraint: string): Fault | null {
  const property = properties.find(({ unique }) => unique === constraint)
  if (!property) return null
  const message = `${property.name} is not free: another ${name} has this value.`
  return { code: 'AlreadyExists', target: property.name, message }
}

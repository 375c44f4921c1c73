// Checks of a roles file: whether its rights fit together, whatever roles a person has.
import type { Right } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import { hasSameFields } from '../rights/accesses.ts'
import { checkRight, checkSingle } from '../rights/checks.ts'
import { isOpen, type OpenFilter } from '../rights/openFilter.ts'
import type { FaultList } from './faults.ts'
import type { KeyBlock, RightInFile, Role, RolesFile } from './file.ts'

/**
 * Checks a file. Some checks of a right depend on further rights. If any line has a fault, these checks are left out, because the
 * further rights may be on the faulty lines.
 */
export function checkFile({ roles, keys }: RolesFile, entities: readonly Entity[], faults: FaultList): void {
  const isWhole = faults.isEmpty
  checkFields(
    roles.flatMap(({ rights }) => rights),
    faults,
  )
  for (const role of isWhole ? roles : []) checkRole(role, roles, entities, faults)
  for (const key of keys) checkKey(key, isWhole, entities, faults)
}

/**
 * Checks that all rights of roles to read one collection have the same `fields`. Otherwise rows would differ in their properties,
 * and the results of a filter could reveal hidden values.
 */
function checkFields(rights: readonly RightInFile[], faults: FaultList) {
  const firsts = new Map<string, RightInFile>()
  for (const one of rights) {
    const { right, line } = one
    if (right.verb !== 'read') continue
    const { plural } = right.collection
    const first = firsts.getOrInsert(plural, one)
    if (hasSameFields(first.right, right)) continue
    faults.add(
      line,
      `it reads other properties of ${plural} than the right in line ${first.line}. All rights of roles to read ${plural} have the same fields; a second way to see the same rows is a view.`,
    )
  }
}

/**
 * Checks each right of a role together with the rights that a person may hold with it. A person may have the rights of all roles,
 * since any role may apply to her. She certainly has the rights of the same role and of the roles for everybody.
 */
function checkRole(role: Role, roles: readonly Role[], entities: readonly Entity[], faults: FaultList) {
  const rightsOf = (some: readonly Role[]) => some.flatMap(({ rights }) => rights.map(({ right }) => right))
  const possible = rightsOf(roles)
  const concurrent = rightsOf(roles.filter((other) => other === role || other.when === null))
  for (const { right, line } of role.rights) {
    const certain = concurrent.filter((other) => exists(other, right))
    faults.try(line, () => checkRight(right, { possible, certain }, entities))
  }
}

/**
 * Returns whether the first right exists whenever the right `other` exists: each variable of the first right must then have a
 * value.
 */
function exists({ filters }: Right, other: Right): boolean {
  const given = [...other.filters, ...(other.becomes ?? [])].filter(isOpen)
  return filters.every((filter) => !isOpen(filter) || isAlwaysBound(filter) || given.some((one) => isBoundWith(filter, one)))
}

function isAlwaysBound({ property, variable }: OpenFilter): boolean {
  if (variable.kind === 'claim') return false
  if (variable.kind !== 'own') return true
  const { name, required, kind } = variable.property
  return (name === 'Id' || required) && kind.name === property.kind.name
}

/**
 * Returns whether the first filter can be bound whenever `other` can be bound: both have the same variable, for properties that
 * take the same values.
 */
function isBoundWith({ variable, property, operator }: OpenFilter, other: OpenFilter): boolean {
  const takesSame =
    property.kind.values !== undefined ? property === other.property : property.kind.name === other.property.kind.name
  return variable.name === other.variable.name && operator === other.operator && takesSame
}

function checkKey({ rights: inFile }: KeyBlock, isWhole: boolean, entities: readonly Entity[], faults: FaultList) {
  const rights = inFile.map(({ right }) => right)
  for (const { right, line } of inFile)
    faults.try(line, () => {
      checkSingle(right, rights)
      if (isWhole) checkRight(right, { possible: rights, certain: rights }, entities)
    })
}

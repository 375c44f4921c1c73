// Checks of rights when they are given: each right must be able to do what it says, and must not reveal what the key cannot read.
import type { Right } from '../model/access.ts'
import { writableSourcesOf } from '../model/copies.ts'
import type { Entity, Property } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { JsonNumber, Mismatch } from '../model/kinds.ts'
import { baseOf, type NamedView } from '../model/namedView.ts'
import { type Filter, ownProperty } from '../model/query.ts'
import { listed } from '../parse/names.ts'
import { afterUpdate, isFixed, isPreset, rowFiltersOf, settableOf } from './accesses.ts'
import { contradictionOf, valuesOf } from './contradictions.ts'
import { parseRight, RightError } from './grammar.ts'
import { isOpen } from './openFilter.ts'
import { printFilter } from './print.ts'

/** Parses and checks the rights that a key shall have. @throws RightError that names the faulty right */
export function parseRights(texts: readonly string[], entities: readonly Entity[], views: readonly NamedView[] = []): Right[] {
  const collections = [...entities, ...views]
  const rights = texts.flatMap((text) => parseRight(text, collections))
  checkRights(rights, entities)
  return rights
}

/** Checks all rights of a key together. @throws RightError */
export function checkRights(rights: readonly Right[], entities: readonly Entity[]): void {
  for (const right of rights) checkSingle(right, rights)
  for (const right of rights) checkRight(right, { possible: rights, certain: rights }, entities)
}

/** Checks that no earlier right has the same verb and collection. @throws RightError */
export function checkSingle(right: Right, rights: readonly Right[]): void {
  const { verb, collection } = right
  if (rights.find((other) => other.collection === collection && other.verb === verb) !== right)
    fail(right, `there is another right to ${verb} ${collection.plural}: a key has one for each verb and collection.`)
}

/** Rights that keys or persons hold together with the right that is checked. */
export interface HeldRights {
  /** Rights that at least some of these keys or persons hold. */
  readonly possible: readonly Right[]
  /** Rights that all of these keys or persons hold. */
  readonly certain: readonly Right[]
}

/** Checks one right together with the rights that are held with it. @throws RightError */
export function checkRight(right: Right, held: HeldRights, entities: readonly Entity[]): void {
  const { verb } = right
  const contradiction = contradictionOf(rowFiltersOf(right)) ?? contradictionOf(right.becomes ?? [])
  if (contradiction !== null) fail(right, contradiction)
  if (verb === 'create') checkCreate(right)
  if (verb === 'update') {
    const reads = held.certain.filter((other) => other.verb === 'read' && other.collection === right.collection)
    checkUpdate(right)
    checkRules(right, reads)
    checkExpressions(right, reads, held.possible, entities)
  }
  if (verb === 'create' || verb === 'update') checkCopies(right, held, entities)
}

function fail({ text }: Right, message: string): never {
  throw new RightError(`"${excerpt(text)}": ${message}`)
}

/** Checks that the right can create a row: it must be able to set what each row needs, and what its own filters require. */
function checkCreate(right: Right) {
  const { collection: entity, filters } = right
  const settable = settableOf(right)
  const presets = new Set(filters.filter(isPreset).map(({ property }) => property))
  for (const filter of filters) {
    const { property } = filter
    const { name } = checkWritten(right, property, 'A new row is checked before it is stored')
    if (!isPreset(filter) && !settable.has(ownProperty(property)) && !presets.has(ownProperty(property)))
      fail(right, `no new row has a value of ${name}: add it to fields, or set it, as in ${name}=<value>.`)
  }
  for (const filter of filters) {
    const fault = isPreset(filter) && !isOpen(filter) ? presetFault(filter) : null
    if (fault !== null) fail(right, fault)
  }
  const lacking = entity.required.filter((property) => !settable.has(property) && !presets.has(property))
  if (lacking.length === 0) return
  const names = lacking.map(({ name }) => name)
  fail(right, `a row needs ${listed(names, 'and')}: add it to fields, or set it, as in ${names[0]}=<value>.`)
}

/** Returns the reason why a value that a right sets cannot be stored; null if it can be stored. */
export function presetFault({ property: { name, kind, required }, value }: Filter): string | null {
  if (value === null) return required || !kind.nullable ? `${name} cannot be empty: it must be ${kind.allowed}.` : null
  try {
    if (kind.jsonType === 'number') kind.parseJson(new JsonNumber(value))
    else kind.parseJson(kind.jsonType === 'boolean' ? value === 'true' : value)
    return null
  } catch (error) {
    if (error instanceof Mismatch) return `it sets ${name}, which ${error.message}.`
    throw error
  }
}

/** Checks that the statement of an update can decide whether the row matches the right's conditions after the update. */
function checkUpdate(right: Right) {
  const settable = settableOf(right)
  for (const { property } of right.becomes ?? []) {
    const written = checkWritten(right, property, 'A changed row is checked before it is stored')
    if (!settable.has(written)) fail(right, `"becomes" names ${written.name}, which the right cannot set: add it to fields.`)
  }
  for (const { property } of right.filters) {
    const source = sourcesOf(right.collection, property).find((one) => settable.has(one))
    if (source === undefined) continue
    const remedy = `leave ${source.name} out of fields, or ${insteadOf(right.collection, property)}`
    fail(
      right,
      `who changes ${source.name} moves the row out of ${printFilter(right.filters.find((one) => one.property === property) as Filter)}: ${remedy}.`,
    )
  }
}

/**
 * Returns the property on which a condition depends. For a path it is the path's reference, because the rows to which the
 * reference leads are already stored. Refuses a property that clients do not write, because its value is known only when the row
 * is stored.
 */
function checkWritten(right: Right, property: Property, reason: string): Property {
  const written = ownProperty(property)
  if (!written.writable) fail(right, `${reason}, and ${written.name} is read-only: ${insteadOf(right.collection, written)}.`)
  return written
}

/** Returns the writable properties from which a copied or computed property of the entity itself is made. */
function sourcesOf(entity: Entity, property: Property): readonly Property[] {
  const columns = property.writable || property.related ? [] : writableSourcesOf(entity, property)
  return entity.properties.filter(({ column }) => columns.includes(column))
}

/** Returns advice for a filter by a read-only property. */
function insteadOf(entity: Entity, property: Property): string {
  const names = sourcesOf(entity, property).map(({ name }) => name)
  return names.length === 0 ? `leave ${property.name} out` : `filter by ${listed(names, 'or')}`
}

/**
 * Checks rules such as that `End` is not before `Start`. A key that may change one of two values, and cannot read the other,
 * could find out the other by trying.
 */
function checkRules(right: Right, reads: readonly Right[]) {
  const settable = settableOf(right)
  for (const { later, earlier } of right.collection.rules) {
    if (!settable.has(later) && !settable.has(earlier)) continue
    const rule = `${later.name} must not be before ${earlier.name}`
    const pair = `${earlier.name},${later.name}`
    if (hiddenIn(reads, [earlier, later]).length > 0)
      fail(
        right,
        `${rule}, so who may change one must be able to read both: ${toRead(reads, pair)}, or leave both out of fields.`,
      )
    const wider = widerThan(reads, right)
    if (wider)
      fail(
        right,
        `${rule}, so who may change one must be able to read the row: add ${printFilter(wider)}, as in the right to read, or leave both out of fields.`,
      )
  }
}

/**
 * Checks copied properties. A key that may set a reference, and sees the value that is copied along it, can learn this value of
 * every row that the reference may name. So the key needs a right to read the referenced entity or a view of it, and each such
 * right must show the value.
 */
function checkCopies(right: Right, { possible, certain }: HeldRights, entities: readonly Entity[]) {
  const after = right.verb === 'create' ? right.filters : afterUpdate(right)
  for (const property of settableOf(right)) {
    const { reference } = property
    const copy = right.collection.properties.find(({ column }) => column === reference?.copy?.column)
    const referred = entities.find(({ name }) => name === reference?.entity)
    const source = referred?.properties.find(({ column }) => column === reference?.copy?.source)
    if (!copy || !referred || !source || isFixed(property, after)) continue
    const isReader = (other: Right) => other.verb === 'read' && baseOf(other.collection) === referred
    // Each right to read adds rows that the reference may name. Without such a right, the reference may name every row.
    const mayRead = certain.some(isReader) && possible.filter(isReader).every((reader) => isVisible(reader, source))
    const seen = shownBy(right.collection, copy, entities).find((one) => possible.some((other) => shows(other, one)))
    if (seen === undefined || mayRead) continue
    const showing = possible.find((other) => shows(other, seen)) as Right
    const remedy = `give a right to read ${referred.plural} with fields=${source.name}, or leave ${seen.name} out of its rights to ${showing.collection.plural}`
    fail(right, `who sets ${property.name} and sees ${seen.name} learns ${source.name} of all ${referred.plural}: ${remedy}.`)
  }
}

/**
 * Checks properties that an expression computes, such as a display name that shows the first name only if there is no nickname. A
 * key that may set one source, and sees the result, could learn the other sources.
 */
function checkExpressions(right: Right, reads: readonly Right[], possible: readonly Right[], entities: readonly Entity[]) {
  const settable = settableOf(right)
  const { collection: entity } = right
  for (const computed of entity.properties) {
    const sources = sourcesOf(entity, computed)
    const set = sources.find((source) => settable.has(source))
    if (computed.computedBy === null || set === undefined) continue
    const seen = shownBy(entity, computed, entities).find((property) => possible.some((other) => shows(other, property)))
    if (seen === undefined) continue
    const hidden = hiddenIn(
      reads,
      sources.filter((source) => source !== set),
    )
    const wider = widerThan(reads, right)
    if (hidden.length === 0 && wider)
      fail(
        right,
        `who sets ${set.name} and sees ${seen.name} learns of rows that it may not read: add ${printFilter(wider)}, as in the right to read, or leave ${set.name} out of fields.`,
      )
    if (hidden.length === 0) continue
    const names = listed(
      hidden.map(({ name }) => name),
      'and',
    )
    const remedy = `${toRead(reads, hidden.map(({ name }) => name).join())}, or leave ${set.name} out of fields`
    fail(right, `who sets ${set.name} and sees ${seen.name} learns ${names}: ${remedy}.`)
  }
}

/**
 * Returns the properties, in all entities, that reveal a property: the property itself, properties computed from it, and copies
 * of all these.
 */
function shownBy(entity: Entity, property: Property, entities: readonly Entity[]): Property[] {
  const found = new Map([[property, entity]])
  // The loop also visits entries that are added to the map meanwhile.
  for (const [{ column }, owner] of found) {
    for (const computed of owner.properties) if (computed.computedFrom.includes(column)) found.set(computed, owner)
    for (const other of entities)
      for (const { reference } of other.properties) {
        const copy = other.properties.find((one) => one.column === reference?.copy?.column)
        if (copy && reference?.table === owner.table && reference.copy?.source === column) found.set(copy, other)
      }
  }
  return [...found.keys()]
}

/**
 * Returns whether answers depend on the property: the right shows it, or one of the right's filters compares it, directly or by a
 * path.
 */
function shows(right: Right, property: Property): boolean {
  if (rowFiltersOf(right).some((filter) => endOf(filter.property) === property)) return true
  return right.verb === 'read' && right.collection.properties.includes(property) && isVisible(right, property)
}

/** Returns the property to which a path leads. A property that is not a path is returned unchanged. */
function endOf(property: Property): Property {
  return property.related ? endOf(property.related.property) : property
}

/** Returns advice to let the key read properties. */
function toRead(reads: readonly Right[], names: string): string {
  return reads.length === 0 ? `give a right to read with fields=${names}` : `add ${names} to the fields of its right to read`
}

/** Returns the properties that none of the rights shows. */
function hiddenIn(reads: readonly Right[], properties: readonly Property[]): readonly Property[] {
  return properties.filter((property) => !reads.some((read) => isVisible(read, property)))
}

/**
 * Returns a filter that hides rows which `right` can change: a filter of one of the rights to read. Returns undefined if one of
 * these rights shows all rows that `right` can change, or there is no right to read.
 */
function widerThan(reads: readonly Right[], right: Right): Filter | undefined {
  const missing = reads.map((read) => read.filters.find((filter) => !right.filters.some((given) => implies(given, filter))))
  return missing.includes(undefined) ? undefined : missing[0]
}

function isVisible({ properties, collection }: Right, property: Property): boolean {
  return property === collection.id || (properties ?? collection.properties).includes(property)
}

/** Returns whether each row that matches `given` certainly matches `wanted`. */
function implies(given: Filter, wanted: Filter): boolean {
  if (given.property !== wanted.property) return false
  const isSame = given.operator === wanted.operator
  if (isOpen(given) || isOpen(wanted))
    return isSame && isOpen(given) && isOpen(wanted) && given.variable.name === wanted.variable.name
  if (isSame && given.value === wanted.value) return true
  const values = valuesOf(given)
  const admitted = valuesOf(wanted)
  return values !== null && admitted !== null && values.every((value) => admitted.includes(value))
}

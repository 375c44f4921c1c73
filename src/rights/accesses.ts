// Makes accesses from rights: what a key may read and write.
import { shapeOfGuard } from '../compile/guard.ts'
import type {
  Access,
  BodyAccess,
  CreateAccess,
  CreateRight,
  DeleteAccess,
  Guard,
  Right,
  RowConditions,
  RowReach,
  UpdateAccess,
  Verb,
} from '../model/access.ts'
import type { Entity, Property } from '../model/entity.ts'
import { LruCache } from '../model/lruCache.ts'
import { memoize } from '../model/memoize.ts'
import { baseOf, type Collection, filtersOf, isNamedView, type NamedView } from '../model/namedView.ts'
import { equality } from '../model/operators.ts'
import { type Assignments, type Filter, ownProperty, united, unitedText } from '../model/query.ts'
import { NO_PATHS, type RelatedViews, type View, viewOf, wholeView, withProperties } from '../model/view.ts'

/**
 * Returns the rights to a collection with one verb: at most one for a key, perhaps several for a person. Rights to read decide to
 * which rows of the collection a reference may lead.
 */
export type FindRights = (collection: Collection, verb: Verb) => readonly Right[]

/** Returns the filters that the rows of a right match, including the filters of its named view. */
export function rowFiltersOf({ collection, filters }: Right): readonly Filter[] {
  return [...filtersOf(collection), ...filters]
}

/** Returns the properties of an entity that clients write. */
const writableOf = memoize(({ properties }: Entity): ReadonlySet<Property> => new Set(properties.filter((one) => one.writable)))

/**
 * Returns the view of a right to read. It is the view of the whole entity if no right hides anything: neither this right, nor the
 * rights to entities to which references lead.
 */
export function viewOfRight(right: Right, paths: RelatedViews = NO_PATHS): View {
  const { collection, filters, properties } = right
  if (isOfWhole(right) && paths.relatedText === '') return wholeView(collection)
  const visible = new Set(properties ?? collection.properties)
  return viewOf(collection, visible, filters, textOfView(right), paths, textOfView(right, signedTextOf(right)))
}

/**
 * Unites rights to read one collection: the united right admits each row that at least one of them admits. Returns undefined if
 * there are no rights. @throws Error if the rights show different properties, because the properties would then differ by row
 */
export function uniteReads(rights: readonly Right[]): Right | undefined {
  const [first, ...others] = rights
  if (!first || others.length === 0) return first
  const { collection } = first
  if (!others.every((right) => hasSameFields(right, first)))
    throw new Error(`rights to read ${collection.plural} show different properties`)
  const whole = rights.find(({ filters }) => filters.length === 0)
  if (whole) return whole
  const filters = united(
    baseOf(collection),
    rights.map((right) => right.filters),
  )
  const text = unitedText(rights.map((right) => right.text))
  const signedText = unitedText(rights.map(signedTextOf))
  return { ...first, filters, text, ...(signedText !== text && { signedText }) }
}

/** Returns whether two rights to read a collection show the same properties. */
export function hasSameFields({ collection, properties: one }: Right, { properties: other }: Right): boolean {
  return new Set(one ?? collection.properties).symmetricDifference(new Set(other ?? collection.properties)).size === 0
}

/**
 * Maximum views that are kept for one right. A view also depends on the rights to entities to which references lead, and these
 * rights may change while this right stays the same.
 */
const VIEWS_MAX = 100

/**
 * Returns the cache of a right's views. A cache key has the texts of the rights to entities to which references lead. API keys
 * whose rights have the same texts share a view.
 */
const viewsOfRight = memoize((_: Right) => new LruCache<View>(2 * VIEWS_MAX, () => 1))

/** Returns whether a right covers all rows and properties of an entity. */
function isOfWhole({ collection, filters, properties }: Right): boolean {
  if (isNamedView(collection) || filters.length > 0) return false
  return properties === null || properties.length === collection.properties.length
}

/**
 * Returns a text that identifies what a right to read shows; '' if it shows all of an entity. The text includes the definition of
 * a named view, because the definition can change with a restart.
 */
function textOfView(right: Right, text = right.text): string {
  if (isOfWhole(right)) return ''
  return isNamedView(right.collection) ? `${right.collection.text}\n${text}` : text
}

/** Returns the text of a right with `{today}` and `{now}` in place of their values. */
export function signedTextOf({ text, signedText = text }: Right): string {
  return signedText
}

/** Views of the entities and named views that a key may read. Paths lead from one view to the next. */
export class ReadViews {
  private readonly views = new Map<string, View | null>()

  /** `find`: returns the key's right to read an entity or a named view; undefined if it has none. */
  constructor(private readonly find: (collection: Collection) => Right | undefined) {}

  /** Returns the view of an entity or of a named view, always the same object; null if the key may not read it. */
  readonly of = (collection: Collection): View | null =>
    this.views.getOrInsertComputed(collection.name, () => {
      const right = this.find(collection)
      if (!right) return null
      const texts = this.relatedTexts(collection)
      const views = viewsOfRight(right)
      const key = `${texts.relatedText}\n\n${texts.relatedSignedText}`
      const known = views.get(key)
      if (known) return known
      const related = ({ reference }: Property) => (reference?.target ? this.of(reference.target) : null)
      const view = viewOfRight(right, { related, ...texts })
      views.set(key, view)
      return view
    })

  /**
   * Returns the texts of the rights on which paths from this collection depend. A path ends at an entity that the key may not
   * read.
   */
  private relatedTexts(from: Collection): Pick<RelatedViews, 'relatedText' | 'relatedSignedText'> {
    const texts = new Map<Entity, readonly [text: string, signedText: string]>()
    const add = ({ properties }: Entity) => {
      for (const { reference } of properties) {
        const target = reference?.target
        if (!target || texts.has(target)) continue
        const right = this.find(target)
        const none = `-${target.plural}`
        texts.set(target, right ? [textOfView(right), textOfView(right, signedTextOf(right))] : [none, none])
        if (right) add(target)
      }
    }
    add(from)
    const joined = (at: 0 | 1) =>
      [...texts.values()]
        .map((both) => both[at])
        .filter((text) => text !== '')
        .join('\n')
    return { relatedText: joined(0), relatedSignedText: joined(1) }
  }
}

/** Returns the access to a whole entity by a right to read it, a right to write it, both rights, or none. */
export function wholeAccess(whole: Entity, mayRead: boolean, mayWrite: boolean): Access {
  return wholeAccesses(whole)[`${mayRead}/${mayWrite}`]
}

const wholeAccesses = memoize((whole: Entity) => {
  const settable = writableOf(whole)
  const body = { body: whole, settable }
  const reach = { filters: [], becomes: null, text: '', signedText: '' }
  const read = { read: wholeView(whole) }
  const write = {
    create: { ...body, rights: [{ settable, presets: new Map(), guard: null }] },
    update: { ...body, rights: [{ settable, reach }], isComplete: true, guardOf: () => null },
    delete: { guard: null, reaches: [reach] },
  }
  const none = { whole, read: null, create: null, update: null, delete: null }
  return {
    'false/false': none,
    'true/false': { ...none, ...read },
    'false/true': { ...none, ...write },
    'true/true': { ...none, ...read, ...write },
  } satisfies Record<`${boolean}/${boolean}`, Access>
})

/**
 * Returns an access without writes, such as the access to a named view. `read`: null if the collection may not be read either.
 */
export function readAccess(collection: Collection, read: View | null): Access {
  return { whole: baseOf(collection), read, create: null, update: null, delete: null }
}

/**
 * Returns the access that rights give to an entity. `read`: the view of the entity. `entities` and `views`: all entities and
 * named views of the server, because references may name rows of them.
 */
export function accessOf(
  whole: Entity,
  read: View | null,
  find: FindRights,
  entities: readonly Entity[],
  views: readonly NamedView[],
): Access {
  const parts: Parts = { whole, read, find, entities, views }
  const create = find(whole, 'create')
  const update = find(whole, 'update')
  const remove = find(whole, 'delete')
  return {
    whole,
    read,
    create: create.length > 0 ? createAccess(parts, create) : null,
    update: update.length > 0 ? updateAccess(parts, update) : null,
    delete: remove.length > 0 ? deleteAccess(parts, remove) : null,
  }
}

interface Parts {
  readonly whole: Entity
  readonly read: View | null
  readonly find: FindRights
  readonly entities: readonly Entity[]
  readonly views: readonly NamedView[]
}

function createAccess(parts: Parts, rights: readonly Right[]): CreateAccess {
  return bodyOf(
    parts,
    rights.map((right) => createRight(parts, right)),
  )
}

function createRight(parts: Parts, right: Right): CreateRight {
  const settable = settableOf(right)
  // A value that only the right sets, and not the key, needs no check.
  const after = right.filters.filter((filter) => !isPreset(filter) || settable.has(filter.property))
  const guard = guardOf(parts, [{ before: [], after }], references(parts, [{ settable, fixed: right.filters }]))
  return { settable, presets: presetsOf(right), guard }
}

/**
 * Maximum guards that are kept for updates by several rights. The properties that a body sets decide which rights apply, and each
 * such set of rights has its own guard.
 */
const GUARDS_MAX = 64

function updateAccess(parts: Parts, rights: readonly Right[]): UpdateAccess {
  const writes = rights.map((right) => ({
    right,
    settable: settableOf(right),
    fixed: afterUpdate(right),
    reach: reachOf(right),
  }))
  const make = (able: typeof writes) => {
    const pairs = able.map(({ right, fixed }): RowConditions => ({ before: right.filters, after: fixed }))
    return { guard: guardOf(parts, pairs, references(parts, able)) }
  }
  const all = make(writes)
  const ofSome = new LruCache<typeof all>(2 * GUARDS_MAX, () => 1)
  const guardOfSome = (changed: readonly Property[]) => {
    const able = writes.filter(({ settable }) => changed.every((property) => settable.has(property)))
    if (able.length === 0) throw new Error('no right lets a key set all of this')
    const key = able.map((write) => writes.indexOf(write)).join()
    const known = ofSome.get(key)
    if (known) return known.guard
    const made = make(able)
    ofSome.set(key, made)
    return made.guard
  }
  return {
    ...bodyOf(parts, writes),
    isComplete: writes.some(({ settable }) => settable.size === writableOf(parts.whole).size),
    guardOf: (changed) => (writes.length === 1 ? all.guard : guardOfSome([...changed])),
  }
}

function deleteAccess(parts: Parts, rights: readonly Right[]): DeleteAccess {
  const pairs = rights.map(({ filters }): RowConditions => ({ before: filters, after: [] }))
  // A right without filters reaches every row, even a row that the key cannot read.
  const guard = pairs.some(({ before }) => before.length === 0) ? null : guardOf(parts, pairs, new Map())
  return { guard, reaches: rights.map(reachOf) }
}

function reachOf(right: Right): RowReach {
  return { filters: right.filters, becomes: right.becomes, text: right.text, signedText: signedTextOf(right) }
}

/** Returns the values that a right to create sets: the values of its `=` filters. */
function presetsOf({ filters }: Right): Assignments {
  return new Map(filters.filter(isPreset).map(({ property, value }) => [property, value]))
}

/**
 * Returns whether a filter of a right to create sets its property. A filter by a path does not: it only checks the row that a
 * reference names.
 */
export function isPreset({ property, operator }: Filter): boolean {
  return operator === equality && property.related === null
}

/** Returns the properties that a right to create or update lets a key set. */
export function settableOf({ collection, properties }: Right): ReadonlySet<Property> {
  return properties === null ? writableOf(collection) : new Set(properties)
}

/**
 * Returns the conditions that a row must meet after an update. These are the filters of `becomes` and some of the right's own
 * filters. An own filter counts if the key may set its property, and `becomes` does not name the property. A key may set the
 * property of a path if it may set the path's reference.
 */
export function afterUpdate(right: Right): readonly Filter[] {
  const becomes = right.becomes ?? []
  const settable = settableOf(right)
  const named = new Set(becomes.map(({ property }) => property))
  const isLeft = ({ property }: Filter) => settable.has(ownProperty(property)) && !named.has(property)
  return [...becomes, ...right.filters.filter(isLeft)]
}

function bodyOf<Write extends { readonly settable: ReadonlySet<Property> }>(
  { whole, read }: Parts,
  rights: readonly Write[],
): BodyAccess & { readonly rights: readonly Write[] } {
  const [first, ...others] = rights.map(({ settable }) => settable)
  const settable = others.reduce((all, one) => all.union(one), first as ReadonlySet<Property>)
  const known = settable.union(new Set(read?.properties)).add(whole.id)
  // If there is nothing to leave out, the body is the entity itself, whose parsers are kept.
  const body = known.size === whole.properties.length ? whole : withProperties(whole, known)
  return { body, settable, rights }
}

/** Properties that a right lets a key set, and the filters that a row matches after the write (`fixed`). */
interface Settable {
  readonly settable: ReadonlySet<Property>
  readonly fixed: readonly Filter[]
}

/**
 * Returns for each reference the filters that the referenced row must match: the filters of the rights to read the row. A
 * reference is left out if each right to set it leaves only one value (`fixed`), because this value may name any row. If only
 * some of these rights do so, the reference may also name the rows that their values name.
 */
function references(parts: Parts, rights: readonly Settable[]): Guard['references'] {
  const found = new Map<Property, readonly Filter[]>()
  for (const property of new Set(rights.flatMap(({ settable }) => [...settable]))) {
    const referred = property.reference && parts.entities.find(({ name }) => name === property.reference?.entity)
    const readable = referred ? readableIn(referred, parts) : []
    if (!referred || readable.length === 0) continue
    const own = rights.filter(({ settable }) => settable.has(property))
    const fixed = own.flatMap(({ fixed }) => fixed.find((filter) => fixes(filter, property)) ?? [])
    if (fixed.length === own.length) continue
    const named = fixed.flatMap(({ operator, value }) => (value === null ? [] : [[{ property: referred.id, operator, value }]]))
    const filters = united(referred, [...readable, ...named])
    if (filters.length > 0) found.set(property, filters)
  }
  return found
}

/**
 * Returns the filters of each right to read an entity, or a named view of it. An empty array means that there is no such right,
 * so that a reference may name any row. D105
 */
function readableIn(entity: Entity, { find, views }: Parts): (readonly Filter[])[] {
  const collections = [entity, ...views.filter(({ base }) => base.name === entity.name)]
  return collections.flatMap((collection) => find(collection, 'read').map(rowFiltersOf))
}

/** Returns whether the filters leave only one value for the property. */
export function isFixed(property: Property, filters: readonly Filter[]): boolean {
  return filters.some((filter) => fixes(filter, property))
}

function fixes(filter: Filter, property: Property): boolean {
  return filter.property === property && filter.operator === equality
}

/** Returns a guard; null if there is nothing to check. */
function guardOf({ read }: Parts, pairs: readonly RowConditions[], references: Guard['references']): Guard | null {
  const readable = read?.filters ?? null
  // If one right admits every row, the other rights admit nothing more.
  const unconditional = pairs.find(({ before, after }) => before.length === 0 && after.length === 0)
  if (unconditional && references.size === 0 && (readable ?? []).length === 0) return null
  const guard = { pairs: unconditional ? [unconditional] : pairs, references, readable }
  return { ...guard, shape: shapeOfGuard(guard) }
}

// Accesses: what rights let a key read and write.
import { shapeOf } from '../compile/parts.ts'
import type { Access, CreateAccess, DeleteAccess, Guard, Right, RowConditions, UpdateAccess, Verb } from '../model/access.ts'
import type { Entity, Property } from '../model/entity.ts'
import { LruCache } from '../model/lruCache.ts'
import { memoize } from '../model/memoize.ts'
import { type Collection, filtersOf, isNamedView, type NamedView } from '../model/namedView.ts'
import { equality } from '../model/operators.ts'
import { type Assignments, type Filter, ownProperty, united } from '../model/query.ts'
import { NO_PATHS, type RelatedViews, type View, viewOf, wholeView, withProperties } from '../model/view.ts'

/** The right of a key to one verb; undefined: it has none. */
export type FindRight = (collection: Collection, verb: Verb) => Right | undefined

/** Conditions of the rows that a right is about, with those of its named view. */
export function rowFiltersOf({ entity, filters }: Right): readonly Filter[] {
  return [...filtersOf(entity), ...filters]
}

/** Properties of an entity that clients write. */
const writableOf = memoize(({ properties }: Entity): ReadonlySet<Property> => new Set(properties.filter((one) => one.writable)))

/** Returns the view of a right to read. With nothing to narrow, here or behind its references, it is that of the whole entity. */
export function viewOfRight(right: Right, paths: RelatedViews = NO_PATHS): View {
  const { entity, filters, properties } = right
  if (isOfWhole(right) && paths.relatedText === '') return wholeView(entity)
  const visible = new Set(properties ?? entity.properties)
  return viewOf(entity, visible, filters, textOfView(right), paths, textOfView(right, signedTextOf(right)))
}

/** Maximum views of one right that are kept: rights of others come and go, while this one stays. */
const VIEWS_MAX = 100

/** Views of a right, by the text of those behind its references: keys with the same ones share them. */
const viewsOfRight = memoize((_: Right) => new LruCache<View>(2 * VIEWS_MAX, () => 1))

/** Returns whether a right is to all rows and properties of an entity. */
function isOfWhole({ entity, filters, properties }: Right): boolean {
  if (isNamedView(entity) || filters.length > 0) return false
  return properties === null || properties.length === entity.properties.length
}

/** Text of what a right to read shows, with the definition of its named view, which may be another after a restart. */
function textOfView(right: Right, text = right.text): string {
  if (isOfWhole(right)) return ''
  return isNamedView(right.entity) ? `${right.entity.text}\n${text}` : text
}

/** Text of a right with the names of `{today}` and `{now}`. */
export function signedTextOf({ text, signedText = text }: Right): string {
  return signedText
}

/** The views of the entities that a key may read. Paths lead from one to the next. */
export class ReadViews {
  private readonly views = new Map<string, View | null>()

  /** `find`: the right of the key to read an entity or a named view. */
  constructor(private readonly find: (collection: Collection) => Right | undefined) {}

  /** Returns the view of an entity or of a named view, always the same object; null: the key may not read it. */
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

  /** Names the rights on which paths depend. They end at an entity that the key may not read. */
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

/** Access to the whole entity: to read it, to write it, to do both or nothing. */
export function wholeAccess(whole: Entity, mayRead: boolean, mayWrite: boolean): Access {
  return wholeAccesses(whole)[`${mayRead}/${mayWrite}`]
}

const wholeAccesses = memoize((whole: Entity) => {
  const settable = writableOf(whole)
  const body = { body: whole, settable, guard: null }
  const read = { read: wholeView(whole) }
  const write = { create: { ...body, presets: new Map() }, update: { ...body, isComplete: true }, delete: { guard: null } }
  const none = { whole, read: null, create: null, update: null, delete: null }
  return {
    'false/false': none,
    'true/false': { ...none, ...read },
    'false/true': { ...none, ...write },
    'true/true': { ...none, ...read, ...write },
  } satisfies Record<`${boolean}/${boolean}`, Access>
})

/** Access to a named view, which is only read. */
export function readAccess(view: NamedView, read: View | null): Access {
  return { whole: view.base, read, create: null, update: null, delete: null }
}

/**
 * Makes the access that the rights of a key give to an entity. `read`: its view; `entities` and `views`: all, to find those whose
 * rows references may name.
 */
export function accessOf(
  whole: Entity,
  read: View | null,
  find: FindRight,
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
    create: create ? createAccess(parts, create) : null,
    update: update ? updateAccess(parts, update) : null,
    delete: remove ? deleteAccess(parts, remove) : null,
  }
}

interface Parts {
  readonly whole: Entity
  readonly read: View | null
  readonly find: FindRight
  readonly entities: readonly Entity[]
  readonly views: readonly NamedView[]
}

function createAccess(parts: Parts, right: Right): CreateAccess {
  const presets = presetsOf(right)
  const settable = settableOf(right)
  // A value that only the right can set needs no check.
  const after = right.filters.filter((filter) => !isPreset(filter) || settable.has(filter.property))
  const guard = guardOf(parts, { before: [], after }, references(parts, settable, right.filters))
  return { ...bodyOf(parts, right), presets, guard }
}

function updateAccess(parts: Parts, right: Right): UpdateAccess {
  const settable = settableOf(right)
  const after = afterUpdate(right)
  const guard = guardOf(parts, { before: right.filters, after }, references(parts, settable, after))
  return { ...bodyOf(parts, right), isComplete: settable.size === writableOf(parts.whole).size, guard }
}

function deleteAccess(parts: Parts, { filters }: Right): DeleteAccess {
  // Without filters every row is within reach, whether it may be read or not.
  return { guard: filters.length === 0 ? null : guardOf(parts, { before: filters, after: [] }, new Map()) }
}

/** Values that a right to create sets: those of its `=` filters. */
export function presetsOf({ filters }: Right): Assignments {
  return new Map(filters.filter(isPreset).map(({ property, value }) => [property, value]))
}

/** Returns whether a filter of a right to create sets its property. One by a path only checks the row that a reference names. */
export function isPreset({ property, operator }: Filter): boolean {
  return operator === equality && property.related === null
}

/** Properties that a right to create or update lets a key set. */
export function settableOf({ entity, properties }: Right): ReadonlySet<Property> {
  return properties === null ? writableOf(entity) : new Set(properties)
}

/**
 * Conditions of a row after an update: `becomes`, and the filters by other properties that the right lets a key set, or by paths
 * that begin with these.
 */
export function afterUpdate(right: Right): readonly Filter[] {
  const becomes = right.becomes ?? []
  const settable = settableOf(right)
  const named = new Set(becomes.map(({ property }) => property))
  const isLeft = ({ property }: Filter) => settable.has(ownProperty(property)) && !named.has(property)
  return [...becomes, ...right.filters.filter(isLeft)]
}

function bodyOf({ whole, read }: Parts, right: Right): Pick<UpdateAccess, 'body' | 'settable'> {
  const settable = settableOf(right)
  const known = settable.union(new Set(read?.properties)).add(whole.id)
  // With nothing to leave out it is the entity itself, whose parsers are kept.
  const body = known.size === whole.properties.length ? whole : withProperties(whole, known)
  return { body, settable }
}

/** Filters of the rights to read what is referred to. A reference that the right itself sets (`fixed`) may name any row. */
function references(parts: Parts, settable: ReadonlySet<Property>, fixed: readonly Filter[]): Guard['references'] {
  const filters = new Map<Property, readonly Filter[]>()
  for (const property of settable) {
    const referred = property.reference && parts.entities.find(({ name }) => name === property.reference?.entity)
    const readable = referred ? readableIn(referred, parts) : []
    if (readable.length > 0 && !isFixed(property, fixed)) filters.set(property, readable)
  }
  return filters
}

/**
 * Filters of the rows that the key may read in an entity or in a view of it. None: it may read all; or it has no right to any of
 * these, so that they narrow nothing. D105
 */
function readableIn(entity: Entity, { find, views }: Parts): readonly Filter[] {
  const collections = [entity, ...views.filter(({ base }) => base.name === entity.name)]
  const alternatives = collections.flatMap((collection) => {
    const right = find(collection, 'read')
    return right ? [rowFiltersOf(right)] : []
  })
  return alternatives.length === 0 ? [] : united(entity, alternatives)
}

/** Returns whether the filters leave the property one value. */
export function isFixed(property: Property, filters: readonly Filter[]): boolean {
  return filters.some((filter) => filter.property === property && filter.operator === equality)
}

/** Makes a guard; null if there is nothing to check. */
function guardOf({ read }: Parts, pair: RowConditions, references: Guard['references']): Guard | null {
  const readable = read?.filters ?? null
  const conditions = [pair.before, pair.after, ...references.values(), readable ?? []]
  if (conditions.every((filters) => filters.length === 0)) return null
  const referred = [...references].map(([{ column }, filters]) => ` ${column}:${shapeOf(filters)}`).join('')
  const shape = `${shapeOf(pair.before)}>${shapeOf(pair.after)}|${referred}|${readable ? shapeOf(readable) : '-'}`
  return { pairs: [pair], references, readable, shape }
}

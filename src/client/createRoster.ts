import type { Declared } from '../model/entity.ts'
import type { Field, FieldGroup, Fields } from '../model/fields.ts'
import type { Kind, KindName } from '../model/kinds.ts'
import type { OneOfKind } from '../model/oneOfKind.ts'
import { changesOf, type RosterChanges } from './changes.ts'
import { collectionAt, type RosterCollection } from './collection.ts'
import { connect, type RosterOptions } from './connection.ts'
import type { RosterEqual, RosterOrdered, RosterSorted } from './query.ts'

// What the generated client spells out follows here from the declarations, by their types alone.

/** What values are in JSON, by the names of their kinds. */
interface Read {
  text: string
  boolean: boolean
  oneOf: string
  integer: number
  date: string
  instant: string
  decimal: number
}

/** What is taken for them when they are written or compared with. */
interface Taken extends Omit<Read, 'instant'> {
  instant: string | Date
}

type Value<Of, Values extends Record<KindName, unknown>> =
  Of extends Field<OneOfKind<infer Value, infer Nullable>>
    ? Value | (true extends Nullable ? null : never)
    : OfKind<Of, Values>

type OfKind<Of, Values extends Record<KindName, unknown>> =
  Of extends Field<Kind<infer Name, infer Nullable>> ? Values[Name] | (true extends Nullable ? null : never) : never

/** The names of the fields that clients write, objects among them. */
type Writable<Of> = { [Name in keyof Of]: Of[Name] extends Field<Kind, true> ? never : Name }[keyof Of]

type RowFrom<Of> = {
  [Name in keyof Of]: Of[Name] extends FieldGroup<infer Parts> ? RowFrom<Parts> | null : Value<Of[Name], Read>
}

type WriteFrom<Of> = {
  [Name in Writable<Of>]?: Of[Name] extends FieldGroup<infer Parts> ? WriteFrom<Parts> | null : Value<Of[Name], Taken>
}

/** How filters and sorts name properties: `start`, `period.days`. */
type Path<Of> = {
  [Name in keyof Of & string]: Of[Name] extends FieldGroup<infer Parts> ? `${Name}.${keyof Parts & string}` : Name
}[keyof Of & string]

type FieldAt<Of, Name> = Name extends keyof Of
  ? Of[Name]
  : Name extends `${infer Outer}.${infer Part}`
    ? Of extends Readonly<Record<Outer, FieldGroup<infer Parts>>>
      ? Part extends keyof Parts
        ? Parts[Part]
        : never
      : never
    : never

type Test<Of> =
  Of extends Field<Kind<infer Name, boolean>>
    ? Name extends 'boolean'
      ? RosterEqual<boolean>
      : RosterOrdered<NonNullable<Value<Of, Taken>>>
    : never

type FieldsOf<Entity> = Entity extends Declared<infer Of extends Fields> ? Of : never

/** A row of the entity as the server answers it. */
export type RowOf<Entity> = RowFrom<FieldsOf<Entity>>
/** What clients write of it. */
export type WriteOf<Entity> = WriteFrom<FieldsOf<Entity>>
/** What its lists filter by. */
export type FilterOf<Entity> = { [Name in Path<FieldsOf<Entity>>]?: Test<FieldAt<FieldsOf<Entity>, Name>> }
/** What its lists sort by. */
export type SortOf<Entity> = RosterSorted<Path<FieldsOf<Entity>>>

/** What rows of it can be asked for: properties, objects, their parts. */
export type FieldOf<Entity> = Path<FieldsOf<Entity>> | (keyof FieldsOf<Entity> & string)

/** A client of a server that has these entities, each under its plural: `absences`. */
export type RosterOf<Entities> = {
  readonly [Plural in keyof Entities]: RosterCollection<
    RowOf<Entities[Plural]>,
    WriteOf<Entities[Plural]>,
    FilterOf<Entities[Plural]>,
    SortOf<Entities[Plural]>,
    FieldOf<Entities[Plural]>
  >
} & { readonly changes: RosterChanges<Capitalize<keyof Entities & string>> }

/**
 * A client typed by declarations, for programs that can import them: `createRoster<{ absences: typeof absence }>(...)`.
 * All others take the file that `roster generate client` prints. @throws TypeError when address or key can be none
 */
export function createRoster<Entities extends Readonly<Record<string, Declared>>>(
  options: RosterOptions,
): RosterOf<Entities> {
  const connection = connect(options)
  const collections = new Map<string, unknown>([['changes', changesOf(connection)]])
  const find = (_: object, plural: string | symbol) => {
    if (typeof plural === 'symbol') return undefined
    let collection = collections.get(plural)
    if (!collection) collections.set(plural, (collection = collectionAt(connection, `/${encodeURIComponent(plural)}`)))
    return collection
  }
  // Types alone know which entities there are; the server finds their names in any case.
  return new Proxy({}, { get: find }) as RosterOf<Entities>
}

// What a key may do with an entity: the view that it reads, and for each kind of write its properties and conditions.
import type { Entity, Property } from './entity.ts'
import type { Collection } from './namedView.ts'
import type { Assignments, Filter } from './query.ts'
import type { View } from './view.ts'

export type Verb = 'read' | 'create' | 'update' | 'delete'

export const VERBS: readonly Verb[] = ['read', 'create', 'update', 'delete']

/** Access of a key to one entity, or to a named view, which is only read. Null: it may do nothing of that kind. */
export interface Access {
  /** The entity; for a named view, the entity whose rows it shows. */
  readonly whole: Entity
  readonly read: View | null
  readonly create: CreateAccess | null
  readonly update: UpdateAccess | null
  readonly delete: DeleteAccess | null
}

/** One right to create or update. */
export interface WriteRight {
  /** Writable properties that it lets a key set. */
  readonly settable: ReadonlySet<Property>
}

/** Rows that a right to update or delete admits. */
export interface RowReach {
  /** Conditions of a row before the write. */
  readonly filters: readonly Filter[]
  /** Conditions of a row after an update; null: the right has no `becomes`. */
  readonly becomes: readonly Filter[] | null
  /** Text of the right; '' for one to the whole entity. */
  readonly text: string
  /** The text with the names of `{today}` and `{now}` in place of their values. */
  readonly signedText: string
}

/** Properties that a body may name. */
export interface BodyAccess {
  /** The entity with the properties that the key may set or read: others do not exist for it. */
  readonly body: Entity
  /** Writable properties that the key may set. */
  readonly settable: ReadonlySet<Property>
  /** The rights to this verb, in their order: one of them must let the key set all properties that a write sets. */
  readonly rights: readonly WriteRight[]
}

export interface CreateAccess extends BodyAccess {
  /** A create takes the first that lets the key set what the body sets. */
  readonly rights: readonly CreateRight[]
}

export interface CreateRight extends WriteRight {
  /** Values that the right sets where the body does not, before the defaults of the kinds. */
  readonly presets: Assignments
  /** Null: every row may be created, and every created row may be read. */
  readonly guard: Guard | null
}

interface UpdateRight extends WriteRight {
  readonly reach: RowReach
}

export interface UpdateAccess extends BodyAccess {
  readonly rights: readonly UpdateRight[]
  /** True if one right lets the key set all writable properties, which PUT needs. */
  readonly isComplete: boolean
  /** Returns the guard of an update that sets these properties. Null: every row may be updated so, and read. */
  guardOf(changed: Iterable<Property>): Guard | null
}

export interface DeleteAccess {
  readonly guard: Guard | null
  /** The rows that each right admits. */
  readonly reaches: readonly RowReach[]
}

/** Conditions of a write, which its statement checks while it holds the lock of the row. */
export interface Guard {
  /** The row must match both parts of one of these. */
  readonly pairs: readonly RowConditions[]
  /** By reference, the filters of the key's right to read the referred entity, if it has any: the referred row must match. */
  readonly references: ReadonlyMap<Property, readonly Filter[]>
  /** Filters of the right to read the entity, which decide whether the answer is the row or its id; null: it is the id. */
  readonly readable: readonly Filter[] | null
  /** Names the guard in caches of statements: equal for guards that compile to the same SQL, whatever their values. */
  readonly shape: string
}

/** Conditions of a row before a write, and after it. A created row has no before, a deleted one no after. */
export interface RowConditions {
  readonly before: readonly Filter[]
  readonly after: readonly Filter[]
}

/** The rights of a key or a person to all entities: the same object for keys whose rights have the same text. */
export interface GrantedRights {
  /** Returns the access to an entity or a named view. */
  accessTo(collection: Collection): Access
  /** Text of the rights, one per line, as `keys list` prints them. */
  readonly text: string
  /** The text with the names of `{today}` and `{now}` in place of their values: it stays the same while the rights do. */
  readonly signedText: string
  /** The rights as data, in the order of their text, for `GET /Rights`. */
  readonly rights: readonly Right[]
  /** The roles that give a person her rights. Rights of keys have no origin. */
  readonly origins: ReadonlyMap<Right, Origin>
  /** Why the rights do not fit the entities any more, so that the key has none; null: they do. */
  readonly fault: string | null
  /** Message of 403 at any path, for a person who has no right at all and learns of no path; null: for others, and for keys. */
  readonly refusalOfAll: string | null
  /** Message of 403 for a verb that the key has no right to. */
  refusal(collection: Collection, verb: Verb): string
}

/** The role that gives a person a right, and the right as the roles file has it. */
export interface Origin {
  readonly role: string
  /** Text of the right with its variables: `read Absences?EmployeeId={me.Id}`. */
  readonly template: string
}

/** Origins of rights that no role gives. */
export const NO_ORIGINS: ReadonlyMap<Right, Origin> = new Map()

/** One right: a verb, and the address of a list. */
export interface Right {
  readonly verb: Verb
  /** An entity, or a named view, which is only read. */
  readonly collection: Collection
  /** Conditions before the write, or of the rows that are read. */
  readonly filters: readonly Filter[]
  /** Properties that are seen or set; null: all. */
  readonly properties: readonly Property[] | null
  /** Conditions after an update; null: the right has no `becomes`. */
  readonly becomes: readonly Filter[] | null
  /** The right in canonical form, as it is stored. */
  readonly text: string
  /** The text with the names of `{today}` and `{now}` in place of their values; undefined: it has none of them. */
  readonly signedText?: string
}

// Access of a key to an entity: the view that the key reads, and the properties and conditions of each kind of write.
import type { Entity, Property } from './entity.ts'
import type { Collection } from './namedView.ts'
import type { Assignments, Filter } from './query.ts'
import type { View } from './view.ts'

export type Verb = 'read' | 'create' | 'update' | 'delete'

export const VERBS: readonly Verb[] = ['read', 'create', 'update', 'delete']

/**
 * Access of a key to one entity, or to a named view, which can only be read. Each verb has a field, which is null if the key has
 * no right to the verb.
 */
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
  /** Writable properties that the right lets a key set. */
  readonly settable: ReadonlySet<Property>
}

/** Rows that a right to update or delete admits. */
export interface RowReach {
  /** Conditions that a row must meet before the write. */
  readonly filters: readonly Filter[]
  /** Conditions that a row must meet after an update; null: the right has no `becomes`. */
  readonly becomes: readonly Filter[] | null
  /** Text of the right; '' for a right to the whole entity. */
  readonly text: string
  /** `text`, but with the variables `{today}` and `{now}` instead of their values. */
  readonly signedText: string
}

/** Properties that a body may name. */
export interface BodyAccess {
  /** The entity with only the properties that the key may set or read. */
  readonly body: Entity
  /** Writable properties that the key may set. */
  readonly settable: ReadonlySet<Property>
  /**
   * The key's rights to create or to update, in the order of `GrantedRights.rights`. One right must let the key set all
   * properties that a write sets.
   */
  readonly rights: readonly WriteRight[]
}

export interface CreateAccess extends BodyAccess {
  /** A create uses the first right that lets the key set every property of the body. */
  readonly rights: readonly CreateRight[]
}

export interface CreateRight extends WriteRight {
  /** Values of properties that the body leaves out. They take precedence over the defaults of the kinds. */
  readonly presets: Assignments
  /** Conditions of a created row. Null: the key may create and read every row. */
  readonly guard: Guard | null
}

interface UpdateRight extends WriteRight {
  readonly reach: RowReach
}

export interface UpdateAccess extends BodyAccess {
  readonly rights: readonly UpdateRight[]
  /** True if one right lets the key set all writable properties, which PUT needs. */
  readonly isComplete: boolean
  /**
   * Returns the guard of an update that sets these properties. Returns null if the key may read every row, and set the properties
   * in every row.
   */
  guardOf(changed: Iterable<Property>): Guard | null
}

export interface DeleteAccess {
  readonly guard: Guard | null
  /** The rows that each right admits. */
  readonly reaches: readonly RowReach[]
}

/** Conditions of a write. The statement of the write checks the conditions while it holds the lock of the row. */
export interface Guard {
  /** Alternatives: the row must meet all conditions of at least one pair. */
  readonly pairs: readonly RowConditions[]
  /**
   * For each reference, the filters that the referred row must match. They follow from the key's rights to read the referred
   * entity. A reference without an entry may name any row.
   */
  readonly references: ReadonlyMap<Property, readonly Filter[]>
  /**
   * Filters of the right to read the entity. A write answers with the row if the row matches the filters, else only with its id.
   * Null: the key has no right to read, so each write answers with the id.
   */
  readonly readable: readonly Filter[] | null
  /** Key of the guard in caches of statements: guards that compile to the same SQL have the same key, whatever their values. */
  readonly shape: string
}

/** Conditions of a row before a write, and after it. `before` is empty for a create, `after` for a deletion. */
export interface RowConditions {
  readonly before: readonly Filter[]
  readonly after: readonly Filter[]
}

/** The rights of a key or a person to all entities: the same object for keys whose rights have the same text. */
export interface GrantedRights {
  /** Returns the access to an entity or a named view. */
  accessTo(collection: Collection): Access
  /** Text of the rights, one right per line, as `keys list` prints them. */
  readonly text: string
  /** `text`, but with the variables `{today}` and `{now}` instead of their values, so that it does not change with the time. */
  readonly signedText: string
  /** The rights as data, in the order of their text, for `GET /Rights`. */
  readonly rights: readonly Right[]
  /** The roles that give a person her rights. Rights of keys have no origin. */
  readonly origins: ReadonlyMap<Right, Origin>
  /** Reason why the rights no longer fit the entities; then the key has no rights. Null: they fit. */
  readonly fault: string | null
  /**
   * Message of the 403 that a person without any right gets at every path, so that she learns of no path. Null for keys, and for
   * persons who have a right.
   */
  readonly refusalOfAll: string | null
  /** Returns the message of the 403 for a verb that the key has no right to. */
  refusal(collection: Collection, verb: Verb): string
}

/** The role that gives a person a right, and the right as the roles file has it. */
export interface Origin {
  readonly role: string
  /** Text of the right with its variables: `read Absences?EmployeeId={me.Id}`. */
  readonly template: string
}

/** Empty map of origins, for rights that no role gives. */
export const NO_ORIGINS: ReadonlyMap<Right, Origin> = new Map()

/** One right: a verb, and the address of a list. */
export interface Right {
  readonly verb: Verb
  /** An entity; or a named view, for which the verb is always `read`. */
  readonly collection: Collection
  /** Conditions of a row before the write, or of the rows that may be read. */
  readonly filters: readonly Filter[]
  /** Properties that the key may read or set; null: all. */
  readonly properties: readonly Property[] | null
  /** Conditions of a row after an update; null: the right has no `becomes`. */
  readonly becomes: readonly Filter[] | null
  /** The right in canonical form, as it is stored. */
  readonly text: string
  /** `text`, but with the variables `{today}` and `{now}` instead of their values; undefined: the right has no such variable. */
  readonly signedText?: string
}

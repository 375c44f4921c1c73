import type { RosterEqual } from './query.ts'

/** An entity in types: its own properties, and the entities to which its references lead. */
export interface RosterTarget {
  readonly row: object
  /** Filters on the entity's own properties, by their names. The name of an object's part has a dot. */
  readonly filter: object
  /** `dated`, `summed` and `compared`: names of the entity's own properties by their use in summaries, as in `RosterKinds`. */
  readonly dated: string
  readonly summed: string
  readonly compared: string
  readonly copied: object
  /** Entities by the names of the references that lead to them. */
  readonly references: object
  /**
   * Maximum number of references in a path from this entity: 1 if the paths through two references would be too many for the
   * compiler.
   */
  readonly reach: 1 | 2
}

/** Names of an entity's properties: all, or those with a use in summaries. */
type RosterNames<Target, Use extends RosterUse> = Target extends RosterTarget
  ? Target[Use] extends string
    ? Target[Use]
    : keyof Target[Use] & string
  : never
type RosterUse = 'filter' | 'dated' | 'summed' | 'compared' | 'copied'

/** Paths through one or two references. */
type RosterPath<Target, Use extends RosterUse> =
  | RosterNear<Target, Use>
  | (Target extends { readonly reach: 2 } ? RosterFar<Target, Use> : never)
type RosterNear<Target, Use extends RosterUse, References = RosterReferences<Target>> = {
  [Reference in keyof References & string]: `${Reference}.${RosterNames<References[Reference], Use>}`
}[keyof References & string]
type RosterFar<Target, Use extends RosterUse, References = RosterReferences<Target>> = {
  [Reference in keyof References & string]: `${Reference}.${RosterNear<References[Reference], Use>}`
}[keyof References & string]
type RosterReferences<Target> = Target extends RosterTarget ? Target['references'] : never

/** End of a path: the entity that the path leads to, the name of one of its properties, and the references before the name. */
type RosterEnd<Target, Path, Before extends string = '', References = RosterReferences<Target>> = {
  [Reference in keyof References & string]: Path extends `${Reference}.${infer Name}`
    ? Name extends RosterNames<References[Reference], 'filter'>
      ? { target: References[Reference]; name: Name; before: `${Before}${Reference}.` }
      : RosterEnd<References[Reference], Name, `${Before}${Reference}.`>
    : never
}[keyof References & string]

/** Related properties of an entity, by their paths. A value is null if the reference leads to no row. */
export type RosterPaths<Target extends RosterTarget> = {
  readonly [Path in RosterPath<Target, 'filter'>]: RosterPathValue<RosterEnd<Target, Path>>
}
type RosterPathValue<End> = End extends { target: { row: infer Row }; name: infer Name } ? RosterValue<Row, Name> | null : never
type RosterValue<Row, Name> = Name extends keyof Row
  ? Row[Name]
  : Name extends `${infer Outer extends keyof Row & string}.${infer Part}`
    ? RosterValue<NonNullable<Row[Outer]>, Part>
    : never

/** Filters on the own and the related properties of an entity. A related property may have no value. */
export type RosterFilters<Target extends RosterTarget> = Target['filter'] & {
  readonly [Path in RosterPath<Target, 'filter'>]?: RosterPathFilter<RosterEnd<Target, Path>>
}
type RosterPathFilter<End> = End extends { target: { filter: infer Filter }; name: infer Name }
  ? RosterOrNone<Filter[Name & keyof Filter]>
  : never
/** Adds null to filters of booleans: a row always has a value of its own boolean, but a reference may lead to no row. */
type RosterOrNone<Test> = [null] extends [Test] ? Exclude<Test, undefined> : RosterEqual<boolean | null>

/** Names of the own and the related properties of an entity, by their use in summaries. */
export interface RosterUses<Target extends RosterTarget> {
  readonly dated: Target['dated'] | RosterPath<Target, 'dated'>
  readonly summed: Target['summed'] | RosterPath<Target, 'summed'>
  readonly compared: Target['compared'] | RosterPath<Target, 'compared'>
  readonly copied: Target['copied'] & {
    readonly [Path in RosterPath<Target, 'copied'>]: RosterPathCopied<RosterEnd<Target, Path>>
  }
}
type RosterPathCopied<End> = End extends { target: { copied: infer Copied }; name: infer Name; before: infer Before }
  ? `${Before & string}${Copied[Name & keyof Copied] & string}`
  : never

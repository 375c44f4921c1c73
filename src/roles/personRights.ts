// The rights of a person: those of all roles that apply, of which several may be to one collection.
import { NO_ORIGINS, type Origin, type Right, type Verb } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'
import { baseOf, type Collection, type NamedView } from '../model/namedView.ts'
import { noRow } from '../model/query.ts'
import { signedTextOf } from '../rights/accesses.ts'
import { NarrowRights } from '../rights/reader.ts'

/** Collections that rights can be to. */
export interface Collections {
  readonly entities: readonly Entity[]
  readonly views: readonly NamedView[]
}

/** Facts from which the rights of a person follow. */
interface PersonFacts {
  readonly origins?: ReadonlyMap<Right, Origin>
  /** Why there are no rights, if there are none. */
  readonly reason?: string
  /** Entities that no right lets her read for want of a value. */
  readonly unread?: readonly Entity[]
}

export class PersonRights extends NarrowRights {
  override readonly refusalOfAll: string | null
  override readonly signedText: string
  override readonly origins: ReadonlyMap<Right, Origin>
  private readonly unread: readonly Entity[]
  private readonly reads = new Map<string, Right | undefined>()

  /**
   * `rights`: bound, in the order of the file, each text once. `share` returns the same right for the same text, so that persons
   * share its view.
   */
  constructor(
    rights: readonly Right[],
    { entities, views }: Collections,
    private readonly share: (right: Right) => Right,
    { origins = NO_ORIGINS, reason = 'no role gives you one', unread = [] }: PersonFacts = {},
  ) {
    super(rights.map(({ text }) => text).join('\n'), rights, null, entities, views)
    // The rows that a reference may name depend on unread entities, too.
    this.signedText = [...rights.map(signedTextOf), ...unread.map(({ plural }) => `-${plural}`)].join('\n')
    this.origins = origins
    this.unread = unread
    this.refusalOfAll = rights.length === 0 ? `You have no rights: ${reason}.` : null
  }

  override refusal({ plural }: Collection, verb: Verb): string {
    return this.refusalOfAll ?? `Your roles give no right to ${verb} ${plural}.`
  }

  /**
   * As `find`. A person without a right to read an entity may refer to every row of it. A right that only lacks a value must not
   * have that effect, so it admits no row.
   */
  protected override findReferable(collection: Collection, verb: Verb): readonly Right[] {
    const isUnread = verb === 'read' && this.unread.some(({ name }) => name === collection.name)
    return isUnread ? [noneOf(baseOf(collection))] : super.findReferable(collection, verb)
  }

  protected override readOf(collection: Collection): Right | undefined {
    return this.reads.getOrInsertComputed(collection.name, () => {
      const united = super.readOf(collection)
      return united && this.share(united)
    })
  }
}

/** The right to read no row of an entity. */
const noneOf = memoize((entity: Entity): Right => {
  const text = `read ${entity.plural}?Id=0`
  return { verb: 'read', collection: entity, filters: [noRow(entity)], properties: null, becomes: null, text }
})

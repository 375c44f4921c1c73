// The rights of a person: the rights of all roles that apply to her. She can have several rights to one collection.
import { NO_ORIGINS, type Origin, type Right, type Verb } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'
import { baseOf, type Collection, type NamedView } from '../model/namedView.ts'
import { noRow } from '../model/query.ts'
import { signedTextOf } from '../rights/accesses.ts'
import { NarrowRights } from '../rights/reader.ts'

/** Collections that rights can name. */
export interface Collections {
  readonly entities: readonly Entity[]
  readonly views: readonly NamedView[]
}

/** Facts that the rights of a person depend on in addition to the bound rights. */
interface PersonFacts {
  readonly origins?: ReadonlyMap<Right, Origin>
  /** Reason why the person has no rights; used only if she has none. */
  readonly reason?: string
  /** Entities that she cannot read, only because a variable of her right to read them has no value. */
  readonly unread?: readonly Entity[]
}

export class PersonRights extends NarrowRights {
  override readonly refusalOfAll: string | null
  override readonly signedText: string
  override readonly origins: ReadonlyMap<Right, Origin>
  private readonly unread: readonly Entity[]
  private readonly reads = new Map<string, Right | undefined>()

  /**
   * `rights`: bound rights in the order of the file, each text once. `share` returns the same object for all rights with the same
   * text, so that persons share the views that belong to this object.
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
   * Returns the rights that `find` returns. For reading an entity in `unread`, returns a right to read no row. Without any right
   * to read the entity, the person could refer to all its rows, only because a variable has no value.
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

/** Returns a right to read no row of an entity. */
const noneOf = memoize((entity: Entity): Right => {
  const text = `read ${entity.plural}?Id=0`
  return { verb: 'read', collection: entity, filters: [noRow(entity)], properties: null, becomes: null, text }
})

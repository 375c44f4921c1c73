// The rights of a person: those of all roles that apply, of which several may be to one collection.
import type { Access, GrantedRights, Right, Verb } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'
import { baseOf, type Collection, isNamedView, type NamedView } from '../model/namedView.ts'
import { equality } from '../model/operators.ts'
import { accessOf, type FindRights, ReadViews, readAccess, signedTextOf, uniteReads } from '../rights/accesses.ts'

/** Collections that rights can be to. */
export interface Collections {
  readonly entities: readonly Entity[]
  readonly views: readonly NamedView[]
}

export class PersonRights implements GrantedRights {
  readonly fault = null
  readonly text: string
  readonly signedText: string
  readonly refusalOfAll: string | null
  private readonly unread: readonly Entity[]
  private readonly accesses = new Map<string, Access>()
  private readonly reads = new Map<string, Right | undefined>()
  private readonly views = new ReadViews((collection) => this.readOf(collection))

  /**
   * `rights`: bound, in the order of the file, each text once. `share` returns the same right for the same text, so that persons
   * share its view. `reason`: why there are none, if there are none. `unread`: entities that no right lets her read for want of
   * a value.
   */
  constructor(
    readonly rights: readonly Right[],
    private readonly collections: Collections,
    private readonly share: (right: Right) => Right,
    { reason = 'no role gives you one', unread = [] }: { readonly reason?: string; readonly unread?: readonly Entity[] } = {},
  ) {
    this.unread = unread
    this.text = rights.map(({ text }) => text).join('\n')
    this.signedText = rights.map(signedTextOf).join('\n')
    this.refusalOfAll = rights.length === 0 ? `You have no rights: ${reason}.` : null
  }

  accessTo(collection: Collection): Access {
    return this.accesses.getOrInsertComputed(collection.name, () => {
      const read = this.views.of(collection)
      if (isNamedView(collection)) return readAccess(collection, read)
      const { entities, views } = this.collections
      return accessOf(collection, read, this.findReferable, entities, views)
    })
  }

  refusal({ plural }: Collection, verb: Verb): string {
    return this.refusalOfAll ?? `Your roles give no right to ${verb} ${plural}.`
  }

  private readonly find = ({ name }: Collection, verb: Verb): readonly Right[] =>
    this.rights.filter((right) => right.entity.name === name && right.verb === verb)

  /**
   * As `find`. Who has no right to read an entity may refer to every row of it: a right that lacks a value must not have that
   * consequence, so it admits no row.
   */
  private readonly findReferable: FindRights = (collection, verb) => {
    const isUnread = verb === 'read' && this.unread.some(({ name }) => name === collection.name)
    return isUnread ? [noneOf(baseOf(collection))] : this.find(collection, verb)
  }

  private readOf(collection: Collection): Right | undefined {
    return this.reads.getOrInsertComputed(collection.name, () => {
      const united = uniteReads(this.find(collection, 'read'))
      return united && this.share(united)
    })
  }
}

/** The right to read rows of an entity of which there is none: ids begin with 1. */
const noneOf = memoize((entity: Entity): Right => {
  const filters = [{ property: entity.id, operator: equality, value: '0' }]
  return { verb: 'read', entity, filters, properties: null, becomes: null, text: `read ${entity.plural}?Id=0` }
})

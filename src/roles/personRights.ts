// The rights of a person: those of all roles that apply, of which several may be to one collection.
import type { Access, GrantedRights, Right, Verb } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import { baseOf, type Collection, isNamedView, type NamedView } from '../model/namedView.ts'
import { united } from '../model/query.ts'
import { accessOf, ReadViews, readAccess, signedTextOf } from '../rights/accesses.ts'

/** What rights are to. */
export interface Collections {
  readonly entities: readonly Entity[]
  readonly views: readonly NamedView[]
}

export class PersonRights implements GrantedRights {
  readonly fault = null
  readonly text: string
  readonly signedText: string
  private readonly accesses = new Map<string, Access>()
  private readonly reads = new Map<string, Right | undefined>()
  private readonly views = new ReadViews((collection) => this.readOf(collection))

  /**
   * `rights`: bound, in the order of the file, each text once. `share` returns the same right for the same text, so that persons
   * share its view. `remark`: the end of messages of 403.
   */
  constructor(
    readonly rights: readonly Right[],
    private readonly collections: Collections,
    private readonly share: (right: Right) => Right,
    private readonly remark = '',
  ) {
    this.text = rights.map(({ text }) => text).join('\n')
    this.signedText = rights.map(signedTextOf).join('\n')
  }

  accessTo(collection: Collection): Access {
    return this.accesses.getOrInsertComputed(collection.name, () => {
      const read = this.views.of(collection)
      if (isNamedView(collection)) return readAccess(collection, read)
      const { entities, views } = this.collections
      return accessOf(collection, read, this.find, entities, views)
    })
  }

  refusal({ plural }: Collection, verb: Verb): string {
    return `Your roles give no right to ${verb} ${plural}.${this.remark}`
  }

  private readonly find = (collection: Collection, verb: Verb) =>
    verb === 'read' ? this.readOf(collection) : this.rightsTo(collection, verb)[0]

  private readOf(collection: Collection): Right | undefined {
    return this.reads.getOrInsertComputed(collection.name, () => {
      const rights = this.rightsTo(collection, 'read')
      const [first] = rights
      return rights.length > 1 ? this.share(unite(collection, rights)) : first
    })
  }

  private rightsTo({ name }: Collection, verb: Verb): readonly Right[] {
    return this.rights.filter((right) => right.entity.name === name && right.verb === verb)
  }
}

/** Makes one right of several to read a collection, which have the same `fields`: it admits what one of them admits. */
export function unite(entity: Collection, rights: readonly Right[]): Right {
  const whole = rights.find(({ filters }) => filters.length === 0)
  if (whole) return whole
  const [{ properties }] = rights as [Right]
  const filters = united(
    baseOf(entity),
    rights.map((right) => right.filters),
  )
  const text = joined(rights.map((right) => right.text))
  const signedText = joined(rights.map(signedTextOf))
  return { verb: 'read', entity, filters, properties, becomes: null, text, ...(signedText !== text && { signedText }) }
}

/** Joins texts in an order that is the same in every process, whatever roles they come from. */
function joined(texts: readonly string[]): string {
  return [...new Set(texts)].sort().join(' | ')
}

// Reads the rights of keys: what each may do with the entities of this server.
import { type Access, type KeyRights, VERBS } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import type { KeyRecord } from '../model/key.ts'
import { LruCache } from '../model/lruCache.ts'
import { allows, type Rights, readRights } from '../model/rights.ts'
import { wholeView } from '../model/view.ts'

/** Different texts of rights that are kept read. */
const TEXTS_MAX = 10_000

export class RightsReader {
  private readonly known = new LruCache<KeyRights>(TEXTS_MAX, () => 1)

  constructor(private readonly entities: readonly Entity[]) {}

  /** Returns the rights of a key; the same object for records whose rights have the same text. */
  read({ rights: text }: Pick<KeyRecord, 'rights'>): KeyRights {
    let rights = this.known.get(text)
    if (rights === undefined) this.known.set(text, (rights = this.readWhole(text)))
    return rights
  }

  private readWhole(text: string): KeyRights {
    const rights = readRights(text)
    const accesses = new Map(this.entities.map((entity) => [entity, wholeAccess(entity, rights)]))
    return {
      accessTo: (entity) => accesses.get(entity) ?? wholeAccess(entity, rights),
      text,
      rights: this.entities.flatMap((entity) =>
        VERBS.filter((verb) => accesses.get(entity)?.[verb]).map((verb) => ({
          verb,
          entity,
          filters: [],
          properties: null,
          becomes: null,
          text: `${verb} ${entity.plural}`,
        })),
      ),
      fault: null,
      refusal: (entity, verb) => `The key does not have the right ${entity.plural}:${verb === 'read' ? 'read' : 'write'}.`,
    }
  }
}

function wholeAccess(whole: Entity, rights: Rights): Access {
  const view = wholeView(whole)
  const read = allows(rights, whole.plural, 'read') ? view : null
  if (!allows(rights, whole.plural, 'write')) return { whole, read, create: null, update: null, delete: null }
  const settable = new Set(whole.properties.filter(({ writable }) => writable))
  return {
    whole,
    read,
    create: { body: whole, settable, presets: new Map(), guard: null },
    update: { body: whole, settable, isComplete: true, guard: null },
    delete: { guard: null },
  }
}

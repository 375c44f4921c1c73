// Reads the rights of keys: the list of `--rights`, and rights in the form of addresses.
import { type Access, type GrantedRights, NO_ORIGINS, type Origin, type Right, VERBS, type Verb } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import type { StoredRights } from '../model/key.ts'
import { LruCache } from '../model/lruCache.ts'
import { memoize } from '../model/memoize.ts'
import { type Collection, isNamedView, type NamedView } from '../model/namedView.ts'
import { type Action, allows, readRights } from '../model/rights.ts'
import { accessOf, ReadViews, readAccess, signedTextOf, uniteReads, wholeAccess } from './accesses.ts'
import { checkRights } from './checks.ts'
import { parseRight, RightError } from './grammar.ts'

/**
 * Minimum number of API keys whose rights a worker can keep. The caches have room for twice as many, since they drop half of
 * their entries at a time.
 */
const KEPT_MAX = 10_000

/** The blocks `key <name>` of the roles file. A block has the rights of the API keys that name it. */
export interface KeyBlocks {
  /** Returns the rights of a block as they are now; null if the file has no block of this name. */
  rightsOfKey(name: string): GrantedRights | null
}

/** Reads stored rights. It returns the same object for the same text, as long as the object is kept. */
export class RightsReader {
  private readonly kept = new LruCache<GrantedRights>(2 * KEPT_MAX, () => 1)
  /**
   * Rights by the line of text that has them, so that keys whose texts differ in one right share the views of the other rights.
   */
  private readonly lines = new LruCache<readonly Right[]>(2 * KEPT_MAX, () => 1)

  private readonly collections: readonly Collection[]

  /**
   * `views`: the named views of the server, to which there can also be rights. `blocks`: blocks of the roles file; null if there
   * is no roles file.
   */
  constructor(
    private readonly entities: readonly Entity[],
    private readonly views: readonly NamedView[] = [],
    private readonly blocks: KeyBlocks | null = null,
  ) {
    this.collections = [...entities, ...views]
  }

  read({ rights, addresses, role = null }: Pick<StoredRights, 'rights' | 'addresses'> & Partial<StoredRights>): GrantedRights {
    if (role !== null) return this.blocks?.rightsOfKey(role) ?? new MissingBlock(role, this.blocks !== null)
    const text = addresses ?? rights
    const key = `${addresses === null ? 'list' : 'addresses'} ${text}`
    const kept = this.kept.get(key)
    if (kept) return kept
    const made = addresses === null ? new WholeRights(rights, this.entities, this.views) : this.readAddresses(addresses)
    this.kept.set(key, made)
    return made
  }

  private readAddresses(text: string): GrantedRights {
    try {
      const rights = text.split('\n').flatMap((line) => this.readLine(line))
      checkRights(rights, this.entities)
      return new NarrowRights(text, rights, null, this.entities, this.views)
    } catch (error) {
      if (!(error instanceof RightError)) throw error
      return new NarrowRights(text, [], error.message, this.entities, this.views)
    }
  }

  private readLine(line: string): readonly Right[] {
    const kept = this.lines.get(line)
    if (kept) return kept
    const rights = parseRight(line, this.collections)
    this.lines.set(line, rights)
    return rights
  }
}

/** Rights to whole entities, such as `Companies:read,*:write`. `*:read` is also the right to read named views. */
class WholeRights implements GrantedRights {
  readonly fault = null
  readonly refusalOfAll = null
  readonly origins = NO_ORIGINS
  readonly text: string
  readonly signedText: string
  private made: readonly Right[] | null = null
  private readonly allowed: ReturnType<typeof readRights>
  private readonly accesses = new Map<string, Access>()
  private readonly views = new ReadViews((collection) => (this.mayRead(collection) ? wholeReadOf(collection) : undefined))

  constructor(
    list: string,
    private readonly entities: readonly Entity[],
    private readonly namedViews: readonly NamedView[],
  ) {
    this.allowed = readRights(list)
    this.text = list.replaceAll(',', '\n')
    this.signedText = this.text
  }

  get rights(): readonly Right[] {
    this.made ??= [
      ...this.entities.flatMap((entity) =>
        VERBS.filter((verb) => allows(this.allowed, entity.plural, actionOf(verb))).map((verb) => wholeRight(entity, verb)),
      ),
      ...this.namedViews.filter((view) => this.mayRead(view)).map((view) => wholeRight(view, 'read')),
    ]
    return this.made
  }

  /**
   * Returns whether a collection may be read. Named views may be read by `*:read` only, because a list of rights names no views.
   */
  private mayRead(collection: Collection): boolean {
    return allows(this.allowed, isNamedView(collection) ? '*' : collection.plural, 'read')
  }

  accessTo(collection: Collection): Access {
    const read = this.views.of(collection)
    if (isNamedView(collection)) return readAccess(collection, read)
    const access = wholeAccess(collection, read !== null, allows(this.allowed, collection.plural, 'write'))
    if (read === access.read) return access
    // The key may not read all entities, so the paths of its view lead to fewer entities.
    return this.accesses.getOrInsertComputed(collection.name, () => ({ ...access, read }))
  }

  refusal({ plural }: Collection, verb: Verb): string {
    return `The key does not have the right ${plural}:${actionOf(verb)}.`
  }
}

/** Empty rights of a key whose block is missing in the roles file. */
class MissingBlock implements GrantedRights {
  readonly text = ''
  readonly signedText = ''
  readonly rights = []
  readonly origins = NO_ORIGINS
  readonly refusalOfAll = null
  readonly fault: string

  constructor(role: string, hasFile: boolean) {
    this.fault = hasFile
      ? `the roles file has no block "key ${role}".`
      : `its rights are those of the block "key ${role}" of a roles file, and ROLES_FILE names none.`
  }

  accessTo(collection: Collection): Access {
    return readAccess(collection, null)
  }

  refusal(): string {
    return `The key has no rights: ${this.fault}`
  }
}

function actionOf(verb: Verb): Action {
  return verb === 'read' ? 'read' : 'write'
}

/** Returns the right to read a whole entity or named view, always the same object. */
const wholeReadOf = memoize((collection: Collection) => wholeRight(collection, 'read'))

function wholeRight(collection: Collection, verb: Verb): Right {
  return { verb, collection, filters: [], properties: null, becomes: null, text: `${verb} ${collection.plural}` }
}

/** Rights to some rows and properties. A key has at most one right for each verb and collection; a person can have several. */
export class NarrowRights implements GrantedRights {
  readonly refusalOfAll: string | null = null
  readonly origins: ReadonlyMap<Right, Origin> = NO_ORIGINS
  readonly signedText: string
  private readonly accesses = new Map<string, Access>()
  private readonly views = new ReadViews((collection) => this.readOf(collection))

  constructor(
    readonly text: string,
    readonly rights: readonly Right[],
    readonly fault: string | null,
    private readonly entities: readonly Entity[],
    private readonly namedViews: readonly NamedView[],
  ) {
    this.signedText = rights.some(({ signedText }) => signedText !== undefined) ? rights.map(signedTextOf).join('\n') : text
  }

  accessTo(collection: Collection): Access {
    return this.accesses.getOrInsertComputed(collection.name, () => {
      const read = this.views.of(collection)
      if (isNamedView(collection)) return readAccess(collection, read)
      const find = (one: Collection, verb: Verb) => this.findReferable(one, verb)
      return accessOf(collection, read, find, this.entities, this.namedViews)
    })
  }

  refusal({ plural }: Collection, verb: Verb): string {
    return `The key does not have the right ${verb} ${plural}.`
  }

  protected readOf(collection: Collection): Right | undefined {
    return uniteReads(this.find(collection, 'read'))
  }

  /** Returns the rights with a verb, for guards. Rights to read decide to which rows a reference may lead. */
  protected findReferable(collection: Collection, verb: Verb): readonly Right[] {
    return this.find(collection, verb)
  }

  private find({ name }: Collection, verb: Verb): readonly Right[] {
    return this.rights.filter((right) => right.collection.name === name && right.verb === verb)
  }
}

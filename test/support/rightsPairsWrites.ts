// Random writes of a key. Most are of rows within the reach of its rights, with values that the rights allow.
import type { Verb } from '../../src/model/access.ts'
import { type Entity, isGroup, type Property } from '../../src/model/entity.ts'
import type { Random } from './random.ts'
import type { PairRequest } from './rightsPairsAnswers.ts'
import { endOf } from './rightsPairsPaths.ts'
import type { ReadsDraw } from './rightsPairsReads.ts'
import { type Condition, parametersOf, type RandomKey, type RandomRight, typed } from './rightsPairsRights.ts'
import { idMaxOf, type Rows, randomCell, targetOf } from './rightsPairsRows.ts'
import type { Secrets } from './rightsPairsSecrets.ts'
import { VIEWS } from './rightsPairsViews.ts'

type Headers = Record<string, string>

const METHODS: readonly (readonly [Verb, string])[] = [
  ['create', 'POST'],
  ['update', 'PUT'],
  ['update', 'PATCH'],
  ['delete', 'DELETE'],
]

export class WritesDraw {
  private readonly entities: readonly Entity[]
  /** Writes with an `Idempotency-Key`, to be sent again. */
  readonly replays: PairRequest[] = []
  private onces = 0
  /** Number of new values. */
  private fresh = 0

  constructor(
    private readonly random: Random,
    private readonly key: RandomKey,
    private readonly secrets: Secrets,
    private readonly rows: Rows,
    private readonly reads: ReadsDraw,
  ) {
    this.entities = secrets.entities
  }

  /** Draws a write, mostly one to which the key has a right. */
  next(): PairRequest {
    const { random, key } = this
    if (this.replays.length > 0 && random.chance(12)) return this.repetition()
    const rights = key.rights.filter(({ verbs }) => !verbs.includes('read'))
    if (rights.length === 0 || random.chance(10)) return this.any()
    const right = random.pick(rights)
    const request = random.chance(30) ? this.ofSeveralRows(right) : this.ofOneRow(right)
    return random.chance(25) ? this.once(request) : request
  }

  /** Draws updates of different rows. None of them changes a value that other rows copy, so their order does not matter. */
  several(count: number): PairRequest[] {
    const rights = this.key.rights.filter(({ verbs }) => verbs.includes('update'))
    if (rights.length === 0) return []
    const right = this.random.pick(rights)
    const copied = new Set(
      this.entities
        .flatMap(({ properties }) => properties)
        .flatMap(({ reference }) => (reference?.copy ? [reference.copy.source] : [])),
    )
    const isCopied = (property: Property) =>
      right.entity.properties.some(
        ({ column, computedFrom }) =>
          copied.has(column) && (computedFrom.includes(property.column) || column === property.column),
      )
    // A value at the end of a path in the key's rights decides about other rows, so it must not change either.
    const ofPaths = this.key.rights.flatMap(({ entity, filters, becomes }) =>
      [...filters, ...(becomes ?? [])].flatMap(({ property }) => (property.related ? endOf(entity, property) : [])),
    )
    const sources = (entity: Entity) =>
      ofPaths.filter((end) => end.entity === entity).flatMap(({ property }) => [property.column, ...property.computedFrom])
    const isOfPath = ({ column }: Property) => sources(right.entity).includes(column)
    const fit = this.settable(right).filter(
      (property) => !isCopied(property) && !isOfPath(property) && property.reference === null,
    )
    if (fit.length === 0) return []
    const ids = new Set(Array.from({ length: count }, () => this.idFor(right)))
    const chosen = this.someOf(fit, 2)
    return [...ids].map((id) =>
      this.request('update, at once', 'PATCH', `/${right.entity.plural}/${id}`, {}, this.body(right, chosen, 0)),
    )
  }

  private ofOneRow(right: RandomRight): PairRequest {
    const [verb] = right.verbs
    return verb === 'create' ? this.create(right) : verb === 'update' ? this.update(right) : this.remove(right)
  }

  /** Draws a write of all rows that match filters, or of rows that are found by the values of one property. */
  private ofSeveralRows(right: RandomRight): PairRequest {
    if (right.verbs[0] === 'create') return this.upsert(right) ?? this.create(right)
    return this.byFilters(right)
  }

  private byFilters(right: RandomRight): PairRequest {
    const { random } = this
    const { entity, verbs } = right
    const isUpdate = verbs[0] === 'update'
    const chosen = isUpdate ? this.someOf(this.settable(right), 1 + random.below(2)) : []
    const parameters = this.filters(right)
    if (random.chance(45)) {
      const names = isUpdate && random.chance(85) ? `(${chosen.map(({ name }) => name)})` : ''
      parameters.push(`may=${isUpdate ? 'update' : 'delete'}${names}`)
    }
    const isDry = random.chance(25)
    if (isDry) parameters.push('dryRun=1')
    const headers: Headers = random.chance(4) ? { [random.pick(['if-match', 'if-none-match'])]: '*' } : {}
    if (random.chance(10)) headers.accept = 'application/x-ndjson'
    const channel = `${isUpdate ? 'update' : 'delete'} by filters${isDry ? ', dry run' : ''}`
    const body = isUpdate ? this.body(right, chosen, 3) : null
    return this.request(channel, isUpdate ? 'PATCH' : 'DELETE', `/${entity.plural}?${parameters.join('&')}`, headers, body)
  }

  /** Draws filters, mostly of rows within the reach of a right. */
  private filters(right: RandomRight): string[] {
    const { random } = this
    const kind = random.below(100)
    const readable = new Set(this.secrets.readable(right.entity))
    const reached = this.secrets.reached(right).filter((id) => readable.has(id))
    const drawn = () => (reached.length > 0 && random.chance(90) ? random.pick(reached) : this.idFor(right))
    if (kind < 40) return random.times(3, () => `Id[]=${drawn()}`).concat(`Id[]=${drawn()}`)
    if (kind < 55 && right.filters.length > 0) return right.filters.flatMap(parametersOf)
    const own = this.reads.filtersOf(right.entity)
    if (random.chance(50)) own.push(`Id=${random.pick(['<', '>='])}${drawn()}`)
    return own.length > 0 || random.chance(20) ? own : [`Id=${drawn()}`]
  }

  /**
   * Draws a create or update of rows that are found by a property. Some of the rows exist. Null if the key reads no such
   * property.
   */
  private upsert(right: RandomRight): PairRequest | null {
    const { random } = this
    const { entity } = right
    const rights = this.key.rights.filter((one) => one.entity === entity && !one.view)
    const reads = rights.filter(({ verbs }) => verbs.includes('read'))
    const updates = rights.filter(({ verbs }) => verbs.includes('update'))
    const isRead = (property: Property) => reads.some(({ fields }) => fields === null || fields.includes(property))
    const fit = entity.properties.filter((one) => one === entity.id || (one.writable && one.path.length === 1 && one.indexed))
    const known = fit.filter((property) => property === entity.id || isRead(property))
    if (reads.length === 0 && random.chance(90)) return null
    const isSet = (property: Property) => right.fields === null || right.fields.includes(property)
    const tellsApart = known.filter((property) => property.kind.name === 'text' && isSet(property))
    // New rows cannot be found by ids, because they have none yet.
    if (updates.length === 0 && tellsApart.length === 0 && random.chance(90)) return null
    const isNewOnly = updates.length === 0 && random.chance(90)
    const match = random.pick(
      random.chance(5) ? fit : tellsApart.length > 0 && (isNewOnly || random.chance(75)) ? tellsApart : known,
    )
    const matchedOf = (id: number) =>
      match === entity.id ? String(id) : (this.rows.get(entity)?.get(id)?.get(match) ?? null) || null
    const readable = this.secrets.readable(entity)
    const isOfOne = (id: number) =>
      matchedOf(id) !== null && readable.every((one) => one === id || matchedOf(one) !== matchedOf(id))
    const sent = new Set<string | null>()
    const row = () => {
      const by = updates.length > 0 && random.chance(65) ? random.pick(updates) : null
      const reached = by === null ? [] : this.secrets.reached(by).filter((id) => readable.includes(id) && isOfOne(id))
      const id = reached.length > 0 && random.chance(90) ? random.pick(reached) : this.secrets.anyId(random, entity)
      // If a key does not read a row, the row's value counts as one that no row has.
      const isNew = match.kind.name === 'text' && (by === null ? random.chance(75) : reached.length === 0)
      const drawn = isNew ? `new ${++this.fresh}` : matchedOf(id)
      const value = sent.has(drawn) && random.chance(90) ? randomCell(random, match, 60) : drawn
      sent.add(value)
      const settable = this.settable(by ?? right).filter((one) => one !== match && one.path[0] !== match.path[0])
      const chosen = settable.filter((one) => (by === null && one.required) || random.chance(by === null ? 35 : 12))
      const rest = this.body(by ?? right, chosen, 4).slice(1)
      return `{${JSON.stringify(this.spelt(match.name))}:${jsonOf(match, value)}${rest === '}' ? '' : ','}${rest}`
    }
    const rows = [row(), ...random.times(2, row)]
    const isDry = random.chance(30)
    const target = `/${entity.plural}?match=${this.spelt(match.name)}${isDry ? '&dryRun=1' : ''}`
    const channel = isDry ? 'create or change, dry run' : 'create or change'
    return this.request(channel, 'POST', target, {}, rows.length === 1 && random.chance(60) ? (rows[0] as string) : `[${rows}]`)
  }

  private create(right: RandomRight): PairRequest {
    const { random } = this
    const path = `/${right.entity.plural}`
    const dryRun = random.chance(30) ? '?dryRun=1' : ''
    const row = () =>
      this.body(
        right,
        this.settable(right).filter((one) => one.required || random.chance(55)),
      )
    if (random.chance(70)) return this.request(dryRun ? 'dry run' : 'create', 'POST', path + dryRun, this.conditions(null), row())
    const rows = [row(), ...random.times(3, row)]
    const channel = dryRun ? 'dry run' : 'create, several'
    if (random.chance(60)) return this.request(channel, 'POST', path + dryRun, {}, `[${rows}]`)
    const headers: Headers = { 'content-type': 'application/x-ndjson' }
    if (random.chance(50)) headers.accept = 'application/x-ndjson'
    return this.request(channel, 'POST', path + dryRun, headers, rows.join('\n'))
  }

  private update(right: RandomRight): PairRequest {
    const { random } = this
    const path = `/${right.entity.plural}/${this.idFor(right)}`
    const settable = this.settable(right)
    if (random.chance(15)) return this.request('replace', 'PUT', path, this.conditions(path), this.body(right, settable))
    const count = random.chance(8) ? 0 : 1 + random.below(3)
    const compared = (right.becomes ?? []).map(({ property }) => property).filter((one) => settable.includes(one))
    const chosen = new Set([...this.someOf(settable, count), ...(count > 0 && random.chance(70) ? compared : [])])
    return this.request('update', 'PATCH', path, this.conditions(path), this.body(right, [...chosen]))
  }

  private remove(right: RandomRight): PairRequest {
    const path = `/${right.entity.plural}/${this.idFor(right)}`
    return this.request('delete', 'DELETE', path, this.conditions(path), null)
  }

  /** Returns the request with an `Idempotency-Key`, and stores it to be repeated later. */
  private once(request: PairRequest): PairRequest {
    const headers = { ...request.headers, 'idempotency-key': `"once ${++this.onces}"` }
    const once = { ...request, headers, channel: `${request.channel}, once` }
    this.replays.push({ ...once, channel: 'replay' })
    return once
  }

  private repetition(): PairRequest {
    const repeated = this.random.pick(this.replays)
    if (this.random.chance(80) || repeated.body === null) return repeated
    return { ...repeated, body: this.random.pick(['{}', repeated.body.replace(/[a-z](?=")/, 'q')]) }
  }

  /** Draws a write to which the key may have no right, of a property that the key may not know. */
  private any(): PairRequest {
    const { random } = this
    // The server is most likely to confuse entities to which the key has another right, and rows within the reach of this other
    // right.
    const known = random.chance(75) ? random.pick(this.key.rights) : null
    const entity = known?.entity ?? random.pick(this.entities)
    const own = this.key.rights.filter((one) => one.entity === entity).flatMap(({ verbs }) => verbs)
    const missing = METHODS.filter(([verb]) => !own.includes(verb))
    const [, method] = random.pick(missing.length > 0 && random.chance(80) ? missing : METHODS)
    const reached = known === null ? [] : this.secrets.reached(known)
    const id = reached.length > 0 && random.chance(60) ? random.pick(reached) : this.secrets.anyId(random, entity)
    const writable = entity.properties.filter((property) => property.writable)
    const right: RandomRight = { verbs: ['update'], entity, filters: [], fields: null, becomes: null, text: '' }
    const plural = random.chance(10) ? random.pick(VIEWS).name : entity.plural
    const path = `/${plural}${method === 'POST' ? '' : `/${id}`}`
    return this.request('any write', method, path, {}, method === 'DELETE' ? null : this.body(right, this.someOf(writable, 2)))
  }

  /** Draws properties that a right lets a key set, sometimes with those of another right to the same verb. */
  private settable({ entity, fields, verbs }: RandomRight): readonly Property[] {
    const others = this.key.rights.filter((one) => one.entity === entity && one.verbs[0] === verbs[0])
    const other = others.length > 1 && this.random.chance(25) ? this.random.pick(others).fields : []
    const all = fields === null || other === null ? entity.properties : new Set([...fields, ...other])
    return [...all].filter((property) => property.writable)
  }

  /** Draws the id of a row within the reach of the right, or any id. */
  private idFor(right: RandomRight): number {
    const reached = this.secrets.reached(right)
    if (reached.length > 0 && this.random.chance(65)) return this.random.pick(reached)
    const readable = this.secrets.readable(right.entity)
    return readable.length > 0 && this.random.chance(50)
      ? this.random.pick(readable)
      : this.secrets.anyId(this.random, right.entity)
  }

  private conditions(path: string | null): Headers {
    const { random } = this
    // The answer to a condition on the version must not reveal that a hidden row exists.
    const [, plural, id] = path?.split('/') ?? []
    if (
      this.entities.some((entity) => entity.plural === plural && this.secrets.isOneSided(entity, Number(id))) &&
      random.chance(50)
    )
      return { [random.pick(['if-match', 'if-none-match'])]: '*' }
    if (path === null) return random.chance(95) ? {} : { [random.pick(['if-match', 'if-none-match'])]: '*' }
    if (!random.chance(40)) return {}
    return { [random.chance(60) ? 'if-match' : 'if-none-match']: random.pick([`{tag:${path}}`, `{tag:${path}}`, '*', '"0-0"']) }
  }

  /**
   * Returns a body with these properties, with names in any case. `more`: chance in percent that it has another property, too.
   */
  private body(right: RandomRight, chosen: readonly Property[], more = 8): string {
    const { random } = this
    const { entity } = right
    const properties = new Set(chosen)
    if (random.chance(more)) properties.add(random.pick(entity.properties))
    const members = entity.members.flatMap((member) => {
      const texts = (isGroup(member) ? member.properties : [member])
        .filter((property) => properties.has(property))
        .map((property) => `${JSON.stringify(this.spelt(property.path.at(-1) as string))}:${this.value(right, property)}`)
      if (!isGroup(member)) return texts
      if (texts.length === 0) return []
      return [`${JSON.stringify(member.key)}:${random.chance(90) ? `{${texts}}` : 'null'}`]
    })
    return `{${members}}`
  }

  /** Draws a value as JSON. Most values match the right after the write. */
  private value(right: RandomRight, property: Property): string {
    const { random } = this
    const after = right.becomes?.filter((one) => one.property === property) ?? []
    const compared = after.length > 0 ? after : right.filters.filter((one) => one.property === property)
    if (compared.length > 0 && random.chance(65)) return jsonOf(property, admittedBy(random, random.pick(compared)))
    const target = property.reference ? targetOf(property, this.entities) : null
    const paths = [...(right.becomes ?? []), ...right.filters].filter((one) => one.property.related?.reference === property)
    if (paths.length > 0 && random.chance(65)) {
      const admitted = this.secrets.referable(right.entity, property, paths)
      if (admitted.length > 0) return String(random.pick(admitted))
    }
    if (target && random.chance(70)) {
      const readable = this.secrets.readable(target)
      if (readable.length > 0) return String(random.pick(readable))
    }
    return jsonOf(property, randomCell(random, property, target ? idMaxOf(target, this.entities) : 60))
  }

  private someOf<T>(items: readonly T[], count: number): T[] {
    return items.length === 0 ? [] : [...new Set(Array.from({ length: count }, () => this.random.pick(items)))]
  }

  private spelt(name: string): string {
    const pascal = name.charAt(0).toUpperCase() + name.slice(1)
    return this.random.pick([name, pascal, pascal, pascal.toLowerCase()])
  }

  private request(channel: string, method: string, target: string, headers: Headers, body: string | null): PairRequest {
    return { channel, method, target, headers, body }
  }
}

/** Draws a value of the condition. It may not match a condition that excludes its values, or compares by order. */
function admittedBy(random: Random, { values }: Condition): string | null {
  return random.pick(values) || null
}

function jsonOf(property: Property, value: string | null): string {
  const { kind } = property
  if (value === null) return kind.name === 'boolean' ? 'false' : 'null'
  const isBare = ['decimal', 'integer', 'boolean'].includes(kind.name)
  return isBare ? typed(property, value) : JSON.stringify(typed(property, value))
}

/** Draws a dry run of a create. Most have a name that the key does not know, or a value that no property accepts. */
export function dryRunOf(random: Random, { entity }: RandomRight): PairRequest {
  const name = random.pick([...entity.properties.map((one) => one.name), 'Nmae', 'Xqzw', 'id', 'Period', 'Period.Xq'])
  const spelt = random.pick([name, name.toLowerCase(), name.toUpperCase(), name.slice(0, -1)])
  const value = random.pick([
    '"Ada"',
    '1',
    'true',
    'null',
    '{}',
    '{"Days":1,"Prefered":"Hours","Xq":2}',
    '"2024-01-31T09:00:00Z"',
  ])
  const body = `{${JSON.stringify(spelt)}:${value}}`
  const target = `/${entity.plural}?dryRun=1`
  return { channel: 'dry run of any name', method: 'POST', target, headers: {}, body: random.chance(70) ? body : `[{},${body}]` }
}

/** Returns whether the key may write anything. */
export function mayWrite({ rights }: RandomKey): boolean {
  const writes: readonly Verb[] = ['create', 'update', 'delete']
  return rights.some(({ verbs }) => verbs.some((verb) => writes.includes(verb)))
}

/** Returns whether the key may change a value that other rows, of any entity, copy. */
export function mayRename({ rights }: RandomKey, entities: readonly Entity[]): boolean {
  const references = entities.flatMap(({ properties }) => properties.map(({ reference }) => reference))
  const copied = new Set(references.filter((reference) => reference?.copy).map((reference) => reference?.entity))
  return rights.some(({ entity, verbs }) => verbs.includes('update') && copied.has(entity.name))
}

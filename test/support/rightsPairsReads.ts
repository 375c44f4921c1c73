// Random reads of a key. Most are of data that the key may read, with values of its rows; some are of hidden data.
import { type Entity, isGroup, type Property } from '../../src/model/entity.ts'
import { operators } from '../../src/model/operators.ts'
import type { Random } from './random.ts'
import type { PairRequest } from './rightsPairsAnswers.ts'
import { endOf, randomPath, valueBehind } from './rightsPairsPaths.ts'
import { pathOf, type RandomKey, type RandomRight, typed } from './rightsPairsRights.ts'
import { type Rows, randomValue } from './rightsPairsRows.ts'
import type { Secrets } from './rightsPairsSecrets.ts'
import { VIEWS } from './rightsPairsViews.ts'

/** An entity, or a named view of an entity, as the key reads it. */
export interface Seen {
  readonly entity: Entity
  /** Right to read the entity. If there are several rights, it has the conditions of all of them. */
  readonly right: RandomRight
  readonly properties: readonly Property[]
  readonly hidden: readonly Property[]
  readonly ids: readonly number[]
}

/** Returns the entities and named views that the key may read. */
export function seenBy({ rights }: RandomKey, secrets: Secrets): Seen[] {
  return readsOf(rights).map((reads) => {
    const [first] = reads as [RandomRight]
    const { entity, fields } = first
    const properties = entity.properties.filter((one) => one === entity.id || fields === null || fields.includes(one))
    const hidden = entity.properties.filter((one) => !properties.includes(one))
    const isNarrow = reads.every(({ filters }) => filters.length > 0)
    const right = { ...first, filters: isNarrow ? reads.flatMap(({ filters }) => filters) : [] }
    const ids = new Set(reads.flatMap((read) => secrets.reached(read)))
    return { entity, right, properties, hidden, ids: [...ids].sort((one, other) => one - other) }
  })
}

/** Returns the rights to read, those of one collection together. */
export function readsOf(rights: readonly RandomRight[]): RandomRight[][] {
  const reads = rights.filter(({ verbs }) => verbs.includes('read'))
  return [...Map.groupBy(reads, pathOf).values()]
}

/** Channel of lists with a cursor that a key with all rights got for the same list. */
export const FOREIGN_CURSOR = 'list, foreign cursor'

/** Matches channels of requests that may name paths. */
const OF_PATHS = /^(list|list, filtered|row|summary|summary, csv|summary, ndjson|csv|ndjson)$/

/** Matches channels of requests that may have the parameter `may`. */
const OF_MAY = /^(list|list, filtered|summary|summary, csv|summary, ndjson|csv|ndjson)$/

type Headers = Record<string, string>

/** Returns whether the key may read the change feed of the collection. */
function isFed({ right }: Seen): boolean {
  return !right.view && right.filters.length === 0
}

export class ReadsDraw {
  private readonly entities: readonly Entity[]

  constructor(
    private readonly random: Random,
    private readonly rows: Rows,
    private readonly seen: readonly Seen[],
    private readonly secrets: Secrets,
  ) {
    this.entities = [...rows.keys()]
  }

  /** Draws a read of an entity that the key may read, if there is such an entity. `of`: the entity to read. */
  next(of?: Seen): PairRequest {
    const { random, seen } = this
    if (seen.length === 0 || random.chance(3)) return this.unseen()
    const one = of ?? random.pick(seen)
    const kind = random.below(100)
    if (kind < 30) return this.list(one)
    if (kind < 44) return this.row(one)
    if (kind < 60) return this.summary(one)
    if (kind < 72) return this.stream(one)
    if (kind < 80) return this.changes(one)
    if (kind < 85) return this.history(one)
    if (kind < 97) return this.strange(one)
    return this.other(one)
  }

  /** Draws a request with the name of a property that is hidden from the key, or that does not exist. */
  strange(one: Seen): PairRequest {
    const { random } = this
    const path = random.chance(40) ? this.strangePath(one) : null
    if (path !== null) return this.named(one, path, 'hidden path')
    if (one.hidden.length === 0 || random.chance(25))
      return this.named(one, random.pick(['Nmae', 'Xqzw', 'id_', 'Period.Xq', 'Statu', 'Days']), 'misspelled name')
    return this.named(one, random.pick(one.hidden).name, 'hidden name')
  }

  /** Returns a path to a property that is hidden from the key, or does not exist; null if the key sees no reference here. */
  private strangePath({ properties }: Seen): string | null {
    const { random } = this
    const references = properties.filter(({ reference }) => reference?.target)
    if (references.length === 0) return null
    const { name, reference } = random.pick(references)
    const target = this.shown(reference?.target)
    const hidden = target ? target.hidden : (reference?.target?.properties ?? [])
    return `${name}.${hidden.length === 0 || random.chance(20) ? random.pick(['Nmae', 'Xqzw', 'CompanyId.Xq']) : random.pick(hidden).name}`
  }

  /** Draws a path that the key may name; null if there is none. Often the path leads to rows of which some are hidden. */
  private path({ entity, properties }: Seen): Property | null {
    const narrow = properties.filter(({ reference }) => (this.shown(reference?.target)?.right.filters.length ?? 0) > 0)
    const first = narrow.length > 0 && this.random.chance(60) ? narrow : properties
    return randomPath(this.random, entity, first, (target) => this.shown(target)?.properties ?? [])
  }

  /**
   * Returns the entity as the key reads it at the end of a path, which never leads to a named view; undefined if the key cannot
   * read it.
   */
  private shown(target: Entity | null | undefined): Seen | undefined {
    return this.seen.find(({ entity, right }) => entity === target && !right.view)
  }

  /** Draws a reference to rows of the same kind, of the entity itself or by a path; null if the key sees none. */
  private chain({ entity, properties }: Seen): Property | null {
    const own = properties.filter(({ reference }) => reference?.isToItself)
    const behind = (target: Entity) => (this.shown(target)?.properties ?? []).filter(({ reference }) => reference?.isToItself)
    return own.length > 0 ? this.random.pick(own) : randomPath(this.random, entity, properties, behind, 1)
  }

  /** Draws properties, some of them by a path. */
  private someWithPaths(one: Seen, properties: readonly Property[], count: number): Property[] {
    const own = this.someOf(properties, count)
    const path = own.length > 0 && this.random.chance(45) ? this.path(one) : null
    return path === null ? own : [...own.slice(1), path]
  }

  private list(one: Seen): PairRequest {
    const { random } = this
    const parameters = this.filters(one)
    const channel = parameters.length > 0 ? 'list, filtered' : 'list'
    if (random.chance(60)) parameters.push(`sort=${this.sorts(one)}`)
    if (random.chance(60)) parameters.push(`PageSize=${random.pick([5, 5, 7, 20, 50])}`)
    if (random.chance(15)) parameters.push(`page=${1 + random.below(4)}`)
    if (random.chance(20)) parameters.push(`fields=${this.fields(one)}`)
    // Keys that read everything share their cursors. So do keys that read a whole named view.
    const isWhole = one.right.view ? one.right.text === `read ${pathOf(one.right)}` : one.hidden.length === 0
    const isNarrow = !isWhole || (!one.right.view && one.right.filters.length > 0)
    if (isNarrow && random.chance(8)) return this.get(FOREIGN_CURSOR, one, [...parameters, 'cursor={cursor}'])
    return this.get(channel, one, parameters, {}, random.chance(8) ? 'HEAD' : 'GET')
  }

  row(one: Seen): PairRequest {
    const { random } = this
    const { entity, ids } = one
    const id = ids.length > 0 && random.chance(75) ? random.pick(ids) : this.secrets.anyId(random, entity)
    const path = `/${this.spelt(pathOf(one.right))}/${id}`
    const query = random.chance(25) ? `?fields=${this.fields(one)}` : ''
    const headers: Headers = {}
    if (random.chance(20))
      headers[random.pick(['if-none-match', 'if-match'])] = random.pick([`{tag:/${pathOf(one.right)}/${id}}`, '*', '"0-0"'])
    return this.request('row', random.chance(10) ? 'HEAD' : 'GET', path + query, headers)
  }

  private summary(one: Seen): PairRequest {
    const { random } = this
    const parameters = random.chance(40) ? this.filters(one) : []
    const keys = this.someWithPaths(
      one,
      one.properties.filter(({ path }) => path[0] !== 'count'),
      random.pick([0, 1, 1, 2, 3]),
    )
    const groups = keys.map((property) =>
      ['instant', 'date'].includes(property.kind.name) && random.chance(60)
        ? `${random.pick(['year', 'quarter', 'month', 'week', 'day'])}(${property.name})`
        : property.name,
    )
    if (groups.length > 0) parameters.push(`groupBy=${groups}`)
    const isNumber = ({ kind, reference, name }: Property) =>
      (kind.name === 'decimal' || kind.name === 'integer') && reference === null && !/(^|\.)Id$/.test(name)
    for (const aggregate of ['sum', 'average', 'minimum', 'maximum']) {
      const path = random.chance(45) ? this.path(one) : null
      const fit = [...one.properties, ...(path === null ? [] : [path, path])].filter((property) =>
        /sum|average/.test(aggregate) ? isNumber(property) : property.kind.ordered,
      )
      if (fit.length > 0 && random.chance(45)) parameters.push(`${aggregate}=${this.someOf(fit, 2).map(({ name }) => name)}`)
    }
    if (random.chance(40))
      parameters.push(`sort=${random.pick(['-count', 'count', ...groups, ...groups.map((group) => `-${group}`)])}`)
    const kind = random.below(10)
    if (kind < 2) return this.get('summary, csv', one, parameters, { accept: 'text/csv' }, 'GET', '/Summary')
    if (kind < 3) return this.get('summary, ndjson', one, parameters, { accept: 'application/x-ndjson' }, 'GET', '/Summary')
    if (random.chance(40)) parameters.push(`PageSize=${random.pick([5, 10, 1_000])}`)
    return this.get('summary', one, parameters, {}, random.chance(5) ? 'HEAD' : 'GET', '/Summary')
  }

  private stream(one: Seen): PairRequest {
    const { random } = this
    const parameters = random.chance(60) ? this.filters(one) : []
    if (random.chance(50)) parameters.push(`sort=${this.sorts(one)}`)
    if (random.chance(30)) parameters.push(`fields=${this.fields(one)}`)
    if (random.chance(50)) return this.get('ndjson', one, parameters, { accept: 'application/x-ndjson' })
    if (random.chance(40)) parameters.push(random.pick(['bom=1', 'excel=1', 'locale=de', 'locale=en']))
    return this.get('csv', one, parameters, { accept: 'text/csv' })
  }

  private changes(one: Seen): PairRequest {
    const { random } = this
    const open = this.seen.filter(isFed)
    const aimed = open.length > 0 && random.chance(85) ? random.pick(open) : one
    const parameters: string[] = []
    if (random.chance(75)) parameters.push(`entity=${pathOf(aimed.right)}`)
    if (random.chance(50)) parameters.push(`after=${random.pick(['{next}', '{first}', '{first}', 'now'])}`)
    if (random.chance(50)) parameters.push(`PageSize=${random.pick([1, 2, 5, 50, 500])}`)
    if (random.chance(40)) parameters.push('rows=current')
    return this.request('changes', 'GET', `/Changes${questionMark(parameters)}`, {})
  }

  private history(one: Seen): PairRequest {
    const { random } = this
    const open = this.seen.filter(isFed)
    const { entity, ids, right } = open.length > 0 && random.chance(85) ? random.pick(open) : one
    const id = ids.length > 0 && random.chance(80) ? random.pick(ids) : this.secrets.anyId(random, entity)
    const parameters = random.chance(30) ? [`PageSize=${random.pick([1, 2, 5])}`] : []
    return this.request('history', 'GET', `/${pathOf(right)}/${id}/Changes${questionMark(parameters)}`, {})
  }

  /** Names a property that is hidden from the key, or does not exist, in any parameter and spelling. */
  private named(one: Seen, name: string, channel: string): PairRequest {
    const { random } = this
    const spelt = random.pick([
      ...[name, name, name.toLowerCase(), name.toUpperCase(), `${name}[]`, `${name}.Id`],
      ...[name.slice(0, -1), `${name}s`, name.slice(1), name.replace(/(.)(.)$/, '$2$1')],
      name.replace(/\.(.*)/, '[$1]'),
    ])
    const value = random.pick(['Ada', '>0', '!=', '', 'true', '2024-01-31T09:00:00Z'])
    const parameter = random.pick([
      `${spelt}=${encodeURIComponent(value)}`,
      `sort=${random.pick(['', '-'])}${spelt}`,
      `fields=Id,${spelt}`,
      `may=update(${spelt})`,
      `${name}[contains]=e`,
    ])
    if (random.chance(25)) {
      const aggregate = random.pick(['groupBy', 'sum', 'minimum', 'maximum', 'average', 'sort'])
      return this.get(channel, one, [`${aggregate}=${spelt}`], {}, 'GET', '/Summary')
    }
    if (random.chance(15) && one.ids.length > 0)
      return this.request(channel, 'GET', `/${pathOf(one.right)}/${random.pick(one.ids)}?fields=${spelt}`, {})
    const accept = random.pick(['application/json', 'text/csv', 'application/x-ndjson'])
    return this.get(channel, one, [...(random.chance(30) ? this.filters(one) : []), parameter], { accept })
  }

  private other(one: Seen): PairRequest {
    const { random } = this
    const path = `/${pathOf(one.right)}`
    return random.pick([
      this.request('options', 'OPTIONS', random.pick([path, `${path}/${this.secrets.anyId(random, one.entity)}`]), {}),
      this.request('document', 'GET', '/openapi.json', {}),
      this.request('rights', 'GET', '/Rights', {}),
      this.request(
        'not found',
        'GET',
        random.pick([`${path}/x`, `${path}/0`, `${path}/1/2`, `/Compnies`, '/Directry', '/Fims']),
        {},
      ),
      this.get('several faults', one, ['page=x', 'PageSize=x', 'sort=x', `${one.entity.id.name}=x`]),
      this.get('html', one, ['sort=x'], { accept: 'text/html' }),
    ])
  }

  /** Draws a read of any entity or named view, to which the key may have no right. */
  private unseen(): PairRequest {
    const { random } = this
    const entity = random.pick(this.entities)
    const path = `/${random.pick([entity.plural, entity.plural, ...VIEWS.map(({ name }) => name)])}`
    const target = random.pick([
      path,
      `${path}/${this.secrets.anyId(random, entity)}`,
      `${path}/Summary`,
      `/Changes?entity=${path.slice(1)}`,
      '/Changes',
      `${path}/1/Changes`,
    ])
    return this.request('any entity', random.chance(10) ? 'HEAD' : 'GET', target, {})
  }

  /** Draws filters of an entity by properties that the key reads; none if the key cannot read the entity. */
  filtersOf(entity: Entity): string[] {
    const one = this.shown(entity)
    return one ? [...this.filter(one), ...(this.random.chance(30) ? this.filter(one) : [])] : []
  }

  private filters(one: Seen): string[] {
    return Array.from({ length: this.random.pick([0, 1, 1, 1, 2, 2, 3]) }, () => this.filter(one)).flat()
  }

  /** Draws a condition, mostly with a value of a row that the key reads. */
  private filter(one: Seen): string[] {
    const { random } = this
    // Conditions on properties that the right itself compares are the most likely to be confused with the right's own.
    const compared = one.right.filters.map(({ property }) => property).filter((property) => one.properties.includes(property))
    const chain = random.chance(15) ? this.chain(one) : null
    const path = chain ?? (random.chance(35) ? this.path(one) : null)
    const property = path ?? (compared.length > 0 && random.chance(40) ? random.pick(compared) : random.pick(one.properties))
    const fit = operators.filter(({ serves }) => serves(property))
    // Several `[]` form one filter. A fault could merge them with a `[]` of the right on the same property.
    const isOfRight = one.right.filters.some((filter) => filter.property === property && filter.sign === '[]')
    // If the row at the end of a path is hidden, its values count as missing.
    const isOfNone = chain === null && path !== null && random.chance(30)
    const { sign, isAny, isChain, folded } = chain
      ? (fit.find((one) => one.isChain) as (typeof fit)[number])
      : isOfNone
        ? random.pick(fit.filter(({ compileEmpty }) => compileEmpty !== null))
        : random.chance(isOfRight ? 75 : 25)
          ? (fit.find((one) => one.isAny) ?? random.pick(fit))
          : random.pick(fit)
    const isEmpty = isOfNone && sign !== '!='
    const operand = () => (isEmpty ? '' : encodeURIComponent(typed(property, this.value(one, property))))
    if (folded)
      return [`${property.name}${sign}=${encodeURIComponent(Array.from(this.value(one, property)).slice(0, 2).join('') || 'a')}`]
    if (isChain) return [`${this.spelt(property.name)}${sign}=${operand()}`]
    if (isAny) return Array.from({ length: random.pick([1, 2, 3]) }, () => `${this.spelt(property.name)}${sign}=${operand()}`)
    return [`${this.spelt(property.name)}=${encodeURIComponent(sign)}${operand()}`]
  }

  private value({ entity, ids, right }: Seen, property: Property): string {
    const { random } = this
    const compared = right.filters.filter((one) => one.property === property)
    if (compared.length > 0 && random.chance(30)) return random.pick(random.pick(compared).values) || 'a'
    const seen = ids.length > 0 && random.chance(85) ? valueBehind(this.rows, entity, random.pick(ids), property) : null
    return seen ?? (randomValue(random, endOf(entity, property).property, 30) || 'a')
  }

  private sorts(one: Seen): string {
    return this.someOf(one.properties, this.random.pick([1, 1, 2, 3]))
      .map(({ name }) => this.random.pick(['', '-', '%2B']) + this.spelt(name))
      .join()
  }

  private fields(one: Seen): string {
    const { properties, entity } = one
    const names = this.someWithPaths(one, properties, 3).map(({ name }) => name)
    const group = entity.members.find((member) => isGroup(member) && member.properties.some((part) => properties.includes(part)))
    return [...names, ...(group && this.random.chance(30) ? [group.name] : [])].join()
  }

  private someOf<T>(items: readonly T[], count: number): T[] {
    return [...new Set(Array.from({ length: count }, () => this.random.pick(items)))]
  }

  private spelt(name: string): string {
    return this.random.chance(92) ? name : this.random.pick([name.toLowerCase(), name.toUpperCase()])
  }

  /** Draws a value of `may`; null if requests of this channel have no such parameter. */
  private may(channel: string, { properties }: Seen): string | null {
    const { random } = this
    if (!OF_MAY.test(channel) || !random.chance(15)) return null
    const writable = properties.filter((property) => property.writable)
    if (writable.length === 0 || random.chance(40)) return `may=${random.pick(['update', 'update', 'delete'])}`
    const names = this.someOf(writable, random.pick([1, 1, 2])).map(({ name }) => this.spelt(name))
    return `may=update(${names})`
  }

  private get(
    channel: string,
    one: Seen,
    parameters: readonly string[],
    headers: Headers = {},
    method = 'GET',
    path = '',
  ): PairRequest {
    const may = this.may(channel, one)
    const query = questionMark(may === null ? parameters : [...parameters, may])
    const asked = may === null ? channel : `${channel}, may`
    return this.request(asked, method, `/${this.spelt(pathOf(one.right))}${path}${query}`, headers)
  }

  private request(channel: string, method: string, target: string, headers: Headers): PairRequest {
    const isByPath = OF_PATHS.test(channel) && /\w+Id\./i.test(target)
    return { channel: isByPath ? `${channel}, by a path` : channel, method, target, headers, body: null }
  }
}

function questionMark(parameters: readonly string[]): string {
  return parameters.length === 0 ? '' : `?${parameters.join('&')}`
}

// Random rights in the grammar of `keys create --right`, as text and as data. The data is what the test goes by, so that a fault
// in how the server reads the text is found, too.
import type { Verb } from '../../src/model/access.ts'
import { type Entity, isGroup, type Property } from '../../src/model/entity.ts'
import { operators } from '../../src/model/operators.ts'
import { ownProperty } from '../../src/model/query.ts'
import type { Random } from './random.ts'
import { endOf, randomPath } from './rightsPairsPaths.ts'
import { idMaxOf, randomValue, sourcesOf, targetOf } from './rightsPairsRows.ts'
import { hasSeveral } from './severalRights.ts'

/** A condition of a right. */
export interface Condition {
  /** A property of the entity itself, or of another row by a path. */
  readonly property: Property
  /** Sign of the operator; in brackets it stands behind the name. */
  readonly sign: string
  /** Values as PostgreSQL prints them; '' is "no value". Several only with `[]`. */
  readonly values: readonly string[]
}

/** A named view, as the server of the trials has it. */
export interface RandomView {
  readonly name: string
  readonly entity: Entity
  readonly filters: readonly Condition[]
  readonly fields: readonly Property[] | null
}

export interface RandomRight {
  readonly verbs: readonly Verb[]
  readonly entity: Entity
  /** The named view that the right is about; its conditions come first in `filters`. Undefined: the right is about the entity. */
  readonly view?: RandomView
  readonly filters: readonly Condition[]
  /** Properties that the right names; null: all. The id is left out where a right always includes it. */
  readonly fields: readonly Property[] | null
  readonly becomes: readonly Condition[] | null
  readonly text: string
}

/** The rights of a key, or those of the old form, which are whole entities. */
export interface RandomKey {
  readonly rights: readonly RandomRight[]
  /** The rights, one a line. */
  readonly text: string
}

const WRITES: readonly Verb[] = ['create', 'update', 'delete']

/** Kinds of keys, which take turns. Keys of most kinds may read, because a key that reads nothing learns little. */
export const KINDS = [
  'reader',
  'partner',
  'desk',
  'editor',
  'referrer',
  'remover',
  'creator',
  'blind',
  'behind',
  'team',
  'viewer',
  'person',
  'mixed',
] as const

export type Kind = (typeof KINDS)[number] | 'narrow'

/**
 * Draws a key with one or more rights of a kind; `narrow`: it reads all rows and some of their properties. `views`: named
 * views of the server.
 */
export function randomKey(
  random: Random,
  entities: readonly Entity[],
  kind: Kind = random.pick(KINDS),
  views: readonly RandomView[] = [],
): RandomKey {
  const draw = new RightsDraw(random, entities)
  const refersToOthers = ({ properties }: Entity) => properties.some(({ reference }) => reference)
  const referred = entities.filter(({ name }) => entities.some((one) => one.properties.some((p) => p.reference?.entity === name)))
  if (kind === 'viewer' && views.length > 0) return keyOf(draw.viewer(views))
  const isReferring = kind === 'referrer' || kind === 'team' || kind === 'behind'
  const main = random.pick(isReferring ? entities.filter(refersToOthers) : kind === 'remover' ? referred : entities)
  if (kind === 'narrow') return keyOf([...draw.readSome(main), ...draw.readTargets(main)])
  if (kind === 'team') return keyOf(draw.team(main))
  if (kind === 'behind') return keyOf(draw.behind(main))
  if (kind === 'person') return keyOf(draw.person(main))
  const rights: RandomRight[] = []
  if (kind === 'partner') rights.push(draw.readOfPartner(main))
  else if (kind === 'referrer') rights.push(draw.read(main), ...draw.readReferred(main))
  else if (kind !== 'blind') rights.push(draw.read(main))
  for (const other of entities)
    if (kind !== 'blind' && !rights.some(({ entity }) => entity === other) && random.chance(55)) rights.push(draw.read(other))
  if (kind === 'desk') rights.push(draw.update(main, rights))
  if (kind === 'remover') rights.push(draw.write('delete', main, rights))
  if (kind === 'creator' || kind === 'referrer') rights.push(draw.write('create', main, rights))
  if (kind === 'referrer') rights.push(draw.update(main, rights))
  if (kind === 'editor' || kind === 'blind')
    for (const verb of WRITES) if (random.chance(60)) rights.push(draw.write(verb, main, rights))
  if (kind === 'mixed')
    for (const entity of entities) for (const verb of WRITES) if (random.chance(40)) rights.push(draw.write(verb, entity, rights))
  if (rights.length === 0) rights.push(draw.write('create', main, rights))
  return keyOf(rights)
}

export function keyOf(rights: readonly RandomRight[]): RandomKey {
  return { rights, text: rights.map(({ text }) => text).join('\n') }
}

/** Returns a key whose rights differ from those of this one in values alone, as of two partners; null if it has no value. */
export function twinOf(random: Random, key: RandomKey, entities: readonly Entity[]): RandomKey | null {
  let differs = false
  const conditions = key.rights.flatMap((right) => [...ownFilters(right), ...(right.becomes ?? [])])
  // Where one value of several differs, all but one must be told apart.
  const first = random.chance(hasSeveral(key.text) ? 20 : 75) ? conditions[0] : random.pick(conditions)
  const only = conditions.length > 1 && random.chance(80) ? first : null
  const other = (entity: Entity, condition: Condition): Condition => {
    const { property, sign, values } = condition
    if (only !== null && condition !== only) return condition
    const end = endOf(entity, property)
    const idMax = property.reference || end.property === end.entity.id ? idMaxOf(referredBy(end, entities), entities) : 60
    const drawn = values.map((value) => {
      if (value === '' || property.kind.name === 'boolean') return value
      const drawn = random.chance(90) ? operandOf(random, end.property, idMax) : value
      return sign === '[begins]' || sign === '[contains]' ? partOf(random, drawn) : drawn
    })
    differs ||= String(drawn) !== String(values)
    return { property, sign, values: drawn }
  }
  const rights = key.rights.map((right) => {
    const drawn = (conditions: readonly Condition[]) => conditions.map((condition) => other(right.entity, condition))
    const filters = [...(right.view?.filters ?? []), ...drawn(ownFilters(right))]
    return right.becomes === null ? rightOf({ ...right, filters }) : rightOf({ ...right, filters, becomes: drawn(right.becomes) })
  })
  return differs ? keyOf(rights) : null
}

/** Returns the key with fewer rights to read: to fewer properties, to fewer rows, or without any right to read. */
export function narrowerKey(random: Random, { rights }: RandomKey): RandomKey {
  // Several rights to read a collection show the same properties.
  const fieldsOf = new Map<string, readonly Property[]>()
  const narrowed = rights.flatMap((right): RandomRight[] => {
    const { entity, verbs, filters } = right
    if (!verbs.includes('read')) return [right]
    // A key without any right may learn which rows there are, which one with filters may not.
    if (filters.length === 0 && random.chance(40)) return []
    const kept = (right.fields ?? entity.properties).filter(() => random.chance(50))
    const fields = fieldsOf.getOrInsert(pathOf(right), kept.length === 0 ? [entity.id] : kept)
    const isNamed = filters.some(({ property }) => property === entity.id)
    const ids = { property: entity.id, sign: '<', values: [String(1 + random.below(20))] }
    return [rightOf({ ...right, fields, filters: random.chance(50) && !isNamed ? [...filters, ids] : filters })]
  })
  return keyOf(narrowed)
}

class RightsDraw {
  constructor(
    private readonly random: Random,
    private readonly entities: readonly Entity[],
  ) {}

  read(entity: Entity): RandomRight {
    const filters = this.random.chance(65) ? this.filters(entity, 1 + this.random.below(2), entity.properties) : []
    const fields = this.random.chance(75) || filters.length === 0 ? this.some(entity.properties, 45) : null
    return rightOf({ verbs: ['read'], entity, filters, fields, becomes: null })
  }

  /** Draws several rights to one verb, such as roles give a person, and one or two rights to read each of some other entities. */
  person(entity: Entity): RandomRight[] {
    const { random } = this
    const rights = this.readSeveral(entity, 2 + random.below(2))
    for (const other of this.entities)
      if (other !== entity && random.chance(60)) rights.push(...this.readSeveral(other, 1 + random.below(2)))
    for (const verb of WRITES)
      for (let left = random.below(4); left > 0; left--) {
        // Some differ in their properties alone, and some in what their rows must match.
        const known = rights.filter((right) => right.verbs.includes(verb))
        const right = this.write(verb, entity, rights)
        rights.push(known.length > 0 && random.chance(30) ? rightOf({ ...right, filters: random.pick(known).filters }) : right)
      }
    const texts = new Map(rights.map((right) => [right.text, right]))
    return [...texts.values()]
  }

  private readSeveral(entity: Entity, count: number): RandomRight[] {
    const fields = this.random.chance(40) ? null : this.some(entity.properties, 60)
    // By what clients write, mostly: else every row is one that the key may come to read by a write.
    const own = entity.properties.filter((property) => property.writable || property === entity.id)
    return Array.from({ length: count }, () => {
      const filters = this.filters(entity, 1 + this.random.below(2), this.random.chance(85) ? own : entity.properties)
      return rightOf({ verbs: ['read'], entity, filters, fields, becomes: null })
    })
  }

  /** Draws a right to rows with one of several values, except for some of these: two partners have it with different values. */
  readOfPartner(entity: Entity): RandomRight {
    const texts = entity.properties.filter(({ kind, writable }) => kind.name === 'text' && writable)
    const property = this.random.pick(texts)
    const others = entity.properties.filter((one) => one !== property && one.writable)
    const filters = [this.condition(entity, property, ['[]']), this.condition(entity, this.random.pick(others), ['!='])]
    const fields = new Set([property, ...(this.some(entity.properties, 40) ?? [])])
    return rightOf({ verbs: ['read'], entity, filters, fields: [...fields], becomes: null })
  }

  /** Draws rights to some rows of the entities to which this entity refers, with the properties that it copies from them. */
  readReferred(entity: Entity): RandomRight[] {
    const targets = new Set(entity.properties.flatMap((one) => (one.reference ? [targetOf(one, this.entities)] : [])))
    return [...targets].flatMap((target) => {
      if (target === entity) return []
      const sources = target.properties.filter(({ column }) =>
        entity.properties.some(({ reference }) => reference?.copy?.source === column),
      )
      const filters = [this.condition(target, target.id, ['>', '<=', '[]'])]
      const fields = [...new Set([...sources, ...(this.some(target.properties, 30) ?? [])])]
      return [rightOf({ verbs: ['read'], entity: target, filters, fields, becomes: null })]
    })
  }

  /** Draws rights to rows whose references lead to certain rows, such as a manager has, and often rights to those rows, too. */
  team(entity: Entity): RandomRight[] {
    const { random } = this
    const property = randomPath(random, entity, entity.properties, (target) => target.properties) as Property
    const filters = [this.condition(entity, property)]
    const target = ownProperty(property).reference?.target as Entity
    const read = rightOf({ verbs: ['read'], entity, filters, fields: this.some(entity.properties, 60), becomes: null })
    const rights = [read, ...(target === entity || random.chance(30) ? [] : [this.read(target)])]
    if (random.chance(50)) rights.push(rightOf({ ...this.update(entity, rights), filters }))
    if (random.chance(30)) rights.push(this.write(random.pick(['create', 'delete'] as const), entity, rights))
    if (random.chance(30)) rights.push(this.update(target, rights))
    const isSame = (one: RandomRight, other: RandomRight) => one.entity === other.entity && one.verbs[0] === other.verbs[0]
    return rights.filter((right, at) => rights.findIndex((one) => isSame(one, right)) === at)
  }

  /** Draws rights to one or two named views, often with more filters, and to their entities: to read other rows, and to write. */
  viewer(views: readonly RandomView[]): RandomRight[] {
    const { random } = this
    const chosen = [...new Set([random.pick(views), ...(random.chance(40) ? [random.pick(views)] : [])])]
    const rights = chosen.map((view): RandomRight => {
      const shown = view.fields ?? view.entity.properties
      const filters = random.chance(50) ? this.filters(view.entity, 1, view.entity.properties) : []
      const fields = random.chance(40) ? this.some(shown, 60) : view.fields
      return rightOf({
        verbs: ['read'],
        entity: view.entity,
        view,
        filters: [...view.filters, ...filters],
        fields,
        becomes: null,
      })
    })
    for (const entity of this.entities) if (random.chance(45)) rights.push(this.read(entity))
    const { entity } = random.pick(chosen)
    if (random.chance(35)) rights.push(this.update(entity, rights))
    if (random.chance(35)) rights.push(this.write(random.pick(['create', 'delete'] as const), random.pick(this.entities), rights))
    return rights
  }

  /** Draws rights to all rows, and to some of the rows to which their references lead: only paths lead to hidden data. */
  behind(entity: Entity): RandomRight[] {
    const fields = this.random.chance(60) ? null : this.some(entity.properties, 60)
    const read = rightOf({ verbs: ['read'], entity, filters: [], fields, becomes: null })
    return [read, ...this.readTargets(entity).map((right) => this.read(right.entity))]
  }

  /** Draws rights to read all rows to which references lead. */
  readTargets(entity: Entity): RandomRight[] {
    const targets = new Set([entity])
    for (const { properties } of targets)
      for (const { reference } of properties) if (reference?.target) targets.add(reference.target)
    const others = [...targets].filter((target) => target !== entity)
    return others.map((target) => rightOf({ verbs: ['read'], entity: target, filters: [], fields: null, becomes: null }))
  }

  /** Draws rights to read some properties of all rows, and to set these in new rows. */
  readSome(entity: Entity): RandomRight[] {
    const read = rightOf({ verbs: ['read'], entity, filters: [], fields: this.some(entity.properties, 55), becomes: null })
    const fields = read.fields?.filter(({ writable }) => writable) ?? null
    if (this.random.chance(30) || fields?.length === 0) return [read]
    return [read, rightOf({ verbs: ['create'], entity, filters: [], fields, becomes: null })]
  }

  write(verb: Verb, entity: Entity, rights: readonly RandomRight[]): RandomRight {
    if (verb === 'create') return this.create(entity, rights)
    if (verb === 'update') return this.update(entity, rights)
    const filters = this.random.chance(60) ? this.filters(entity, 1, entity.properties) : []
    return rightOf({ verbs: ['delete'], entity, filters, fields: null, becomes: null })
  }

  /** Filters of a create are over what clients write, and most set a value. */
  private create(entity: Entity, rights: readonly RandomRight[]): RandomRight {
    const writable = entity.properties.filter((property) => property.writable)
    const filters = this.random.chance(75) ? this.filters(entity, 1, writable, ['=', '[]', '[]']) : []
    // A value that the right does not set must be one that the key may set.
    const checked = filters
      .filter(({ sign, property }) => sign !== '=' || property.related)
      .map((one) => ownProperty(one.property))
    const fields = this.settable(entity, rights, [...entity.required, ...checked])
    return rightOf({ verbs: ['create'], entity, filters, fields, becomes: null })
  }

  update(entity: Entity, rights: readonly RandomRight[]): RandomRight {
    const writable = entity.properties.filter((property) => property.writable)
    const fields = this.settable(entity, rights, [])
    if (this.random.chance(35))
      return rightOf({
        verbs: ['update'],
        entity,
        filters: this.random.chance(50) ? this.filters(entity, 1, writable) : [],
        fields,
        becomes: null,
      })
    // `Status=Requested becomes Status[]=Approved&Status[]=Declined`, of a property that may be set.
    const settable = (fields ?? writable).filter(({ kind }) => kind.name !== 'decimal')
    const property = this.random.pick(settable.length > 0 ? settable : writable)
    const filters = this.random.chance(80)
      ? [this.condition(entity, property, ['=', '[]', '!='])]
      : this.filters(entity, 1, writable)
    const becomes = [this.condition(entity, property, ['=', '[]', '[]', '!='])]
    if (this.random.chance(20))
      becomes.push(
        ...this.filters(
          entity,
          1,
          writable.filter((one) => one !== property),
        ),
      )
    return rightOf({ verbs: ['update'], entity, filters, fields, becomes })
  }

  /**
   * Draws the properties that may be set; null: all. Leaves out one side of a rule whose sides the key does not read, and a
   * reference whose copied value it reads in one entity and not in the other: such a right is refused.
   */
  private settable(entity: Entity, rights: readonly RandomRight[], needed: readonly Property[]): readonly Property[] | null {
    const writable = entity.properties.filter((property) => property.writable)
    const chosen = this.random.chance(30) ? writable : (this.some(writable, 50) ?? writable)
    const read = rights.find((right) => right.entity === entity && !right.view && right.verbs.includes('read'))
    const isRead = (property: Property) => read !== undefined && (read.fields === null || read.fields.includes(property))
    const isUnsafe = (property: Property) => {
      const rule = entity.rules.find(({ later, earlier }) => later === property || earlier === property)
      if (rule && !(isRead(rule.later) && isRead(rule.earlier))) return true
      if (property.reference === null) return false
      const copied = entity.properties.find((one) => sourcesOf(entity, one, this.entities).through?.reference === property)
      const isSeen = (right: RandomRight, one: Property) => right.fields === null || right.fields.includes(one)
      if (!copied || !rights.some((right) => right.entity === entity && right.verbs.includes('read') && isSeen(right, copied)))
        return false
      const target = targetOf(property, this.entities)
      const source = sourcesOf(entity, copied, this.entities).through?.property as Property
      const readers = rights.filter((right) => right.entity === target && right.verbs.includes('read'))
      return readers.length === 0 || !readers.every((right) => isSeen(right, source))
    }
    const safe = chosen.filter((property) => !isUnsafe(property))
    const all = new Set([...safe, ...needed])
    if (all.size === writable.length && this.random.chance(80)) return null
    return all.size === 0 ? [this.random.pick(writable.filter((property) => !isUnsafe(property)))] : [...all]
  }

  private some(properties: readonly Property[], percent: number): readonly Property[] | null {
    const chosen = properties.filter(() => this.random.chance(percent))
    return chosen.length === 0 ? [this.random.pick(properties)] : chosen
  }

  private filters(entity: Entity, count: number, properties: readonly Property[], signs?: readonly string[]): Condition[] {
    const chosen = new Set(
      Array.from({ length: count }, () => {
        const path = this.random.chance(45) ? randomPath(this.random, entity, properties, (target) => target.properties) : null
        return path ?? this.random.pick(properties)
      }),
    )
    return [...chosen].map((property) => this.condition(entity, property, signs))
  }

  private condition(entity: Entity, property: Property, signs?: readonly string[]): Condition {
    const end = endOf(entity, property)
    const served = operators.filter(({ serves }) => serves(property)).map(({ sign }) => sign)
    // Conditions of few rows and of many: with decimals and dates alone most rights would admit next to nothing.
    const sign = this.random.pick((signs ?? signsFor(end.property)).filter((one) => served.includes(one)))
    const draw = () => operandOf(this.random, end.property, idMaxOf(referredBy(end, this.entities), this.entities))
    if (sign === '[]') return { property, sign, values: [...new Set([draw(), draw(), ...this.random.times(3, draw)])] }
    if (sign === '[begins]' || sign === '[contains]') return { property, sign, values: [partOf(this.random, draw())] }
    const mayBeEmpty = (sign === '=' || sign === '!=') && property.kind.nullable && this.random.chance(15)
    return { property, sign, values: [mayBeEmpty ? '' : draw()] }
  }
}

/** The entity whose ids a property has: that to which it refers, or its own. */
function referredBy({ entity, property }: { entity: Entity; property: Property }, entities: readonly Entity[]): Entity {
  return property.reference ? targetOf(property, entities) : entity
}

/** Signs of operators, those that admit many rows more often. */
function signsFor({ kind, name, reference }: Property): readonly string[] {
  if (name === 'Id') return ['[]', '>', '<=', '!=']
  if (reference?.isToItself) return ['=', '[]', '!=', '<', '>=', '[under]', '[under]', '[under]']
  if (kind.name === 'boolean') return ['=', '!=']
  if (kind.name === 'text') return ['=', '[]', '!=', '!=', '[begins]', '[contains]', '<', '>=']
  return ['=', '[]', '!=', '!=', '<', '<=', '>', '>=']
}

function operandOf(random: Random, property: Property, idMax: number): string {
  return randomValue(random, property, idMax) || 'Ada'
}

/** Draws a part of a text that has more than accents. */
function partOf(random: Random, text: string): string {
  const characters = Array.from(text)
  const part = characters.slice(0, 1 + random.below(3)).join('')
  return /[a-z0-9]/i.test(part) ? part : 'o'
}

/** Writes the right as one would type it. */
export function rightOf(right: Omit<RandomRight, 'text'>): RandomRight {
  const { verbs, entity, view, fields, becomes } = right
  const [verb] = verbs as [Verb]
  const named = fields === view?.fields ? null : fields
  const address = addressOf(pathOf(right), { entity, filters: ownFilters(right), fields: named })
  const after = becomes === null ? '' : ` becomes ${becomes.flatMap(parametersOf).join('&')}`
  return { ...right, text: `${verb} ${address}${after}` }
}

/** Returns the path of what the right is about. */
export function pathOf({ entity, view }: Pick<RandomRight, 'entity' | 'view'>): string {
  return view?.name ?? entity.plural
}

/** Returns the conditions that the right has in addition to those of its named view. */
function ownFilters({ filters, view }: Pick<RandomRight, 'filters' | 'view'>): readonly Condition[] {
  return filters.slice(view?.filters.length ?? 0)
}

/** Writes an address without its slash in front. */
export function addressOf(path: string, { entity, filters, fields }: Omit<RandomView, 'name'>): string {
  const parameters = [...filters.flatMap(parametersOf), ...(fields === null ? [] : [`fields=${namesOf(entity, fields)}`])]
  return parameters.length === 0 ? path : `${path}?${parameters.join('&')}`
}

/** Returns the names of the properties; an object has its own name if all its properties are among them. */
function namesOf({ members }: Entity, fields: readonly Property[]): string {
  return members
    .flatMap((member) => {
      if (!isGroup(member)) return fields.includes(member) ? [member.name] : []
      const parts = member.properties.filter((part) => fields.includes(part))
      return parts.length === member.properties.length ? [member.name] : parts.map(({ name }) => name)
    })
    .join()
}

/** Returns the parameters of a condition, as in the query string of a list. */
export function parametersOf({ property, sign, values }: Condition): string[] {
  const operands = values.map((value) => encodeURIComponent(typed(property, value)))
  if (sign.startsWith('[')) return operands.map((operand) => `${property.name}${sign}=${operand}`)
  // A value that begins with an operator needs another in front.
  const needsSign = sign !== '=' || /^[=<>!]/.test(values[0] ?? '')
  return operands.map((operand) => `${property.name}=${needsSign ? encodeURIComponent(sign) : ''}${operand}`)
}

/** Returns the value as clients write it. */
export function typed({ kind }: Property, printed: string): string {
  if (printed === '') return ''
  if (kind.name === 'instant') return `${printed.slice(0, 10)}T${printed.slice(11, 19)}Z`
  if (kind.name === 'boolean') return printed === 't' ? 'true' : 'false'
  return printed
}

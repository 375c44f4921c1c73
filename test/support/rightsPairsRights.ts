// Random rights in the grammar of `keys create --right`, as text and as data. The tests use the data, so that they also find
// faults in how the server reads the text.
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
  /** A property of the entity itself, or a path. */
  readonly property: Property
  /** Sign of the operator. A sign in brackets follows the name in parameters. */
  readonly sign: string
  /** Values as PostgreSQL prints them; '' means no value. Only `[]` has several. */
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
  /** Named view of the right, whose conditions come first in `filters`. Undefined: the right is to the entity itself. */
  readonly view?: RandomView
  readonly filters: readonly Condition[]
  /** Properties that the right names; null: all. The id is left out where a right always includes it. */
  readonly fields: readonly Property[] | null
  readonly becomes: readonly Condition[] | null
  readonly text: string
}

/** A key with its rights. */
export interface RandomKey {
  readonly rights: readonly RandomRight[]
  /** The rights, one a line. */
  readonly text: string
}

const WRITES: readonly Verb[] = ['create', 'update', 'delete']

/** Kinds of keys, which take turns. Most kinds have a right to read, because a key that reads nothing finds few faults. */
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

/**
 * Returns a key with the same rights, but with other values in their conditions, like the key of another partner; null if no
 * value differs.
 */
export function twinOf(random: Random, key: RandomKey, entities: readonly Entity[]): RandomKey | null {
  let differs = false
  const conditions = key.rights.flatMap((right) => [...ownFilters(right), ...(right.becomes ?? [])])
  // Mostly one of several conditions differs, so that a fault that ignores this condition is found.
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

/** Returns the key with less to read: fewer properties, fewer rows, or no right to read. */
export function narrowerKey(random: Random, { rights }: RandomKey): RandomKey {
  // If a key has several rights to read a collection, all of them must show the same properties.
  const fieldsOf = new Map<string, readonly Property[]>()
  const narrowed = rights.flatMap((right): RandomRight[] => {
    const { entity, verbs, filters } = right
    if (!verbs.includes('read')) return [right]
    // Without any right to read an entity, a writing key may learn which of its rows exist; with filters it may not. So a right
    // with filters stays.
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

  /**
   * Draws several rights to one verb, as the roles of a person give them, and one or two rights to read each of some other
   * entities.
   */
  person(entity: Entity): RandomRight[] {
    const { random } = this
    const rights = this.readSeveral(entity, 2 + random.below(2))
    for (const other of this.entities)
      if (other !== entity && random.chance(60)) rights.push(...this.readSeveral(other, 1 + random.below(2)))
    for (const verb of WRITES)
      for (let left = random.below(4); left > 0; left--) {
        // Some rights differ only in their properties, and others in the conditions on their rows.
        const known = rights.filter((right) => right.verbs.includes(verb))
        const right = this.write(verb, entity, rights)
        rights.push(known.length > 0 && random.chance(30) ? rightOf({ ...right, filters: random.pick(known).filters }) : right)
      }
    const texts = new Map(rights.map((right) => [right.text, right]))
    return [...texts.values()]
  }

  private readSeveral(entity: Entity, count: number): RandomRight[] {
    const fields = this.random.chance(40) ? null : this.some(entity.properties, 60)
    // Most conditions are on properties that clients write. With other conditions, a write could make any row readable for the
    // key, and nothing would be hidden.
    const own = entity.properties.filter((property) => property.writable || property === entity.id)
    return Array.from({ length: count }, () => {
      const filters = this.filters(entity, 1 + this.random.below(2), this.random.chance(85) ? own : entity.properties)
      return rightOf({ verbs: ['read'], entity, filters, fields, becomes: null })
    })
  }

  /**
   * Draws a right to rows that have one of several values in one property, and not a certain value in another, as partners have
   * it.
   */
  readOfPartner(entity: Entity): RandomRight {
    const texts = entity.properties.filter(({ kind, writable }) => kind.name === 'text' && writable)
    const property = this.random.pick(texts)
    const others = entity.properties.filter((one) => one !== property && one.writable)
    const filters = [this.condition(entity, property, ['[]']), this.condition(entity, this.random.pick(others), ['!='])]
    const fields = new Set([property, ...(this.some(entity.properties, 40) ?? [])])
    return rightOf({ verbs: ['read'], entity, filters, fields: [...fields], becomes: null })
  }

  /**
   * Draws rights to some rows of the entities to which this entity refers. The rights include the properties that this entity
   * copies.
   */
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

  /**
   * Draws rights to rows whose references lead to certain rows, as a manager has them, and often rights to these referred rows.
   */
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

  /** Draws rights to one or two named views, often with more filters, and rights to read and write entities. */
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

  /**
   * Draws a right to all rows, and rights to some of the rows to which their references lead, so that only paths lead to hidden
   * data.
   */
  behind(entity: Entity): RandomRight[] {
    const fields = this.random.chance(60) ? null : this.some(entity.properties, 60)
    const read = rightOf({ verbs: ['read'], entity, filters: [], fields, becomes: null })
    return [read, ...this.readTargets(entity).map((right) => this.read(right.entity))]
  }

  /** Draws rights to all rows of all entities to which references lead. */
  readTargets(entity: Entity): RandomRight[] {
    const targets = new Set([entity])
    for (const { properties } of targets)
      for (const { reference } of properties) if (reference?.target) targets.add(reference.target)
    const others = [...targets].filter((target) => target !== entity)
    return others.map((target) => rightOf({ verbs: ['read'], entity: target, filters: [], fields: null, becomes: null }))
  }

  /** Draws a right to read some properties of all rows, and mostly a right to set these properties in new rows. */
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

  /**
   * Draws a right to create rows. Its conditions are on properties that clients write: `=` sets the value, and `[]` restricts it.
   */
  private create(entity: Entity, rights: readonly RandomRight[]): RandomRight {
    const writable = entity.properties.filter((property) => property.writable)
    const filters = this.random.chance(75) ? this.filters(entity, 1, writable, ['=', '[]', '[]']) : []
    // If a condition on a property does not set its value, the right must let clients set it.
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
    // The right is like `Status=Requested becomes Status[]=Approved&Status[]=Declined`, with a property that it may set.
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
   * Draws the properties that a right may set; null: all. Leaves out properties with which the server refuses the right: a side
   * of a rule if the key does not read both sides, and a reference if the key reads its copied value in one of the two entities
   * only.
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
    // Operators that match many rows are also drawn: with decimals and dates alone, most rights would match hardly any row.
    const sign = this.random.pick((signs ?? signsFor(end.property)).filter((one) => served.includes(one)))
    const draw = () => operandOf(this.random, end.property, idMaxOf(referredBy(end, this.entities), this.entities))
    if (sign === '[]') return { property, sign, values: [...new Set([draw(), draw(), ...this.random.times(3, draw)])] }
    if (sign === '[begins]' || sign === '[contains]') return { property, sign, values: [partOf(this.random, draw())] }
    const mayBeEmpty = (sign === '=' || sign === '!=') && property.kind.nullable && this.random.chance(15)
    return { property, sign, values: [mayBeEmpty ? '' : draw()] }
  }
}

/**
 * Returns the entity whose ids are the values of a property: for a reference the entity to which it leads, else its own entity.
 */
function referredBy({ entity, property }: { entity: Entity; property: Property }, entities: readonly Entity[]): Entity {
  return property.reference ? targetOf(property, entities) : entity
}

/** Returns signs of operators to draw from. Signs that match many rows are more frequent. */
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

/** Draws a beginning of a text with a letter or digit; `o` if it has none. */
function partOf(random: Random, text: string): string {
  const characters = Array.from(text)
  const part = characters.slice(0, 1 + random.below(3)).join('')
  return /[a-z0-9]/i.test(part) ? part : 'o'
}

/** Returns the right with its text, as an operator would type it. */
export function rightOf(right: Omit<RandomRight, 'text'>): RandomRight {
  const { verbs, entity, view, fields, becomes } = right
  const [verb] = verbs as [Verb]
  const named = fields === view?.fields ? null : fields
  const address = addressOf(pathOf(right), { entity, filters: ownFilters(right), fields: named })
  const after = becomes === null ? '' : ` becomes ${becomes.flatMap(parametersOf).join('&')}`
  return { ...right, text: `${verb} ${address}${after}` }
}

/** Returns the path of the right's named view or entity. */
export function pathOf({ entity, view }: Pick<RandomRight, 'entity' | 'view'>): string {
  return view?.name ?? entity.plural
}

/** Returns the conditions that the right has in addition to those of its named view. */
function ownFilters({ filters, view }: Pick<RandomRight, 'filters' | 'view'>): readonly Condition[] {
  return filters.slice(view?.filters.length ?? 0)
}

/** Returns an address without the slash at its beginning. */
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
  // If a value begins with an operator, an operator must precede it.
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

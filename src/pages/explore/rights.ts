// What the rights of a person mean for the page: which rows are hers, which she decides, which are her team's, and what she may
// create. The templates of her rights say so: `read Absences?EmployeeId={me.Id}` makes absences hers.
import {
  type Condition,
  conditionOf,
  findNamed,
  lowerFirst,
  type Property,
  type Resource,
  type Right,
  roleOf,
  wordsOf,
} from './resources.ts'

/** Rows of a resource that form one part of the start page, such as the person's own absences. */
export interface Part {
  readonly resource: Resource
  /** Words for the heading and for links: `My absences`. */
  readonly words: string
  /** Filters that find exactly these rows. For rows to decide, `may` is one of the filters. */
  readonly filters: readonly Condition[]
  /** Id of the only row; null: there may be several. */
  readonly id: string | null
}

/** Rows that a person may create. */
export interface Creation {
  readonly collection: string
  /** True if a right sets a reference of the new row to the person, as for her own absence. */
  readonly isMine: boolean
}

/** Meaning of a person's rights for her start page: its parts, further rows that she may read, and what she may create. */
export interface Meaning {
  readonly toDecide: readonly Part[]
  readonly mine: readonly Part[]
  readonly team: readonly Part[]
  /** Entities of which the person may read more rows than `mine` and `team` show. */
  readonly collections: readonly Resource[]
  /** Views of which the person may read more rows than `mine` and `team` show. */
  readonly views: readonly Resource[]
  readonly creations: readonly Creation[]
}

/**
 * Rows that a right admits: `record`: the person's own row, or a row to which her row refers; `mine`: rows that refer to her;
 * `team`: rows of her team, department or company; `all`: rows without such a relation to her.
 */
type Scope = 'record' | 'mine' | 'team' | 'all'

/** A right, and the scope of the rows that it admits. */
interface Scoped {
  readonly right: Right
  readonly scope: Scope
  readonly words: string
}

/**
 * A condition of a right's template that compares a property of a row with a property of the person's row: `EmployeeId={me.Id}` →
 * `EmployeeId`, `=`, `Id`.
 */
interface OwnCondition {
  readonly name: string
  readonly sign: string
  readonly own: string
}

const ALL = { scope: 'all', words: '' } as const

/** Returns the parts of the start page that follow from the rights of a person. */
export function meaningOf(resources: readonly Resource[], rights: readonly Right[]): Meaning {
  const scopedOf = (resource: Resource, verb: string) =>
    rights
      .filter((right) => right.verb === verb && right.collection === resource.plural)
      .map((right) => ({ right, ...scopeOf(resource, right) }))
  const reads = new Map(resources.map((resource) => [resource, scopedOf(resource, 'read')]))
  const mine = distinct([...reads].flatMap(([resource, scoped]) => mineOf(resource, scoped)))
  const team = distinct([...reads].flatMap(([resource, scoped]) => teamOf(resource, scoped, resources)))
  const shown = new Set([...mine, ...team].map(partKey))
  const rest = [...reads].filter(([resource, scoped]) => scoped.some((one) => !shown.has(`${resource.plural} ${one.words}`)))
  const others = rest.map(([resource]) => resource)
  return {
    toDecide: resources.flatMap((resource) => toDecideOf(resource, scopedOf(resource, 'update'))),
    // Lists come before the person's own record: she comes for the lists, and the record is long.
    mine: mine.toSorted((one, other) => Number(one.id !== null) - Number(other.id !== null)),
    team,
    collections: others.filter(({ entity, rowsOf }) => entity === rowsOf),
    views: others.filter(({ entity, rowsOf }) => entity !== rowsOf),
    creations: creationsOf(rights),
  }
}

const partKey = ({ resource, words }: Part) => `${resource.plural} ${words}`

/** Leaves out parts that have the same words as an earlier part: a view and its entity can both show the person's row. */
function distinct(parts: readonly Part[]): readonly Part[] {
  return parts.filter(({ words }, index) => parts.findIndex((other) => other.words === words) === index)
}

/**
 * Returns the scope of a right, and words for the scope, by the right's template. Rights of keys have no template, and the scope
 * `all`.
 */
function scopeOf(resource: Resource, right: Right): Pick<Scoped, 'scope' | 'words'> {
  const scopes = ownConditions(right).map((condition) => scopeOfCondition(resource, condition))
  // The scope nearest to the person counts. So a right for her own rows keeps its scope if it has further conditions.
  return ['record', 'mine', 'team'].flatMap((wanted) => scopes.find(({ scope }) => scope === wanted) ?? [])[0] ?? ALL
}

/** Returns the conditions of a right that compare a property with `{me.…}`, by `=` or by an operator in brackets. */
function ownConditions({ template }: Right): OwnCondition[] {
  const [, query = ''] = /^\w+ [^?\s]+\?(.*?)(?: becomes .*)?$/s.exec(template ?? '') ?? []
  return query.split('&').flatMap((pair) => {
    const [, name, bracket, own] = /^([\w.]+)(\[\w*\])?=\{me\.([\w.]+)\}$/.exec(pair) ?? []
    return name === undefined || own === undefined ? [] : { name, sign: bracket ?? '=', own }
  })
}

function scopeOfCondition(resource: Resource, { name, sign, own }: OwnCondition): Pick<Scoped, 'scope' | 'words'> {
  const words = wordsOf(resource.plural)
  const property = findNamed(resource.properties, name)
  const isOwn = property !== undefined || !name.includes('.')
  const isOfMe = isId(own)
  const isOne = sign === '=' || sign === '[]'
  if (isOne && isId(name)) return { scope: 'record', words: isOfMe ? 'My record' : `My ${lowerFirst(roleOf(wordsOf(own)))}` }
  if (!isOfMe) return { scope: 'team', words: `${words} of my ${lowerFirst(roleOf(wordsOf(own)))}` }
  if (!isOwn || !isOne) return { scope: 'team', words: isOwn ? 'My team' : `${words} of my team` }
  if (property?.references === resource.rowsOf) return { scope: 'team', words: 'My team' }
  if (isAside(resource, property)) return { scope: 'team', words: `${words}, as ${lowerFirst(roleOf(property.label))}` }
  return { scope: 'mine', words: `My ${lowerFirst(words)}` }
}

/**
 * Returns words for the rows of a resource that the reader may read. Returns an empty text if she may read all rows. A right is
 * described by the words of its scope, and by the conditions that these words do not cover. `print`: returns a condition in
 * words.
 */
export function admittedInWords(resource: Resource, rights: readonly Right[], print: (condition: Condition) => string): string {
  if (resource.conditions.length === 0) return ''
  const reads = rights.filter(({ verb, collection }) => verb === 'read' && collection === resource.plural)
  const words = reads.map((right) => {
    const scope = scopeOf(resource, right)
    const own = ownConditions(right).map(({ name }) => name)
    const conditions = right.filters.map(conditionOf)
    const others = scope.scope === 'all' ? conditions : conditions.filter(({ name }) => !own.includes(name))
    return [...(scope.words === '' ? [] : [lowerFirst(scope.words)]), ...others.map(print)].join(', ')
  })
  return `Only ${[...new Set(words)].join('; or ')}`
}

/**
 * True for a reference such as `ApproverId` if another reference to the same entity, such as `EmployeeId`, says whose row it is.
 */
function isAside({ properties }: Resource, property: Property | undefined): property is Property {
  const isPlain = ({ name, references }: Property) => name.toLowerCase() === `${references}id`.toLowerCase()
  if (!property || isPlain(property)) return false
  return properties.some((other) => other.references === property.references && isPlain(other))
}

/**
 * Returns the parts with the person's own rows: her row, and rows that refer to her. Rights with the same words make one part.
 */
function mineOf(resource: Resource, scoped: readonly Scoped[]): Part[] {
  return labelsOf(scoped, ['record', 'mine']).flatMap((words) => {
    const own = scoped.filter((one) => one.words === words)
    const conditions = commonConditions(own)
    const filters = conditions.filter(({ name }) => isVisible(resource, name))
    // A filter is left out if the person may not see its property. If she may also read rows of other people, the list without
    // this filter would show these rows, too: then the part is left out.
    if (filters.length < conditions.length && own.length < scoped.length) return []
    const id = own[0]?.scope === 'record' ? (filters.find(({ name }) => isId(name))?.values[0] ?? null) : null
    return { resource, words, filters, id }
  })
}

/** Returns the parts with rows of the person's team, department or company. */
function teamOf(resource: Resource, scoped: readonly Scoped[], resources: readonly Resource[]): Part[] {
  const labels = labelsOf(scoped, ['team'])
  const others = scoped.filter(({ scope }) => scope !== 'team')
  return labels.flatMap((words) => {
    const conditions = commonConditions(scoped.filter((one) => one.words === words))
    const isAsked = conditions.every(({ name }) => isVisible(resource, name) || isReadPath(resource, name, resources))
    const filters = isAsked ? conditions : labels.length === 1 ? withoutMine(resource, others) : null
    return filters === null ? [] : { resource, words, filters, id: null }
  })
}

/**
 * Returns the part with the rows that wait for the person's decision. A right to update is a right to decide if it limits the
 * values of a property after the update, and admits rows of other people.
 */
function toDecideOf(resource: Resource, updates: readonly Scoped[]): Part[] {
  const ofOthers = updates.filter(({ right, scope }) => right.becomes !== null && (scope === 'team' || scope === 'all'))
  const name = ofOthers[0]?.right.becomes?.[0]?.property
  if (name === undefined) return []
  const deciding = ofOthers.filter(({ right }) => right.becomes?.some(({ property }) => property === name))
  const own = updates.filter((one) => !ofOthers.includes(one) && maySet(one.right, name))
  const may = { name: 'may', sign: '=', values: [`update(${name})`] }
  const filters = [may, ...openValues(deciding, name), ...(withoutMine(resource, own) ?? [])]
  return [{ resource, words: wordsOf(resource.plural), filters, id: null }]
}

/**
 * Returns the filter for the values before a decision, such as `Status=Requested`. Returns no filter if one of the rights names
 * no such values.
 */
function openValues(deciding: readonly Scoped[], name: string): Condition[] {
  const before = deciding.map(({ right }) =>
    right.filters.map(conditionOf).find((one) => one.name === name && (one.sign === '=' || one.sign === '[]')),
  )
  if (before.some((one) => one === undefined)) return []
  const values = [...new Set(before.flatMap((one) => one?.values ?? []))]
  return [{ name, sign: values.length === 1 ? '=' : '[]', values }]
}

/**
 * Returns the filter that leaves out the rows that refer to the person, such as `EmployeeId=!=1`. `others`: the rights that admit
 * these rows; if it is empty, the result is empty, too. Returns null if no single filter leaves out these rows, or if one of
 * `others` admits rows that do not refer to her.
 */
function withoutMine(resource: Resource, others: readonly Scoped[]): Condition[] | null {
  if (others.some(({ scope }) => scope !== 'mine')) return null
  const own = others.map(({ right }) => {
    const { name = '' } = ownConditions(right)[0] ?? {}
    return right.filters.map(conditionOf).find((one) => one.name.toLowerCase() === name.toLowerCase() && one.sign === '=')
  })
  if (own.length === 0) return []
  const [first] = own
  const isOne = first !== undefined && own.every((one) => one?.name === first.name) && isVisible(resource, first.name)
  return isOne ? [{ ...first, sign: '!=' }] : null
}

/** Returns the conditions that all of these rights have. If they share none, returns the conditions of the first right. */
function commonConditions(scoped: readonly Scoped[]): Condition[] {
  const [first = [], ...rest] = scoped.map(({ right }) => right.filters.map(conditionOf))
  const isSame = (one: Condition) => (other: Condition) => JSON.stringify(one) === JSON.stringify(other)
  const common = first.filter((one) => rest.every((conditions) => conditions.some(isSame(one))))
  return common.length > 0 ? common : first
}

function labelsOf(scoped: readonly Scoped[], scopes: readonly Scope[]): string[] {
  return [...new Set(scoped.filter(({ scope }) => scopes.includes(scope)).map(({ words }) => words))]
}

const isId = (name: string) => name.toLowerCase() === 'id'
const isVisible = ({ properties }: Resource, name: string) => findNamed(properties, name) !== undefined

/**
 * True if the person may read all rows to which a path leads. A filter by the path then finds the same rows as a right with the
 * same condition.
 */
function isReadPath({ properties, related }: Resource, path: string, resources: readonly Resource[]): boolean {
  const reference = findNamed(properties, findNamed(related, path)?.through ?? '')
  const target = resources.find(({ entity }) => entity === reference?.references)
  return target?.conditions.length === 0
}

/**
 * Returns the name of the property that a decision sets, such as `Status`. Returns null if no right of this resource is for
 * decisions.
 */
export function stateOf({ plural }: Resource, rights: readonly Right[]): string | null {
  const decisions = rights.filter(({ collection, becomes }) => collection === plural && becomes !== null)
  return decisions[0]?.becomes?.[0]?.property ?? null
}

function creationsOf(rights: readonly Right[]): Creation[] {
  const creating = rights.filter(({ verb }) => verb === 'create')
  return [...new Set(creating.map(({ collection }) => collection))].map((collection) => ({
    collection,
    isMine: creating.some((right) => right.collection === collection && ownConditions(right).some(isMe)),
  }))
}

const isMe = ({ name, sign, own }: OwnCondition) => sign === '=' && isId(own) && !name.includes('.')
const maySet = ({ properties }: Right, name: string) =>
  properties === null || findNamed(properties.map(named), name) !== undefined
const named = (name: string) => ({ name })

/** A value that was changed: `Status` from `Requested` to `Approved`. */
export interface Decision {
  readonly collection: string
  readonly name: string
  readonly from: string
  readonly to: string
}

/**
 * Returns whether a right may allow the opposite change: checks the right's conditions on the changed property. Only the server
 * can check the right's conditions on other properties, by `may`.
 */
export function mayUndo(rights: readonly Right[], { collection, name, from, to }: Decision): boolean {
  const ofName = (filters: Right['filters']) => filters.map(conditionOf).filter((one) => one.name === name)
  return rights.some((right) => {
    if (right.verb !== 'update' || right.collection !== collection || !maySet(right, name)) return false
    const before = ofName(right.filters)
    const becomes = ofName(right.becomes ?? [])
    return before.every(admits(to)) && (becomes.length > 0 ? becomes : before).every(admits(from))
  })
}

/**
 * Returns a function that tells whether a condition admits this value. A condition admits no value if its operator is not `=`,
 * `[]` or `!=`.
 */
function admits(value: string): (condition: Condition) => boolean {
  return ({ sign, values }) => {
    if (sign === '=' || sign === '[]') return values.includes(value)
    return sign === '!=' && !values.includes(value)
  }
}

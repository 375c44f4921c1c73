// Variables of the roles file: recognizes them, finds what they mean, and checks whether a property can have their values.
import { Refused } from '../errors.ts'
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import type { KindName } from '../model/kinds.ts'
import { haveOf, withArticle } from '../model/names.ts'
import { type Condition, filterOf, parseCondition } from '../parse/filter.ts'
import { findMember } from '../parse/names.ts'
import { suggestProperty } from '../parse/nearestProperty.ts'
import type { Parameter } from '../parse/parameters.ts'
import type { ReadFilter } from '../rights/grammar.ts'
import { OpenFilter, type Variable } from '../rights/openFilter.ts'
import { ANY_TIME, timeFor } from './requestTime.ts'

/** Variables that a line can have. `{today}` and `{now}` are allowed in every line. */
export interface Scope {
  /** Entity of the person's own row; null if the line `me` is missing or faulty. */
  readonly me: Entity | null
  /** Reason why claims cannot be used in this line; null if they can be used. */
  readonly claimsRefusal: string | null
  /** Reason why properties of `me` cannot be used in this line; null if they can be used. */
  readonly ownRefusal: string | null
}

/** Matches a variable. Its name cannot have characters that mean something in a query string. */
const VARIABLE = /^\{([^{}%+&#\s]{1,100})\}$/
const OWN = 'me.'

/** Returns a reader of filters whose operands may be variables. */
export function filterReader(scope: Scope): ReadFilter {
  return (view, parameter, others = []) => {
    const condition = parseCondition(view, parameter, others)
    const name = variableIn(parameter, condition)
    if (name === null || !condition.property.kind.isCompared) return filterOf(condition)
    const variable = readVariable(name, scope)
    checkFit(condition, view.whole, variable, scope)
    return new OpenFilter(condition, variable)
  }
}

/**
 * Returns the name of the variable that is the whole operand; null if the operand is a text. Braces are looked for before the
 * text is decoded, so that `%7Bx%7D` is a text. @throws Refused if braces stand within a text
 */
function variableIn({ raw }: Parameter, { property, operand }: Condition): string | null {
  const written = raw.slice(raw.indexOf('=') + 1)
  if (!/[{}]/.test(written)) return null
  const [, name] = VARIABLE.exec(operand) ?? []
  if (name !== undefined && written.endsWith(operand)) return name
  throw new Refused(
    `{ and } stand around the name of a variable, which is the whole value of ${property.name}. In a text write %7B and %7D.`,
  )
}

/** Returns the variable that a name in braces means. @throws Refused for a name that is not a variable */
export function readVariable(name: string, { me, claimsRefusal, ownRefusal }: Scope): Variable {
  const lower = name.toLowerCase()
  const time = (['today', 'now'] as const).find((one) => one === lower)
  if (time !== undefined && time !== name) throw new Refused(`there is no variable {${name}}: write {${time}}.`)
  if (time !== undefined) return { kind: time, name }
  const isOwn = lower === 'me' || lower.startsWith(OWN)
  const refusal = isOwn ? ownRefusal : claimsRefusal
  if (refusal !== null) throw new Refused(`{${excerpt(name, 60)}} has no value here: ${refusal}`)
  if (!isOwn) return { kind: 'claim', name }
  // The line "me" has a fault. The variable is read as a claim, which can have any value, so that the line with the variable can
  // be checked.
  if (me === null) return { kind: 'claim', name }
  if (lower === 'me') throw new Refused(`{me} is a row: write {me.Id}, or another property of ${me.plural}.`)
  const property = ownProperty(me, name.slice(OWN.length))
  return { kind: 'own', name: OWN + property.name, property }
}

function ownProperty(me: Entity, name: string): Property {
  const member = findMember(me, name)
  if (member && !isGroup(member)) {
    if (member.kind.isCompared) return member
    throw new Refused(`{${OWN}${member.name}} is ${member.kind.allowed}, with which nothing is compared.`)
  }
  if (member)
    throw new Refused(
      `{${OWN}${member.name}} is an object: name one of its parts, as ${member.properties.map((part) => `{${OWN}${part.name}}`).join(', ')}.`,
    )
  throw new Refused(`${me.plural} ${haveOf(me)} no property "${excerpt(name, 60)}".${suggestProperty(name, me.properties)}`)
}

/** Kinds whose values a property can have in addition to values of its own kind, by the kind of the property. */
const TAKES: Readonly<Record<KindName, readonly KindName[]>> = {
  text: ['oneOf'],
  oneOf: ['text'],
  uuid: ['text'],
  boolean: [],
  integer: [],
  decimal: ['integer'],
  date: [],
  instant: [],
  json: [],
}

/** Checks that a property can have the values of a variable, as far as the values are known. @throws Refused */
function checkFit({ property, operator }: Condition, owner: Entity, variable: Variable, { me }: Scope) {
  if (variable.kind === 'claim') return
  const { name, kind } = property
  if (variable.kind !== 'own') {
    if (timeFor(variable.kind, kind, ANY_TIME) !== null) return
    throw misfit(variable, variable.kind === 'now' ? 'a date-time' : 'a date', property)
  }
  const own = variable.property
  const wanted = entityOfIds(property, owner)
  const given = entityOfIds(own, me as Entity)
  if (wanted !== null && given !== null && wanted !== given) {
    const filtered = operator.isChain ? name + operator.sign : name
    throw new Refused(`{${variable.name}} is the id of ${withArticle(given)}, and ${filtered} the id of ${withArticle(wanted)}.`)
  }
  if (own.kind.name !== kind.name && !TAKES[kind.name].includes(own.kind.name)) throw misfit(variable, own.kind.allowed, property)
}

function misfit({ name }: Variable, what: string, property: Property): Refused {
  return new Refused(`{${name}} is ${what}, and ${property.name} must be ${property.kind.allowed}.`)
}

/** Returns the name of the entity whose ids are the property's values; null if the values are no ids. */
function entityOfIds(property: Property, owner: Entity): string | null {
  const { related, reference } = property
  if (related) return entityOfIds(related.property, related.view.whole)
  if (reference) return reference.entity
  return property === owner.id ? owner.name : null
}

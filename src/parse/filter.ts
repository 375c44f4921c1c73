import { ApiError } from '../errors.ts'
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { Mismatch } from '../model/kinds.ts'
import { RESERVED_PARAMETERS } from '../model/names.ts'
import { suggest } from '../model/nearest.ts'
import { type Operator, operators } from '../model/operators.ts'
import type { Filter } from '../model/query.ts'
import { shown } from '../model/shown.ts'
import { hintForForeign } from './foreignParameters.ts'
import { findMember } from './names.ts'
import type { Parameter } from './queryString.ts'

/** More would make one request as costly as hundreds. */
export const FILTERS_MAX = 32

const firstCharacters = new Set(operators.map(({ prefix }) => prefix.charCodeAt(0)))
const longestFirst = [...operators].sort((a, b) => b.prefix.length - a.prefix.length)
const equality = operators.find((operator) => operator.prefix === '=') as Operator

/** One filter. Spec 4.2, Filtering. @throws ApiError UnknownParameter, InvalidFilter; the target is the parameter */
export function parseFilter(entity: Entity, { name, value: text }: Parameter): Filter {
  const property = findProperty(entity, name)
  const operator = operatorOf(text)
  const operand = operator ? text.slice(operator.prefix.length) : text
  return checkFilter(property, operator ?? equality, operand)
}

/** The operator that a parameter's value begins with. */
function operatorOf(text: string): Operator | undefined {
  if (!firstCharacters.has(text.charCodeAt(0))) return undefined
  return longestFirst.find(({ prefix }) => text.startsWith(prefix))
}

function findProperty(entity: Entity, name: string): Property {
  const member = findMember(entity, name)
  if (!member) throw unknownParameter(entity, name)
  if (!isGroup(member)) return member
  const parts = member.properties.map((part) => part.name).join(', ')
  throw new ApiError('InvalidFilter', `${member.name} is an object: filter by one of ${parts}.`, {
    target: member.name,
  })
}

// `Start>=2024` is split at its =, so what is left of the operator stands in the name.
const MISPLACED_OPERATOR = new RegExp(`^(.*?)(${longestFirst.map(({ prefix }) => prefix.replace(/\W/g, '\\$&')).join('|')})`)

function unknownParameter(entity: Entity, name: string): ApiError {
  const known = [...entity.properties.map((property) => property.name), ...RESERVED_PARAMETERS]
  const [, before = '', operator] = MISPLACED_OPERATOR.exec(`${name}=`) ?? []
  const hint = entity.byName.has(before.toLowerCase())
    ? ` An operator stands behind the first =, as in ${before}=${operator}<value>.`
    : (hintForForeign(entity, name) ?? suggest(name, known))
  return new ApiError('UnknownParameter', `${entity.plural} has no parameter "${shown(name)}".${hint}`, {
    target: shown(name),
  })
}

function checkFilter(property: Property, operator: Operator, operand: string): Filter {
  if (!operator.serves(property.kind)) {
    const served = operators.filter(({ serves }) => serves(property.kind)).map(({ prefix }) => prefix)
    throw invalid(
      property,
      `is ${property.kind.allowed}: it can be compared with ${served.join(' and ')}, not with ${operator.prefix}`,
    )
  }
  if (operand === '') {
    if (!operator.compileEmpty) throw invalid(property, `needs a value behind ${operator.prefix}`)
    return { property, operator, value: null }
  }
  try {
    return { property, operator, value: property.kind.parseFilter(operand) }
  } catch (error) {
    if (error instanceof Mismatch) throw invalid(property, error.message)
    throw error
  }
}

function invalid(property: Property, reason: string): ApiError {
  return new ApiError('InvalidFilter', `${property.name} ${reason}.`, { target: property.name })
}

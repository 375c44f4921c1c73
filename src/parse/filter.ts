// Filters of a query string: operators before the value or in brackets, lists of values with `[]`, and hints for misspelled
// filters.
import { ApiError } from '../errors.ts'
import { type Group, isGroup, type Property } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { foldText } from '../model/fold.ts'
import { Mismatch } from '../model/kinds.ts'
import { haveOf, RESERVED_PARAMETERS } from '../model/names.ts'
import { ANY_IN_WORDS, brackets, equality, type Operator, operators, prefixes } from '../model/operators.ts'
import { type Filter, isOfOtherRows, type Reach } from '../model/query.ts'

import { arrayText } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { findMember, listed } from './names.ts'
import { suggestProperty } from './nearestProperty.ts'
import { hintForOperator, hintForValue } from './otherApiFilters.ts'
import { hintForParameter } from './otherApiHints.ts'
import type { Parameter } from './parameters.ts'
import { chainsOf, faultOfPath, findRelated, meantPath } from './paths.ts'

/** Maximum number of filters of a request. With more filters, one request could cost as much as hundreds of requests. */
export const FILTERS_MAX = 32

/** Maximum number of filters by a path or by `[under]`, which also read rows to which the filtered rows refer. D91 */
export const RELATED_FILTERS_MAX = 8

/**
 * Maximum number of values in all `[]` filters of a request. With more values, one filter could cost as much as many filters. D71
 */
export const VALUES_MAX = 100

const firstCharacters = new Set(prefixes.map(({ sign }) => sign[0]))
const longestFirst = [...prefixes].sort((a, b) => b.sign.length - a.sign.length)
/** Matches `LastName[contains]`: a property, and an operator in brackets. */
const BRACKETED = /^([^[\]]+)(\[[^[\]]*\])$/

/** A filter whose operand is not read yet. */
export interface Condition {
  readonly property: Property
  readonly operator: Operator
  /** The operand as the client wrote it, decoded. */
  readonly operand: string
  /** View of the rows through which the chain of `[under]` leads. */
  readonly chain?: View
}

/**
 * Parses a filter. `others`: parameters that are not filters, for hints. Spec 4.2 @throws ApiError whose target is the parameter
 */
export function parseFilter(view: View, parameter: Parameter, others: readonly string[] = RESERVED_PARAMETERS): Filter {
  return filterOf(parseCondition(view, parameter, others))
}

/** Parses the property and the operator of a filter. @throws ApiError whose target is the parameter */
export function parseCondition(view: View, parameter: Parameter, others: readonly string[]): Condition {
  const { name, value: text } = parameter
  const [, before = name, bracket] = name.endsWith(']') ? (BRACKETED.exec(name) ?? []) : []
  const member = findMember(view, before) ?? findRelated(view, before)
  if (!member) throw unknownParameter(view, parameter, others)
  if (isGroup(member))
    throw invalidFilter(member, `is an object: filter by one of ${member.properties.map((part) => part.name).join(', ')}`)
  if (bracket !== undefined) return parseBracketed(view, member, bracket, parameter)
  const operator = firstCharacters.has(text[0]) ? longestFirst.find(({ sign }) => text.startsWith(sign)) : undefined
  return checkServed(view, member, operator ?? equality, operator ? text.slice(operator.sign.length) : text)
}

/** Reads the operand of a filter. @throws ApiError InvalidFilter */
export function filterOf(condition: Condition): Filter {
  const { property, operator, chain } = condition
  const value = readOperand(condition)
  if (chain) return { property, operator, value, chain }
  return operator.isAny ? anyFilter(property, operator, [value]) : { property, operator, value }
}

/** Adds a filter; several `[]` of one property become one filter with all their values. D71 @throws ApiError TooManyFilters */
export function addFilter(filters: Filter[], filter: Filter): void {
  const { property, operator, anyOf } = filter
  const at = anyOf ? filters.findIndex((other) => other.anyOf && other.property === property) : -1
  if (at < 0) filters.push(filter)
  else filters[at] = anyFilter(property, operator, [...(filters[at]?.anyOf ?? []), ...(anyOf ?? [])])
  if (filters.length > FILTERS_MAX) throw new ApiError('TooManyFilters', `A request may have up to ${FILTERS_MAX} filters.`)
  if (filters.filter(isOfOtherRows).length > RELATED_FILTERS_MAX) {
    const message = `A request may have up to ${RELATED_FILTERS_MAX} filters by paths or by [under], as by ${property.name}.`
    throw new ApiError('TooManyFilters', message)
  }
  const values = filters.reduce((sum, { anyOf = [] }) => sum + anyOf.length, 0)
  if (values <= VALUES_MAX) return
  const message = `A request may have up to ${VALUES_MAX} values in parameters such as ${property.name}[].`
  throw new ApiError('TooManyFilters', message)
}

/**
 * Appends the filters of the view and, if the request has `may`, the filters of its reach. The appended filters do not count as
 * filters of the request, and are not merged with the request's filters: otherwise a client's `Status[]=Declined` would widen a
 * right's `Status[]=Approved`.
 */
export function withFiltersOf({ filters: ofView }: View, filters: readonly Filter[], may: Reach | null): readonly Filter[] {
  const ofRights = may === null ? ofView : [...ofView, ...may.filters]
  return ofRights.length === 0 ? filters : [...filters, ...ofRights]
}

/**
 * Makes a filter of several values. They are sorted, so that the same values give the same filter in any order. Sorting takes
 * null and the text `null` for equal, so null is put first.
 */
export function anyFilter(property: Property, operator: Operator, values: readonly (string | null)[]): Filter {
  const anyOf = [...new Set(values.includes(null) ? [null, ...values] : values)].sort()
  return { property, operator, value: arrayText(anyOf), anyOf }
}

function parseBracketed(view: View, property: Property, bracket: string, { name, value }: Parameter): Condition {
  const lower = bracket.toLowerCase()
  const operator = brackets.find(({ sign, isAny }) => sign === lower || (isAny && lower === ANY_IN_WORDS))
  if (!operator) {
    const known = brackets.filter(({ serves }) => serves(property)).map(({ sign }) => property.name + sign)
    const path = meantPath(view, name)
    const meant = path === null ? ` In brackets there are ${known.join(', ')}.` : ` Did you mean ${path.name}?`
    const hint = hintForOperator(property, bracket, value) ?? meant
    const target = excerpt(name)
    throw new ApiError('UnknownParameter', `${view.plural} has no parameter "${target}".${hint}`, { target })
  }
  const condition = checkServed(view, property, operator, value)
  return operator.isChain ? { ...condition, chain: chainOf(view, property) } : condition
}

/**
 * Returns the view of the rows through which a chain of references leads. These are the rows of the entity that has the
 * reference, as the request may read them; for a named view, the rows of the named view, because a right to read the entity may
 * hide the reference.
 */
function chainOf(view: View, property: Property): View {
  const { related } = property
  if (related) return chainOf(related.view, related.property)
  return view.collection === view.whole ? (view.related(property) ?? view) : view
}

// `Start>=2024` is split at its `=`, so the start of the operator ends up in the name.
const MISPLACED_OPERATOR = new RegExp(`^(.*?)(${longestFirst.map(({ sign }) => sign.replace(/\W/g, '\\$&')).join('|')})`)

function unknownParameter(view: View, parameter: Parameter, others: readonly string[]): ApiError {
  const { name } = parameter
  const [, before = '', operator] = MISPLACED_OPERATOR.exec(`${name}=`) ?? []
  const isMisplaced = findMember(view, before) ?? findRelated(view, before)
  const [, base = name] = BRACKETED.exec(name) ?? []
  const hint = isMisplaced
    ? ` An operator follows the first =, as in ${before}=${operator}<value>.`
    : (hintForParameter(view, parameter, others) ??
      faultOfPath(view, base) ??
      suggestProperty(base, view.properties, others, meantPath(view, base)))
  const target = excerpt(name)
  return new ApiError('UnknownParameter', `${view.plural} has no parameter "${target}".${hint}`, { target })
}

/** Returns the condition if the property has the operator. @throws ApiError InvalidFilter */
function checkServed(view: View, property: Property, operator: Operator, operand: string): Condition {
  if (operator.serves(property)) return { property, operator, operand }
  const served = operators.filter(({ serves }) => serves(property)).map(({ sign }) => sign)
  const comparable = `it can be compared with ${listed(served, 'and')}, not with ${operator.sign}`
  throw invalidFilter(property, `is ${property.kind.allowed}: ${comparable}`, operator.isChain ? chainHint(view) : '')
}

/**
 * Returns the operand as text for PostgreSQL; null: the operand is empty, which means "no value". @throws ApiError InvalidFilter
 */
function readOperand({ property, operator, operand }: Condition): string | null {
  if (operand === '') {
    if (!operator.compileEmpty) throw invalidFilter(property, `needs a value behind ${operator.sign}`)
    return null
  }
  if (operator.folded && foldText(operand) === '')
    throw invalidFilter(property, `needs more than accents behind ${operator.sign}: they do not count`)
  try {
    return property.kind.parseFilter(operand)
  } catch (error) {
    if (error instanceof Mismatch) throw invalidFilter(property, error.message, hintForValue(property, operand))
    throw error
  }
}

/** Returns a hint that lists the references which `[under]` accepts. */
function chainHint(view: View): string {
  const names = chainsOf(view)
  const known = names.length === 0 ? `of which ${view.plural} ${haveOf(view)} none` : `as ${listed(names, 'or')}`
  return ` [under] takes references to rows of their own kind, ${known}.`
}

function invalidFilter({ name }: Property | Group, reason: string, hint = ''): ApiError {
  return new ApiError('InvalidFilter', `${name} ${reason}.${hint}`, { target: name })
}

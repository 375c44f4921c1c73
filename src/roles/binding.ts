// Binds variables: values of a claim or a cell become typed operands. They never become operators or text of a query string.
import type { Property } from '../model/entity.ts'
import { foldText } from '../model/fold.ts'
import { type Kind, Mismatch } from '../model/kinds.ts'
import type { Filter } from '../model/query.ts'
import type { Claims } from '../model/token.ts'
import { anyFilter } from '../parse/filter.ts'
import { isOpen, type OpenFilter, type Variable } from '../rights/openFilter.ts'
import { type RequestTime, timeFor } from './requestTime.ts'

type Scalar = string | number | boolean

/** Values of a variable: at least one value. */
interface Values {
  readonly values: readonly Scalar[]
  readonly isList: boolean
}

/** Reason why a variable has no value, or no value that the property can have: then the right does not exist. */
export class Missing {
  /**
   * `told`: the reason in words for the person herself, if her own claim is at fault. The words reveal nothing of the roles file
   * but the name of the claim. `told` is null if the person is told no reason.
   */
  constructor(
    readonly reason: string,
    readonly told: string | null = null,
  ) {}
}

/** Maximum number of values of a claim that is a list. */
const LIST_LENGTH_MAX = 1_000

/** Sources of values for variables. */
export interface Bindings {
  readonly claims: Claims
  /** False if the claim `email` must not be used. */
  readonly isEmailVerified: boolean
  /** Returns the cell of the person's own row, as PostgreSQL prints it. */
  ownCell(property: Property): string | null
  readonly time: RequestTime
}

/** Binds all filters. Filters without a variable stay as they are. */
export function bindFilters(filters: readonly Filter[], bindings: Bindings): readonly Filter[] | Missing {
  const bound: Filter[] = []
  for (const filter of filters) {
    const one = isOpen(filter) ? bindFilter(filter, bindings) : filter
    if (one instanceof Missing) return one
    bound.push(one)
  }
  return bound
}

function bindFilter(filter: OpenFilter, bindings: Bindings): Filter | Missing {
  const { property, operator, variable, chain } = filter
  const found = valuesOf(variable, property.kind, bindings)
  if (found instanceof Missing) return found
  if (found.isList && !operator.isAny)
    return unusable(variable, `{${variable.name}} is a list, which only ${property.name}[] takes`)
  const operands: string[] = []
  for (const value of found.values) {
    const operand = operandOf(value, property.kind)
    // A folded operator ignores accents, so a text of nothing but accents leaves nothing to search for.
    if (operand === null || (operator.folded && foldText(operand) === ''))
      return unusable(variable, `{${variable.name}} is no value of ${property.name}, which must be ${property.kind.allowed}`)
    operands.push(operand)
  }
  if (operator.isAny) return anyFilter(property, operator, operands)
  const value = operands[0] as string
  return chain ? { property, operator, value, chain } : { property, operator, value }
}

function unusable({ kind, name }: Variable, reason: string): Missing {
  return new Missing(reason, kind === 'claim' ? unusableClaim(name) : null)
}

function unusableClaim(name: string): string {
  return `the claim ${name} of your token has no value that could be used`
}

/**
 * Returns true if a variable has this value, or is a list with this value; otherwise the reason why not. The variable is a claim,
 * or a property of the person's own row.
 */
export function hasValue(variable: Variable, value: string, bindings: Bindings): true | Missing {
  const found = variable.kind === 'own' ? ownValues(variable, bindings) : claimValues(variable.name, bindings)
  if (found instanceof Missing || found.values.includes(value)) return found instanceof Missing ? found : true
  return new Missing(`{${variable.name}} ${found.isList ? 'has' : 'is'} not ${value}`)
}

/** Returns the values of a variable for a property of this kind. */
function valuesOf(variable: Variable, kind: Kind, bindings: Bindings): Values | Missing {
  if (variable.kind === 'claim') return claimValues(variable.name, bindings)
  return variable.kind === 'own' ? ownValues(variable, bindings) : single(timeFor(variable.kind, kind, bindings.time) as string)
}

function ownValues({ name, property }: Variable & { kind: 'own' }, bindings: Bindings): Values | Missing {
  const cell = bindings.ownCell(property)
  if (cell === null || cell === '') return new Missing(`{${name}} is empty`)
  const { readText } = property.kind
  return single(String(readText ? readText(cell) : cell))
}

function single(value: Scalar): Values {
  return { values: [value], isList: false }
}

/** Returns the values of a claim. A list must have texts, numbers or booleans, and no empty text. */
function claimValues(name: string, { claims, isEmailVerified }: Bindings): Values | Missing {
  const value = claimOf(claims, name)
  if (value === undefined || value === null)
    return new Missing(`the token has no claim ${name}`, `your token has no claim ${name}`)
  if (name === 'email' && !isEmailVerified)
    return new Missing('the claim email is not verified', 'your e-mail address is not verified')
  const isList = Array.isArray(value)
  const values: readonly unknown[] = isList ? value : [value]
  const faulty = (fault: string, told = unusableClaim(name)) => new Missing(`the claim ${name} ${fault}`, told)
  if (values.length === 0 || value === '')
    return faulty(`is an empty ${isList ? 'list' : 'text'}`, `the claim ${name} of your token is empty`)
  if (values.length > LIST_LENGTH_MAX) return faulty(`has more than ${LIST_LENGTH_MAX} values`)
  if (values.includes('')) return faulty('has an empty text')
  if (!values.every(isScalar)) return faulty('is neither a text, a number nor true or false, nor a list of these')
  return { values, isList }
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
}

/**
 * Returns the value of a claim: `a.b` is the claim with this name, or else `b` in the object `a`. Properties that objects inherit
 * do not count.
 */
function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
    const outer = name.slice(0, dot)
    if (!Object.hasOwn(claims, outer)) continue
    const inner = claims[outer]
    return typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? claimOf(inner as Claims, name.slice(dot + 1))
      : undefined
  }
  return undefined
}

/**
 * Returns a value as an operand for a property of this kind; null if no such property can have the value. A text of digits counts
 * as a number, too.
 */
function operandOf(value: Scalar, kind: Kind): string | null {
  if (typeof value === 'number' && !takesNumber(kind, value)) return null
  if (typeof value === 'boolean' && kind.jsonType !== 'boolean') return null
  const text = String(value)
  if (!text.isWellFormed()) return null
  try {
    return kind.parseFilter(text)
  } catch (error) {
    if (error instanceof Mismatch) return null
    throw error
  }
}

/**
 * Returns whether properties of this kind can have a JSON number. An integer that is not safe is refused: it may have lost digits
 * when it was parsed.
 */
function takesNumber({ jsonType, hasFraction }: Kind, value: number): boolean {
  return jsonType === 'number' && (hasFraction || Number.isSafeInteger(value))
}

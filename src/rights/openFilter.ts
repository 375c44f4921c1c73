// Filters of the roles file whose operand is a variable, such as `WorkEmail={email}`.
import type { Property } from '../model/entity.ts'
import type { Operator } from '../model/operators.ts'
import type { Filter } from '../model/query.ts'
import type { View } from '../model/view.ts'
import type { Condition } from '../parse/filter.ts'

/** A name in braces in the roles file: a claim, a property of the person's own row, or a time. */
export type Variable =
  | { readonly kind: 'claim'; readonly name: string }
  | { readonly kind: 'own'; readonly name: string; readonly property: Property }
  | { readonly kind: 'today' | 'now'; readonly name: string }

/**
 * A filter whose operand is known only at a request. At the request, the filter is bound to values. If it cannot be bound, its
 * right does not exist for this request.
 */
export class OpenFilter implements Filter {
  readonly property: Property
  readonly operator: Operator
  readonly chain?: View

  constructor(
    { property, operator, chain }: Condition,
    readonly variable: Variable,
  ) {
    this.property = property
    this.operator = operator
    if (chain) this.chain = chain
  }

  /** @throws Error at each call, so that no statement can mistake an open filter for a filter by "no value" */
  get value(): never {
    throw new Error(`{${this.variable.name}} is not bound`)
  }
}

export function isOpen(filter: Filter): filter is OpenFilter {
  return filter instanceof OpenFilter
}

// Binds a right of the roles file. The result is a right without variables, or the reason why the right does not exist.
import type { Right } from '../model/access.ts'
import type { Filter } from '../model/query.ts'
import { isPreset } from '../rights/accesses.ts'
import { presetFault } from '../rights/checks.ts'
import { contradictionOf } from '../rights/contradictions.ts'
import { isOpen } from '../rights/openFilter.ts'
import { printRight } from '../rights/print.ts'
import { type Bindings, bindFilters, Missing } from './binding.ts'

/** Returns the right with the values of its variables. A right without variables is returned as it is. */
export function bindRight(right: Right, bindings: Bindings): Right | Missing {
  const { verb, collection, properties } = right
  const open = [...right.filters, ...(right.becomes ?? [])].filter(isOpen)
  if (open.length === 0) return right
  const filters = bindFilters(right.filters, bindings)
  if (filters instanceof Missing) return filters
  const becomes = right.becomes && bindFilters(right.becomes, bindings)
  if (becomes instanceof Missing) return becomes
  const fault = verb === 'create' ? faultOfPresets(filters.filter(isPreset)) : null
  if (fault !== null) return new Missing(fault)
  const bound = { verb, collection, filters, properties, becomes }
  const made = { ...bound, text: printRight(bound) }
  if (!open.some(isTime)) return made
  const signed = {
    ...bound,
    filters: withTimesOpen(right.filters, filters),
    becomes: becomes && withTimesOpen(right.becomes ?? [], becomes),
  }
  return { ...made, signedText: printRight(signed) }
}

/**
 * Returns the reason why a right cannot set these values: a value cannot be stored, or one property would need two values.
 * Returns null if the right can set them.
 */
function faultOfPresets(presets: readonly Filter[]): string | null {
  return presets.map(presetFault).find((fault) => fault !== null) ?? contradictionOf(presets)
}

/**
 * Returns `bound`, but with the variables `{today}` and `{now}` instead of their values. `open`: the same filters before binding.
 */
function withTimesOpen(open: readonly Filter[], bound: readonly Filter[]): readonly Filter[] {
  return open.map((filter, index) => (isTime(filter) ? filter : (bound[index] as Filter)))
}

/** Returns whether the value of a filter is the time of the request. */
function isTime(filter: Filter): boolean {
  return isOpen(filter) && (filter.variable.kind === 'today' || filter.variable.kind === 'now')
}

// The rights of a key or a person as JSON, for `GET /Rights`.
import type { GrantedRights, Origin, Right } from '../model/access.ts'
import type { Filter } from '../model/query.ts'
import { type Reply, respondJson } from './reply.ts'

/** JSON of one condition of a right. */
type FilterJson =
  | { readonly property: string; readonly operator: string; readonly value: string | null }
  | { readonly property: string; readonly operator: string; readonly values: readonly (string | null)[] }

/**
 * JSON of one right. `properties`: null if the right covers all properties. `role` and `template`: null if the right is of a key.
 */
interface RightJson {
  readonly text: string
  readonly role: string | null
  readonly template: string | null
  readonly collection: string
  readonly verb: Right['verb']
  readonly properties: readonly string[] | null
  readonly filters: readonly FilterJson[]
  readonly becomes: readonly FilterJson[] | null
}

export function respondRights({ rights, origins }: Pick<GrantedRights, 'rights' | 'origins'>): Reply {
  return respondJson(200, JSON.stringify(rights.map((right) => jsonOf(right, origins.get(right)))))
}

function jsonOf({ text, collection, verb, properties, filters, becomes }: Right, origin?: Origin): RightJson {
  return {
    text,
    role: origin?.role ?? null,
    template: origin?.template ?? null,
    collection: collection.plural,
    verb,
    properties: properties?.map(({ name }) => name) ?? null,
    filters: filters.map(filterJson),
    becomes: becomes?.map(filterJson) ?? null,
  }
}

/** Returns the JSON of a filter. Operands are texts, as in requests; null stands for "no value". */
function filterJson({ property: { name }, operator: { sign }, value, anyOf }: Filter): FilterJson {
  return anyOf ? { property: name, operator: sign, values: anyOf } : { property: name, operator: sign, value }
}

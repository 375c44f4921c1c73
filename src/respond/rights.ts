// The rights of a key as JSON, for `GET /Rights`.
import type { Right } from '../model/access.ts'
import type { Filter } from '../model/query.ts'
import { type Reply, respondJson } from './reply.ts'

/** JSON of one condition of a right. */
type FilterJson =
  | { readonly property: string; readonly operator: string; readonly value: string | null }
  | { readonly property: string; readonly operator: string; readonly values: readonly (string | null)[] }

/** JSON of one right. `properties` is null for all. */
interface RightJson {
  readonly text: string
  readonly collection: string
  readonly verb: Right['verb']
  readonly properties: readonly string[] | null
  readonly filters: readonly FilterJson[]
  readonly becomes: readonly FilterJson[] | null
}

export function respondRights(rights: readonly Right[]): Reply {
  return respondJson(200, JSON.stringify(rights.map(jsonOf)))
}

function jsonOf({ text, entity, verb, properties, filters, becomes }: Right): RightJson {
  return {
    text,
    collection: entity.plural,
    verb,
    properties: properties?.map(({ name }) => name) ?? null,
    filters: filters.map(filterJson),
    becomes: becomes?.map(filterJson) ?? null,
  }
}

/** Operands are texts, as in requests; null stands for no value. */
function filterJson({ property: { name }, operator: { sign }, value, anyOf }: Filter): FilterJson {
  return anyOf ? { property: name, operator: sign, values: anyOf } : { property: name, operator: sign, value }
}

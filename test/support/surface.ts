import type { OpenApi } from '../../src/describe/openApi.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { KindName } from '../../src/model/kinds.ts'

// Targets of random requests: what entities and the OpenAPI document describe. So new entities and operations are attacked, too.

export interface AimedField {
  /** Name in parameters, such as `Period.Days`. */
  readonly name: string
  readonly kind: KindName
}

/** Maximum number of paths that begin with the same reference, so that requests with own properties are not rare. */
const BEHIND_MAX = 8

type AimedNamed = Pick<Entity['properties'][number], 'name' | 'kind'>

export interface AimedCollection {
  readonly plural: string
  /** Properties that filters and sorts accept. */
  readonly properties: readonly AimedField[]
  /** Properties that bodies accept. */
  readonly writable: readonly AimedField[]
}

export interface Surface {
  readonly collections: readonly AimedCollection[]
  /** Paths in the document that belong to no entity; parameters are in braces. */
  readonly pages: readonly string[]
  /** Headers that any operation reads. */
  readonly headers: readonly string[]
}

// biome-ignore lint/suspicious/noExplicitAny: a document as it is read
type Json = any

export function surfaceOf(entities: readonly Entity[], document: OpenApi): Surface {
  const collections = entities.map(({ plural, properties }) => ({
    plural,
    properties: [...properties, ...relatedOf(properties, namesIn(document, plural))].map(fieldOf),
    writable: properties.filter(({ writable }) => writable).map(fieldOf),
  }))
  const isPage = (path: string) => !entities.some(({ plural }) => path.split('/')[1] === plural)
  const named = new Set(
    Object.values(document.paths)
      .flatMap((item: Json) => [item, ...Object.values(item)])
      .flatMap(({ parameters = [] }: Json) => parameters)
      .map((one: Json) => (one.$ref ? document.components.parameters?.[one.$ref.split('/').at(-1)] : one))
      .filter((one: Json) => one.in === 'header')
      .map((one: Json) => one.name as string),
  )
  return { collections, pages: Object.keys(document.paths).filter(isPage), headers: [...named] }
}

/** Names of the parameters that the document lists for a list. */
function namesIn({ paths }: OpenApi, plural: string): ReadonlySet<string> {
  const { parameters = [] } = (paths as Json)[`/${plural}`]?.get ?? {}
  return new Set(parameters.map(({ name }: Json) => name))
}

/** Returns the related properties for which the document lists paths. */
function relatedOf(properties: Entity['properties'], named: ReadonlySet<string>): AimedNamed[] {
  return properties.flatMap(({ name, reference }) => {
    const paths = (reference?.target?.properties ?? []).map((property) => ({
      name: `${name}.${property.name}`,
      kind: property.kind,
    }))
    return paths.filter((path) => named.has(path.name)).slice(0, BEHIND_MAX)
  })
}

function fieldOf({ name, kind }: AimedNamed): AimedField {
  return { name, kind: kind.name }
}

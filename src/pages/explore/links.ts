// Links to the rows that references name. A link leads to the entity or to a view of it. A row that the reader may not read gets
// no link.
import { useEffect, useState } from 'preact/hooks'
import { readJson, send } from './api.ts'
import { knownStore, type Property, type Resource, type Row, valueIn } from './resources.ts'
import { emptyView, printPath, printView } from './view.ts'

/** A row that a reference names. */
export interface Found {
  readonly resource: Resource
  readonly id: string
  readonly href: string
}

/** True if the reader finds all rows of the entity in this resource; a view may leave some out. */
const isWhole = ({ entity, rowsOf, conditions }: Resource) => entity === rowsOf && conditions.length === 0

/**
 * Returns the resources that show rows of an entity. Resources without conditions come first. Among resources with conditions,
 * and among those without, the entity comes before its views.
 */
export function resourcesOfRows(entity: string | null): readonly Resource[] {
  const rank = (one: Resource) => (one.conditions.length === 0 ? 0 : 2) + (one.entity === one.rowsOf ? 0 : 1)
  const found = knownStore.value.resources.filter(({ rowsOf }) => rowsOf === entity)
  return found.toSorted((one, other) => rank(one) - rank(other))
}

/**
 * Returns the row that a reference names; for a copied name, the row from which the name is copied. Returns null if there is no
 * such row, if no resource shows it, or if the property belongs to a related row.
 */
export function referredBy({ properties }: Resource, property: Property, row: Row): Found | null {
  const reference = property.copiedThrough ? properties.find(({ name }) => name === property.copiedThrough) : property
  if (!reference?.references || property.through !== null) return null
  const [resource] = resourcesOfRows(reference.references)
  const value = valueIn(row, reference)
  if (!resource || value === null) return null
  const id = String(value)
  const filters = [{ name: 'Id', sign: '=', values: [id] }]
  return { resource, id, href: printView({ ...emptyView(resource.plural), filters, row: id }) }
}

const nameOf = ({ resource, id }: Pick<Found, 'resource' | 'id'>) => `${resource.plural}/${id}`

/**
 * Hook that returns a function: it tells whether the reader may read a referred row. If a resource may leave out rows of its
 * entity, one request finds out which of the referred rows it shows.
 */
export function useReadable(resource: Resource, rows: readonly Row[]): (found: Found) => boolean {
  const [readable, setReadable] = useState<ReadonlySet<string>>(new Set())
  const paths = pathsOf(resource, rows)
  useEffect(() => {
    const controller = new AbortController()
    for (const [target, path] of paths)
      send(path, { signal: controller.signal })
        .then(readJson)
        .then((found: readonly Row[]) => {
          const names = found.map(({ id }) => nameOf({ resource: target, id: String(id) }))
          setReadable((before) => new Set([...before, ...names]))
        })
        // Without an answer there are no links.
        .catch(() => {})
    return () => controller.abort()
  }, [[...paths.values()].join(' ')])
  return (found) => isWhole(found.resource) || readable.has(nameOf(found))
}

/**
 * Returns a path for each resource that may leave out rows of its entity. The path finds the referred rows that the resource
 * shows.
 */
function pathsOf(resource: Resource, rows: readonly Row[]): ReadonlyMap<Resource, string> {
  const asked = rows.flatMap((row) => resource.properties.flatMap((property) => referredBy(resource, property, row) ?? []))
  const byResource = Map.groupBy(asked, (found) => found.resource)
  const pathOf = (target: Resource, found: readonly Found[]) => {
    const values = [...new Set(found.map(({ id }) => id))]
    return printPath(target.plural, [{ name: 'Id', sign: '[]', values }], { fields: 'Id', PageSize: '50' })
  }
  return new Map([...byResource].filter(([target]) => !isWhole(target)).map(([target, found]) => [target, pathOf(target, found)]))
}

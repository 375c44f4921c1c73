// Rows by their names: those whose name has a part, for a reference to choose from, and the name of a row with a known id.
import { useEffect, useState } from 'preact/hooks'
import { readJson, send } from './api.ts'
import { formatValue } from './format.ts'
import { nameIn, nameParts, namingProperty, tellingProperty } from './names.ts'
import { type Condition, findNamed, type Resource, type Row, valueIn, wordsOf } from './resources.ts'
import { type Filter, printPath } from './view.ts'

/** A row that can be chosen. */
export interface Hit {
  readonly id: string
  readonly name: string
  /** A second fact, which tells rows of one name apart. */
  readonly fact: string
}

const HITS_MAX = 10

/** Finds up to ten rows whose name has this part, or the first ones, of those that match `targets`. @throws Problem */
export async function findHits(
  collections: readonly Resource[],
  targets: readonly Condition[],
  part: string,
  signal: AbortSignal,
): Promise<readonly Hit[]> {
  const found = await Promise.all(
    collections.flatMap((collection) => {
      // A view may not show what a right compares; then the server compares it when the row is saved.
      const shown = targets.filter((one) => findNamed(collection.properties, one.name) !== undefined)
      if (part === '') return readHits(collection, shown, signal)
      return nameParts(collection).map(({ name, hasParts }) =>
        readHits(collection, [{ name, sign: hasParts ? '[contains]' : '=', values: [part] }, ...shown], signal),
      )
    }),
  )
  const byId = new Map(found.flat().map((hit) => [hit.id, hit]))
  return [...byId.values()].slice(0, HITS_MAX)
}

async function readHits(collection: Resource, filters: readonly Filter[], signal?: AbortSignal): Promise<readonly Hit[]> {
  const naming = namingProperty(collection)
  const telling = tellingProperty(collection)
  const named = [...nameParts(collection), telling].flatMap((property) => property?.name ?? [])
  const parameters = { fields: ['Id', ...named].join(), PageSize: String(HITS_MAX), sort: naming?.name }
  const response = await send(printPath(collection.plural, filters, parameters), signal ? { signal } : {})
  const rows: readonly Row[] = await readJson(response)
  const textOf = (row: Row, property: typeof telling) => {
    const value = property && valueIn(row, property)
    return property && value !== null && value !== '' ? formatValue(property, value) : ''
  }
  return rows.map((row) => ({
    id: String(row.id),
    name: nameIn(collection, row) || `${wordsOf(collection.entity)} ${row.id}`,
    fact: textOf(row, telling) || `id ${row.id}`,
  }))
}

/** Returns the name of the row with this id in the collections; its id if the reader may not read it. @throws Problem */
async function readName(collections: readonly Resource[], id: string): Promise<string> {
  for (const collection of collections) {
    const [hit] = await readHits(collection, [{ name: 'Id', sign: '=', values: [id] }])
    if (hit) return hit.name
  }
  return id
}

/** Returns the name of the row that a field has; it is asked for if the form does not know it. */
export function useNameOf(collections: readonly Resource[], id: string, known: string): string {
  const [read, setRead] = useState({ id: '', name: '' })
  const isAsked = known === '' && /^\d+$/.test(id)
  useEffect(() => {
    let isCurrent = true
    if (isAsked)
      readName(collections, id).then(
        (name) => isCurrent && setRead({ id, name }),
        // The id is a name, too.
        () => undefined,
      )
    return () => {
      isCurrent = false
    }
  }, [id, isAsked])
  if (id === '') return ''
  return known || (read.id === id && read.name) || id
}

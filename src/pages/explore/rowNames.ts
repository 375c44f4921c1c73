// Finds rows by a part of their name, for the field of a reference, and the name of a row by its id.
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
  /** A fact that tells rows with the same name apart. */
  readonly fact: string
}

const HITS_MAX = 10

/**
 * Finds up to `HITS_MAX` rows that match `targets` and whose name contains `part`. If the API cannot search for parts of the
 * name, the name must be equal to `part`. An empty part finds the first rows. @throws Problem
 */
export async function findHits(
  collections: readonly Resource[],
  targets: readonly Condition[],
  part: string,
  signal: AbortSignal,
): Promise<readonly Hit[]> {
  const found = await Promise.all(
    collections.flatMap((collection) => {
      // A view can hide a property that `targets` names. Then only the server checks the condition on this property, when the
      // form is saved.
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

/** Returns the name of the row with this id in the collections, or the id if the reader may not read the row. @throws Problem */
async function readName(collections: readonly Resource[], id: string): Promise<string> {
  for (const collection of collections) {
    const [hit] = await readHits(collection, [{ name: 'Id', sign: '=', values: [id] }])
    if (hit) return hit.name
  }
  return id
}

/**
 * Hook that returns the name of the row with this id, or the id while the name is not known. `known`: the name, if the form has
 * it; empty: the name is requested.
 */
export function useNameOf(collections: readonly Resource[], id: string, known: string): string {
  const [read, setRead] = useState({ id: '', name: '' })
  const isAsked = known === '' && /^\d+$/.test(id)
  useEffect(() => {
    let isCurrent = true
    if (isAsked)
      readName(collections, id).then(
        (name) => isCurrent && setRead({ id, name }),
        // Without an answer, the id stands for the name.
        () => undefined,
      )
    return () => {
      isCurrent = false
    }
  }, [id, isAsked])
  if (id === '') return ''
  return known || (read.id === id && read.name) || id
}

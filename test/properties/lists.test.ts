import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { anyField, type Draft, draft, filter, sort } from '../support/arbitraries.ts'
import {
  type Collection,
  collections,
  type Field,
  type Filter,
  inOrder,
  matches,
  type Row,
  related,
  relatedValue,
  type Sort,
} from '../support/model.ts'
import { pageLinksOf } from '../support/pageLinks.ts'
import { create, type Known, reset } from '../support/records.ts'
import { rounds } from '../support/rounds.ts'
import type { Answer } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const server = useServer()

/** Empties the database and creates a record for each draft; returns the expected rows of the collection. */
async function arrange(collection: Collection, drafts: Draft[]) {
  const known: Known = await reset(server)
  const rows: Row[] = collection === 'Absences' ? [] : known[collection]
  for (const one of drafts) rows.push(await create(server, collection, one, known))
  for (const row of rows) for (const { name } of related[collection]) row[name] = relatedValue(collection, name, row, known)
  return rows
}

interface ListRequest {
  filters: Filter[]
  sorts: Sort[]
  /** The chosen properties; empty: all. */
  fields: Field[]
  pageSize: number
  page: number
  path: string
  /** Parameters as sent, in random order. */
  parameters: [string, string][]
}

function listRequest(collection: Collection): fc.Arbitrary<ListRequest> {
  return fc
    .record({
      filters: fc.array(filter(collection), { maxLength: 3 }),
      sorts: fc.array(sort(collection), { maxLength: 4 }),
      fields: fc.array(anyField(collection), { maxLength: 4 }),
      pageSize: fc.constantFrom(null, '1', '5', '6', '20', '50', '75', '-3'),
      page: fc.constantFrom(null, '1', '1', '2', '2', '3', '4', '9', '999999999999999999999'),
      path: fc.constantFrom(`/${collection}`, `/${collection.toLowerCase()}`, `/${collection}/`),
      shuffle: fc.array(fc.nat(), { minLength: 7, maxLength: 7 }),
      spelling: fc.constantFrom<'as' | 'lower' | 'upper'>('as', 'lower', 'upper'),
    })
    .map(({ filters, sorts, fields, pageSize, page, path, shuffle, spelling }) => {
      const spell = SPELLINGS[spelling]
      const parameters = filters.map(({ field, text }): [string, string] => [spell(field.name), encodeURIComponent(text)])
      const definitions = sorts.map(({ field, sign }) => sign + spell(field.name))
      if (definitions.length > 0) parameters.push(['sort', definitions.join(',')])
      if (fields.length > 0) parameters.push(['fields', ['Id', ...fields.map(({ name }) => spell(name))].join()])
      if (pageSize !== null) parameters.push([spell('PageSize'), pageSize])
      if (page !== null) parameters.push(['page', page])
      const order = new Map(parameters.map((parameter, index) => [parameter, shuffle[index] ?? 0]))
      parameters.sort((one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0))
      return {
        filters,
        sorts,
        fields: fields.filter((field) => related[collection].includes(field)),
        pageSize: clampedSize(Number(pageSize ?? 20)),
        page: Number(page ?? 1),
        path,
        parameters,
      }
    })
}

/** Returns the pages of the links of a page, in the links' order. Spec 4.3, D29, D31 */
function linkedPages(page: number, pageSize: number, total: number): [string, number][] {
  const last = Math.max(1, Math.ceil(total / pageSize))
  const links: [string, number][] = []
  if (page > 1) links.push(['first', 1], ['previous', Math.min(page - 1, last)])
  if (page < last) links.push(['next', page + 1])
  if (page !== last) links.push(['last', last])
  return links
}

/** Returns the page size that applies. Spec 4.2, Paging 2. D28 */
function clampedSize(pageSize: number): number {
  return Math.min(50, Math.max(5, pageSize))
}

const SPELLINGS = {
  as: String,
  lower: (name: string) => name.toLowerCase(),
  upper: (name: string) => name.toUpperCase(),
}

const queryOf = (parameters: [string, string][]) => parameters.map(([name, value]) => `${name}=${value}`).join('&')
const linksOf = (answer: Answer, header: 'location' | 'link') =>
  pageLinksOf(answer, header).map(({ relation, url }) => {
    const kept = [...url.searchParams].filter(([name]) => name !== 'page' && name !== 'cursor')
    return { relation, address: url.origin + url.pathname, page: Number(url.searchParams.get('page')), kept }
  })
/** Name of a related property in JSON. */
const jsonName = ({ name }: Field) => name.replace(/(^|\.)[A-Z]/g, (first) => first.toLowerCase())
const idsOf = ({ body }: Answer): number[] => body.map((record: { id: number }) => record.id)

describe('lists compared with a simple model of the specification. 4.2, 4.3', () => {
  for (const collection of collections)
    test(`random lists of ${collection} have the same rows, order, total and links as the model`, async () => {
      const list = fc.tuple(
        fc.array(draft(collection, 'collated'), { maxLength: 36, size: 'max' }),
        fc.array(listRequest(collection), { minLength: 1, maxLength: 60, size: 'max' }),
      )
      const property = fc.asyncProperty(list, async ([drafts, requests]) => {
        const rows = await arrange(collection, drafts)
        for (const request of requests) await checkList(request, rows)
      })
      await fc.assert(property, { numRuns: rounds(4, 12) })
    })
})

async function checkList({ filters, sorts, fields, pageSize, page, path, parameters }: ListRequest, rows: Row[]) {
  const matching = inOrder(
    rows.filter((row) => filters.every((one) => matches(one, row))),
    sorts,
  )
  const expected = matching.slice((page - 1) * pageSize, page * pageSize)
  const answer = await server.get(`${path}?${queryOf(parameters)}`)
  expect({ status: answer.status, ids: answer.status === 200 ? idsOf(answer) : answer.text }).toEqual({
    status: 200,
    ids: expected.map((row) => Number(row.Id)),
  })
  const shown = answer.body.map((record: Row) => fields.map((field) => record[jsonName(field)]))
  expect(shown).toEqual(expected.map((row) => fields.map(({ name }) => row[name] ?? null))) // D91
  expect(answer.headers.get('x-total-count')).toBe(String(matching.length)) // D30
  const kept = [...new URLSearchParams(queryOf(parameters))].filter(([name]) => name !== 'page')
  const links = linkedPages(page, pageSize, matching.length).map(([relation, target]) => ({
    relation,
    address: server.url + path,
    page: target,
    kept,
  }))
  expect(linksOf(answer, 'location')).toEqual(links)
  const standard = links.map((link) => (link.relation === 'previous' ? { ...link, relation: 'prev' } : link))
  expect(linksOf(answer, 'link')).toEqual(standard)
}

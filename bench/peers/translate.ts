import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import { rangesOf } from '../load/draws.mjs'
import type { Operation } from '../scenarios.ts'

const ENTITIES: Readonly<Record<string, Entity>> = { Absences: absence, Companies: company, Employees: employee }
const ADDRESS = /^\/(\w+)(?:\/([^?]+))?(?:\?(.*))?$/
const OPERAND = /^(!=|<=|>=|<|>|=)?(.+)$/s
/** Its `neq` leaves rows without a value out, so `!=` has no counterpart. */
const OPERATORS: Readonly<Record<string, string>> = {
  '=': 'eq',
  '<': 'lt',
  '<=': 'lte',
  '>': 'gt',
  '>=': 'gte',
}
const PAGE_SIZE = 20
/** Parameters of a list that are no filters. */
const OWN = ['page', 'PageSize', 'sort']

/** For a peer that has Roster's own requests: the operation; null: it is of a part of Roster that no peer has. */
export function translateToSame(operation: Operation): Operation | null {
  return addressOf(operation) ? operation : null
}

/** The operation as a request to Platformatic DB; null: it has none for it. */
export function translateToPlatformatic(operation: Operation): Operation | null {
  const address = addressOf(operation)
  return address && platformatic[operation.method](operation, address)
}

interface Address {
  readonly entity: Entity
  readonly id: string | undefined
  readonly query: string
}

type Translation = (operation: Operation, address: Address) => Operation | null

const platformatic: Record<Operation['method'], Translation> = {
  GET(operation, { entity, id, query }) {
    if (id !== undefined) return query === '' ? { ...operation, path: `/${entity.table}/${id}` } : null
    const parameters = translateQuery(entity, query)
    return parameters === null ? null : { ...operation, path: `/${entity.table}/?${parameters}` }
  },
  POST(operation, { entity }) {
    return { ...operation, ...withOwnKeys(operation), path: `/${entity.table}/`, status: 200 }
  },
  // Its own update of one row assigns the id too, which an identity column refuses; its update of many does not.
  PATCH(operation, { entity, id }) {
    if (!hasWhatIsNeverNull(operation, entity)) return null
    return { ...operation, ...withOwnKeys(operation), method: 'PUT', path: `/${entity.table}/?where.id.eq=${id}` }
  },
  PUT: () => null,
}

/** Its update asks for all of that, even if it stays as it is. */
function hasWhatIsNeverNull({ body = '' }: Operation, { properties }: Entity): boolean {
  const needed = properties.filter(({ writable, kind }) => writable && !kind.nullable)
  return needed.every(({ name }) => body.includes(`"${name}"`))
}

function addressOf({ path }: Operation): Address | null {
  const [, collection = '', id, query = ''] = ADDRESS.exec(path) ?? []
  const entity = ENTITIES[collection]
  return entity ? { entity, id, query } : null
}

/** Null: a parameter that is neither of a list's own nor a property. */
function translateQuery(entity: Entity, query: string): string | null {
  const given = query.split('&').filter(Boolean).map(decodeParameter)
  const pageSize = Number(lastOf(given, 'PageSize') ?? PAGE_SIZE)
  const offset = offsetOf(lastOf(given, 'page') ?? '1', pageSize)
  const filters = given.filter(([name]) => !OWN.includes(name)).map(([name, value]) => translateFilter(entity, name, value))
  if (filters.includes(null)) return null
  const definitions = lastOf(given, 'sort')?.split(',') ?? []
  const sorts = definitions.map((sort) => translateSort(entity, sort))
  if (sorts.includes(null)) return null
  const place = [`limit=${pageSize}`, ...(offset === '0' ? [] : [`offset=${offset}`]), 'totalCount=true']
  return [...filters, ...sorts, `orderby.id=${directionOf(definitions.at(-1))}`, ...place].join('&')
}

/** How many rows a page skips; of a random page, a random number that is drawn as the page would be. */
function offsetOf(page: string, pageSize: number): string {
  const [range] = rangesOf(page)
  const skipped = (number: number) => (number - 1) * pageSize
  return range ? `{${skipped(range.low)}..${skipped(range.high)}/${pageSize}}` : String(skipped(Number(page)))
}

function decodeParameter(text: string): [name: string, value: string] {
  const [name = '', ...value] = text.split('=')
  return [name, decodeURIComponent(value.join('='))]
}

function lastOf(given: readonly [string, string][], wanted: string): string | undefined {
  return given.findLast(([name]) => name === wanted)?.[1]
}

function translateFilter(entity: Entity, name: string, text: string): string | null {
  const property = propertyOf(entity, name)
  const [, prefix = '=', value = ''] = OPERAND.exec(text) ?? []
  const operator = OPERATORS[prefix]
  if (!property || !operator || value === '') return null
  // The braces are a random value's.
  const encoded = encodeURIComponent(value).replaceAll('%7B', '{').replaceAll('%7D', '}')
  return `where.${keyOf(property)}.${operator}=${encoded}`
}

function translateSort(entity: Entity, text: string): string | null {
  const property = propertyOf(entity, text.replace(/^[+-]/, ''))
  return property && `orderby.${keyOf(property)}=${directionOf(text)}`
}

function directionOf(definition = ''): 'asc' | 'desc' {
  return definition.startsWith('-') ? 'desc' : 'asc'
}

function propertyOf(entity: Entity, name: string): Property | null {
  return entity.properties.find((property) => property.name === name) ?? null
}

/** Platformatic's name of a property: its column in camel case. */
function keyOf({ column }: Property): string {
  return column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** `"Name":` → `"name":`. Not by way of JSON, since a random value is none. */
function withOwnKeys({ body }: Operation): { body?: string } {
  return body === undefined
    ? {}
    : { body: body.replace(/"(\w)(\w*)"\s*:/g, (_, first, rest) => `"${first.toLowerCase()}${rest}":`) }
}

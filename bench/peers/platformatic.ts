// Translation of Roster's requests and answers to those of Platformatic DB.
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import { rangesOf } from '../load/requests.mjs'
import type { Operation } from '../operation.ts'

const ENTITIES: Readonly<Record<string, Entity>> = { Absences: absence, Companies: company }
const ADDRESS = /^\/(\w+)(?:\/([^?]+))?(?:\?(.*))?$/
const OPERAND = /^(<=|>=|<|>|=)?([^!].*)$/s
const OPERATORS: Readonly<Record<string, string>> = { '=': 'eq', '<': 'lt', '<=': 'lte', '>': 'gt', '>=': 'gte' }
const PAGE_SIZE = 20
const OWN_PARAMETERS = ['page', 'PageSize', 'sort']

/** Translates an operation to a request of Platformatic DB; null if Platformatic lacks such a request, such as a summary. */
export function translateToPlatformatic(operation: Operation): Operation | null {
  const { method, path } = operation
  const [, collection = '', id, query = ''] = ADDRESS.exec(path) ?? []
  const entity = ENTITIES[collection]
  if (!entity || id === 'Summary') return null
  if (method === 'POST') return { ...operation, ...withOwnKeys(operation), path: `/${entity.table}/`, status: 200 }
  if (method === 'PATCH') return hasAllNeeded(operation, entity) ? update(operation, entity, id as string) : null
  if (id !== undefined) return { ...operation, path: `/${entity.table}/${id}` }
  const parameters = translateQuery(entity, query)
  return parameters === null ? null : { ...operation, path: `/${entity.table}/?${parameters}` }
}

/** Translates to Platformatic's update of many rows. Its update of one row also sets the id, which an identity column refuses. */
function update(operation: Operation, { table }: Entity, id: string): Operation {
  return { ...operation, ...withOwnKeys(operation), method: 'PUT', path: `/${table}/?where.id.eq=${id}` }
}

/** True if the body has every property that is never null, as an update of Platformatic requires. */
function hasAllNeeded({ body = '' }: Operation, { properties }: Entity): boolean {
  return properties.every(({ name, writable, kind }) => !writable || kind.nullable || body.includes(`"${name}"`))
}

function translateQuery(entity: Entity, query: string): string | null {
  const given = query.split('&').filter(Boolean).map(decodeParameter)
  const lastOf = (wanted: string) => given.findLast(([name]) => name === wanted)?.[1]
  const pageSize = Number(lastOf('PageSize') ?? PAGE_SIZE)
  const offset = offsetOf(lastOf('page') ?? '1', pageSize)
  const filters = given
    .filter(([name]) => !OWN_PARAMETERS.includes(name))
    .map(([name, text]) => translateFilter(entity, name, text))
  const definitions = lastOf('sort')?.split(',') ?? []
  const sorts = definitions.map((sort) => translateSort(entity, sort))
  if ([...filters, ...sorts].includes(null)) return null
  const window = [`limit=${pageSize}`, ...(offset === '0' ? [] : [`offset=${offset}`]), 'totalCount=true']
  const isById = sorts.some((sort) => sort?.startsWith('orderby.id='))
  const order = isById ? sorts : [...sorts, `orderby.id=${directionOf(definitions.at(-1))}`]
  return [...filters, ...order, ...window].join('&')
}

/** Translates a page to the number of rows before it; a random page to a random number of rows. */
function offsetOf(page: string, pageSize: number): string {
  const [range] = rangesOf(page)
  const before = (number: number) => (number - 1) * pageSize
  return range ? `{${before(range.low)}..${before(range.high)}/${pageSize}}` : String(before(Number(page)))
}

function decodeParameter(text: string): [name: string, value: string] {
  const [name = '', ...value] = text.split('=')
  return [name, decodeURIComponent(value.join('='))]
}

function translateFilter(entity: Entity, name: string, text: string): string | null {
  const property = propertyOf(entity, name)
  const [, prefix = '=', value = ''] = OPERAND.exec(text) ?? []
  if (!property || value === '') return null
  // Keeps the braces of random values.
  const encoded = encodeURIComponent(value).replaceAll('%7B', '{').replaceAll('%7D', '}').replaceAll('%7C', '|')
  return `where.${keyOf(property)}.${OPERATORS[prefix]}=${encoded}`
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

/** Returns Platformatic's name of a property: the column in camel case. */
function keyOf({ column }: Property): string {
  return column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** Replaces `"Name":` by `"name":`. JSON cannot be parsed here, because random values are not JSON. */
function withOwnKeys({ body }: Operation): { body?: string } {
  return body === undefined ? {} : { body: body.replace(/"(\w)(\w*)":/g, (_, first, rest) => `"${first.toLowerCase()}${rest}":`) }
}

type Value = string | number | boolean | null

/**
 * Converts a row or an array of rows to Roster's JSON. In Platformatic's JSON, ids and decimals are strings, and instants have
 * milliseconds.
 */
export function readPlatformatic(body: unknown): unknown {
  return Array.isArray(body) ? body.map(readRow) : readRow(body as Readonly<Record<string, Value>>)
}

function readRow(row: Readonly<Record<string, Value>>): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  const period: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(row)) {
    const part = /^period([A-Z]\w+)$/.exec(key)?.[1]
    if (part) period[part.toLowerCase()] = part === 'Prefered' || value === null ? value : Number(value)
    else members[key] = readValue(key, value)
  }
  const parts = Object.values(period)
  if (parts.length > 0) members.period = parts.every((value) => value === null) ? null : period
  return members
}

function readValue(key: string, value: Value) {
  if (typeof value !== 'string') return value
  if (key === 'id' || key === 'employeeId') return Number(value)
  return key === 'start' || key === 'end' ? value.replace('.000Z', 'Z') : value
}

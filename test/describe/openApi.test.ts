import { describe, expect, test } from 'bun:test'
import Ajv, { type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { exampleRow } from '../../src/describe/exampleRow.ts'
import { describeApi } from '../../src/describe/openApi.ts'
import { errorTable } from '../../src/errors.ts'
import { defineEntity, identity, text } from '../../src/model/entity.ts'
import { parseRules } from '../../src/model/limits.ts'
import { viewOf } from '../../src/model/view.ts'
import { entities } from '../support/entities.ts'
import { wholeAccess } from '../support/rights.ts'
import type { Json } from '../support/server.ts'

const facts = {
  baseUrl: 'https://api.example.com/people',
  limits: parseRules('750/1m,25000/12h'),
  anonymousLimits: parseRules('60/1m'),
  documentNeedsKey: false,
}
const document = JSON.parse(JSON.stringify(describeApi(entities.map(wholeAccess), facts))) as Json

const ajv = new Ajv({ strict: false, validateSchema: false })
addFormats(ajv)
ajv.addSchema(document, 'api')
const validators = new Map<string, ValidateFunction>()
function isValid(pointer: string, value: unknown): boolean {
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `api#${pointer}` })
  validators.set(pointer, validate)
  return validate(value) as boolean
}

/** Every object in the document with where it stands. */
function* objectsIn(value: Json, path: string[] = []): Generator<[Json, string[]]> {
  if (typeof value !== 'object' || value === null) return
  yield [value, path]
  for (const [key, inner] of Object.entries(value)) yield* objectsIn(inner, [...path, key])
}
const at = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .reduce((value: Json, key) => value?.[key], document)
const operations = Object.entries(document.paths).flatMap(([path, item]: [string, Json]) =>
  ['get', 'post', 'put', 'patch', 'delete'].flatMap((method) => (item[method] ? [{ path, method, ...item[method] }] : [])),
)
const operation = (id: string) => operations.find(({ operationId }) => operationId === id) as Json

describe('the OpenAPI document', () => {
  test('has exactly the components to which it refers', () => {
    const refs = new Set([...objectsIn(document)].flatMap(([{ $ref }]) => (typeof $ref === 'string' ? [$ref] : [])))
    expect([...refs].filter((ref) => at(ref.slice(1)) === undefined)).toEqual([])
    const { securitySchemes, ...components } = document.components
    const there = Object.entries(components).flatMap(([section, named]) =>
      Object.keys(named as Json).map((name) => `#/components/${section}/${name}`),
    )
    expect(there.filter((name) => !refs.has(name))).toEqual([])
    expect(Object.keys(securitySchemes)).toEqual(Object.keys(document.security[0]))
  })

  test('has less than 500 KB, and less than a third of that is for paths to related properties', () => {
    const bytes = JSON.stringify(document).length
    expect(bytes).toBeLessThan(500_000)
    const of = entities.map((entity) => ({ ...wholeAccess(entity), read: viewOf(entity, new Set(entity.properties), [], '') }))
    expect(JSON.stringify(describeApi(of, facts)).length).toBeGreaterThan((bytes * 2) / 3)
  })

  test('names the rate limits in its description', () => {
    for (const limits of ['750/1m,25000/12h', '60/1m']) expect(document.info.description).toContain(limits)
  })

  test('D33: requires a key for all operations on rows, and none for the pages of the server', () => {
    const open = operations.filter(({ security }) => security?.length === 0).map(({ path }) => path)
    expect(open.filter((path) => /^\/(Companies|Employees|Absences)/.test(path))).toEqual([])
    expect(open).toEqual(expect.arrayContaining(['/', '/livez', '/readyz', '/openapi.json', '/errors/{code}']) as never)
  })

  test('D35: describes rate limits of all operations except /livez and /readyz', () => {
    for (const { path, responses } of operations)
      for (const response of Object.values(responses) as Json[]) {
        const { headers } = response.$ref ? at(response.$ref.slice(1)) : response
        expect([path, 'X-RateLimit-Remaining' in headers]).toEqual([path, !/^\/(livez|readyz)$/.test(path)])
      }
  })

  test('has a valid example for each error code of an operation', () => {
    for (const { responses } of operations)
      for (const [status, response] of Object.entries(responses) as [string, Json][]) {
        if (Number(status) < 400) continue
        const { schema, examples } = at(response.$ref.slice(1)).content['application/json']
        const codes = schema.properties.Error.properties.Code.enum
        expect(Object.keys(examples)).toEqual(codes)
        for (const code of codes) {
          expect(String(errorTable[code as keyof typeof errorTable].status)).toBe(status)
          const { value } = document.components.examples[code]
          const pointer = `${response.$ref.slice(1)}/content/application~1json/schema`
          expect([code, isValid(pointer, value)]).toEqual([code, true])
        }
      }
  })

  test('has every error code in an operation, except MethodNotAllowed', () => {
    const codes = new Set(
      Object.values(document.components.responses).flatMap(
        (response: Json) => response.content['application/json'].schema.properties.Error.properties.Code.enum,
      ),
    )
    expect(Object.keys(errorTable).filter((code) => !codes.has(code))).toEqual(['MethodNotAllowed'])
  })
})

describe('what generated clients decode', () => {
  const at$ref = ({ $ref }: Json) => at($ref.slice(1))
  const isRowOrNull = ([one, other, ...more]: Json[]) => one.$ref && other?.type === 'null' && more.length === 0

  test('a union of objects has a discriminator with a different value for each object', () => {
    const unions = [...objectsIn(document)].filter(([{ anyOf, oneOf }]) => Array.isArray(anyOf ?? oneOf))
    const others = unions.filter(([{ anyOf }]) => !anyOf || !isRowOrNull(anyOf))
    expect(others.map(([, path]) => path.join('.'))).toEqual(['components.schemas.Change'])
    for (const [{ oneOf, discriminator }] of others) {
      const { propertyName, mapping } = discriminator
      expect(oneOf.map(({ $ref }: Json) => $ref)).toEqual(Object.values(mapping))
      for (const [value, $ref] of Object.entries(mapping)) {
        const { required, properties } = at$ref({ $ref })
        expect(required).toContain(propertyName)
        expect(properties[propertyName].enum).toEqual([value])
      }
    }
  })

  test('a change event has a row of its own entity, or null', () => {
    const rowIn = { Companies: 'Company', Employees: 'Employee', Absences: 'Absence' } as const
    for (const [plural, name] of Object.entries(rowIn)) {
      const own = { entity: plural, id: 1, action: 'update', at: '2026-03-01T09:00:00Z', key: null, changed: [] }
      const change = { token: 'YmU4', ...own }
      const [row] = document.components.schemas[name].examples
      const isChange = (value: unknown) => isValid('/components/schemas/Change', value)
      expect([isChange(change), isChange({ ...change, row }), isChange({ ...change, row: null })]).toEqual([true, true, true])
      const [other] = document.components.schemas[name === 'Company' ? 'Absence' : 'Company'].examples
      expect(isChange({ ...change, row: other })).toBe(false)
    }
  })

  test('a header has one name in all responses, and different headers of a response have different names in Go', () => {
    const isHeaders = (path: string[]) =>
      path.at(-1) === 'headers' && !['components', 'properties'].includes(path.at(-2) as string)
    const all = [...objectsIn(document)].flatMap(([value, path]) =>
      isHeaders(path) && !path.includes('examples') ? [value] : [],
    )
    const namesOf = new Map<string, Set<string>>()
    for (const own of all) {
      const inGo = Object.keys(own).map((name) => name.replaceAll('-', '').toLowerCase())
      expect(new Set(inGo).size).toBe(inGo.length)
      for (const [name, { $ref }] of Object.entries<Json>(own)) namesOf.set($ref, (namesOf.get($ref) ?? new Set()).add(name))
    }
    expect([...namesOf].filter(([, names]) => names.size > 1)).toEqual([])
  })

  test('a value has one type, perhaps with null, and no const or exclusive bound, which generators for Go ignore', () => {
    const schemas = [...objectsIn(document)].filter(([, path]) => !path.includes('examples') && path.at(-1) !== 'properties')
    const odd = schemas.filter(([{ type, const: constant, exclusiveMaximum, exclusiveMinimum }]) => {
      const isOdd = Array.isArray(type) && type.filter((one: string) => one !== 'null').length !== 1
      return isOdd || [constant, exclusiveMaximum, exclusiveMinimum].some((value) => value !== undefined)
    })
    expect(odd.map(([, path]) => path.join('.'))).toEqual([])
  })

  test('the maximum of a decimal is the greatest number below ten to the tenth', () => {
    const { maximum } = document.components.schemas.AbsenceWrite.properties.period.properties.days
    expect([maximum < 1e10, maximum + 2 ** -20]).toEqual([true, 1e10])
  })
})

test('an example is not longer than its property allows', () => {
  const room = defineEntity('Room', { id: identity(), code: text({ lengthMax: 2 }), note: text({ lengthMax: 3 }) })
  expect(exampleRow(room)).toEqual({ id: 1, code: 'E0', note: 'tex' })
})

describe('the parameters of a list', () => {
  const { parameters } = operation('listAbsences')
  const followed = ({ $ref, ...own }: Json) => ($ref ? document.components.parameters[$ref.split('/').at(-1)] : own)
  const named = (name: string) => parameters.map(followed).find((parameter: Json) => parameter.name === name)

  const isFilter = ({ type, items, minItems, maxItems }: Json, values: readonly string[]) =>
    type === 'array' &&
    values.length >= minItems &&
    values.length <= maxItems &&
    values.every((value) => isValid(items.$ref.slice(1), value))

  test('a filter is an array of conditions, and sort is an array of properties', () => {
    expect(named('sort')).toMatchObject({ style: 'form', explode: false })
    const { schema } = named('Start')
    expect(isFilter(schema, ['>=2026-03-01T00:00:00Z', '<2026-04-01T00:00:00Z'])).toBe(true)
    expect(isFilter(schema, ['>=2026-03-01'])).toBe(false)
    expect(isFilter(named('Status').schema, Array(33).fill('a'))).toBe(false)
  })

  test('no query parameter has a union as its schema, and every array has items', () => {
    const unions: unknown[] = []
    JSON.stringify(document, (key, value) => {
      const isQuery = value?.in === 'query' && (value.schema.anyOf || value.schema.oneOf || Array.isArray(value.schema.type))
      const isBare = [value?.type].flat().includes('array') && value.items === undefined && key !== 'examples'
      if (isQuery || isBare) unions.push(value)
      return value
    })
    expect(unions).toEqual([])
  })
})

import { describe, expect, test } from 'bun:test'
import { describeApi } from '../../src/describe/openApi.ts'
import { defineEntity, identity, linkReferences, oneOf, reference, text } from '../../src/model/entity.ts'
import { parseRules } from '../../src/model/limits.ts'
import { RightsReader } from '../../src/rights/reader.ts'
import { entities } from '../support/entities.ts'
import { wholeAccess } from '../support/rights.ts'
import type { Json } from '../support/server.ts'

const limits = parseRules('750/1m')
const facts = { baseUrl: 'https://api.example.com', limits, anonymousLimits: limits, documentNeedsKey: false }

/** The document of a key with these rights, as a client reads it. */
function documentOf(rights: readonly string[], of = entities): Json {
  const read = new RightsReader(of).read({ rights: '', addresses: rights.join('\n') })
  expect(read.fault).toBeNull()
  const accesses = of.map((entity) => read.accessTo(entity))
  return JSON.parse(JSON.stringify(describeApi(accesses, facts)))
}

/** `GET /Absences` and the like, without the pages of the server. */
function operationsIn({ paths }: Json): string[] {
  return Object.entries<Json>(paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).flatMap(([method, { tags }]) =>
      method === 'parameters' || tags[0] === 'Server' ? [] : `${method.toUpperCase()} ${path}`,
    ),
  )
}

const PAYROLL = [
  'read Absences?Status=Approved&fields=Id,EmployeeId,Start,End,Period',
  'read Employees?fields=Id,EmployeeNumber,CompanyId,Started,EmploymentEnd',
]

describe('the OpenAPI document of a key', () => {
  test('has only the operations that the key has a right to', () => {
    expect(operationsIn(documentOf(PAYROLL))).toEqual([
      ...['GET /Absences', 'GET /Absences/Summary', 'GET /Absences/{id}'],
      ...['GET /Employees', 'GET /Employees/Summary', 'GET /Employees/{id}', 'GET /Employees/{id}/Changes'],
      ...['GET /Changes', 'GET /Rights'],
    ])
    expect(operationsIn(documentOf(['create Companies', 'delete Companies']))).toEqual([
      ...['POST /Companies', 'DELETE /Companies/{id}', 'GET /Rights'],
    ])
    expect(operationsIn(documentOf(['update Companies', 'read Absences?Id=1']))).toEqual([
      ...['GET /Absences', 'GET /Absences/Summary', 'GET /Absences/{id}'],
      ...['PUT /Companies/{id}', 'PATCH /Companies/{id}', 'GET /Rights'],
    ])
    expect(operationsIn(documentOf(['update Companies?fields=Name']))).toEqual(['PATCH /Companies/{id}', 'GET /Rights'])
  })

  test('names no hidden property: not as a filter, sort, group, column, example or hint', () => {
    const { paths, components, info, tags } = documentOf(PAYROLL)
    const texts = JSON.stringify([paths['/Absences'], paths['/Employees'], components.parameters, info, tags])
    const ofRows = Object.entries(components.schemas).filter(([name]) => /^(?:Absence|Employee)/.test(name))
    const text = texts + JSON.stringify(ofRows)
    for (const hidden of ['Reason', 'Status', 'FirstName', 'DisplayName', 'WorkEmail', 'ManagerId', 'Enabled'])
      expect([hidden, new RegExp(`\\b${hidden}\\b`, 'i').test(text)]).toEqual([hidden, false])
    const behind = ['id', 'employeeNumber', 'companyId', 'started', 'employmentEnd'].map((name) => `employeeId.${name}`)
    const own = ['id', 'employeeId', 'start', 'end', 'period']
    expect(Object.keys(components.schemas.Absence.properties)).toEqual([...own, ...behind])
    expect(components.schemas.EmployeeField.enum).toEqual(['Id', 'EmployeeNumber', 'CompanyId', 'Started', 'EmploymentEnd'])
    const row = components.schemas.Employee.examples[0]
    expect(Object.keys(row)).toEqual(['id', 'employeeNumber', 'companyId', 'started', 'employmentEnd'])
  })

  test('D94: has the paths to properties that the key may read, and no paths through other references', () => {
    const pathsIn = ({ components }: Json) => Object.keys(components.parameters).filter((name) => /^Absence\.\w+Id\./.test(name))
    expect(pathsIn(documentOf(['read Absences', 'read Employees?Id=1&fields=Department,ManagerId']))).toEqual(
      ['Id', 'Id-any', 'Department', 'Department-any', 'Department-begins', 'Department-contains']
        .concat('ManagerId', 'ManagerId-any', 'ManagerId-under')
        .map((name) => `Absence.EmployeeId.${name}`),
    )
    expect(pathsIn(documentOf(['read Absences', 'read Companies', 'delete Employees']))).toEqual([])
    expect(pathsIn(documentOf(['read Absences?fields=Start', 'read Employees']))).toEqual([])
    const { tags } = documentOf(['read Absences', 'read Employees?fields=Department'])
    expect(tags[0].description).toContain(
      '`EmployeeId.Department` is a path, to `department` of the Employee that `employeeId` names',
    )
    expect(tags[0].description).not.toContain('two references')
    expect(documentOf(['read Absences', 'read Employees', 'read Companies']).tags[0].description).toContain(
      'Paths through two references, as `EmployeeId.CompanyId.Name` are not listed',
    )
  })

  test('D94: lists up to 200 related properties of an entity, and describes the properties of its other references in words', () => {
    const fields = Object.fromEntries(Array.from({ length: 59 }, (_, index) => [`text${index}`, text()]))
    const target = defineEntity('Target', { id: identity(), ...fields })
    const references = Object.fromEntries(['one', 'two', 'three', 'four'].map((name) => [name, reference('Target')]))
    const source = defineEntity('Source', { id: identity(), ...references })
    linkReferences([target, source])
    const { components, tags } = documentOf(['read Sources', 'read Targets'], [source, target])
    const paths = components.schemas.SourceField.enum.filter((name: string) => name.includes('.'))
    expect([paths.length, new Set(paths.map((name: string) => name.split('.')[0]))]).toEqual([
      180,
      new Set(['One', 'Two', 'Three']),
    ])
    expect(tags[0].description).toContain('Paths through `Four` are not listed')
  })

  test('has the visible properties of an object, and not the object if all its properties are hidden', () => {
    const partly = documentOf(['read Absences?fields=Id,Period.Hours']).components.schemas.Absence.properties
    expect(Object.keys(partly.period.properties)).toEqual(['hours'])
    expect(Object.keys(documentOf(['read Absences?fields=Start']).components.schemas.Absence.properties)).toEqual(['id', 'start'])
  })

  test('lists for the change feed the entities that the key may read without filters', () => {
    const { paths, components } = documentOf(PAYROLL)
    const { parameters } = paths['/Changes'].get
    expect(parameters.find(({ name }: Json) => name === 'entity').schema.items.enum).toEqual(['Employees'])
    expect(components.schemas.Change.oneOf).toEqual([{ $ref: '#/components/schemas/EmployeeChange' }])
  })

  test('has no X-Changes-After for a list whose rows a right filters', () => {
    const headersOf = (plural: string) => Object.keys(documentOf(PAYROLL).paths[`/${plural}`].get.responses[200].headers)
    expect([headersOf('Absences'), headersOf('Employees')].map((names) => names.includes('X-Changes-After'))).toEqual([
      false,
      true,
    ])
  })

  test('says that a write answers with the properties that the key may read, or with the id only', () => {
    const seen = documentOf(['read Companies?fields=Name', 'update Companies?fields=Enabled']).components.schemas
    expect(Object.keys(seen.CompanyWritten.properties)).toEqual(['id', 'name'])
    const blind = documentOf(['create Companies']).components.schemas
    expect(Object.keys(blind.CompanyWritten.properties)).toEqual(['id'])
    expect(Object.keys(blind)).not.toContain('Company')
  })

  test('has request bodies with only the properties that the key may set', () => {
    const { paths, components } = documentOf([
      'create Employees?Status=New&fields=FirstName,LastName,CompanyId',
      'update Employees?fields=WorkPhone,WorkMobile',
    ])
    const bodyOf = ({ requestBody }: Json) => requestBody.content['application/json'].schema.$ref.split('/').at(-1)
    const { post } = paths['/Employees']
    const { patch } = paths['/Employees/{id}']
    expect([bodyOf(post), bodyOf(patch)]).toEqual(['EmployeeCreate', 'EmployeeWrite'])
    const propertiesOf = (name: string) => Object.keys(components.schemas[name].properties)
    expect(propertiesOf('EmployeeCreate')).toEqual(['firstName', 'lastName', 'companyId'])
    expect(propertiesOf('EmployeeWrite')).toEqual(['workPhone', 'workMobile'])
  })

  test('requires in a create only the properties that the right itself does not set', () => {
    const ticket = defineEntity('Ticket', {
      id: identity(),
      title: text({ required: true }),
      state: oneOf(['Open', 'Closed'], { required: true }),
      employeeId: reference('Employee', { required: true }),
      note: text(),
    })
    const all = [...entities, ticket]
    const required = (...rights: string[]) => {
      const { schemas } = documentOf(rights, all).components
      return Object.entries<Json>(schemas).flatMap(([name, schema]) =>
        /^Ticket(?:Write|Complete|Create)$/.test(name) ? [[name, schema.required]] : [],
      )
    }
    const whole = ['TicketComplete', ['title', 'state', 'employeeId']]
    expect(required('create Tickets')).toEqual([whole])
    expect(required('create Tickets?State=Open&fields=Title,EmployeeId,Note')).toEqual([
      ['TicketComplete', ['title', 'employeeId']],
    ])
    expect(required('update Tickets', 'create Tickets?State=Open')).toEqual([
      ...[['TicketWrite', undefined], whole],
      ['TicketCreate', ['title', 'employeeId']],
    ])
  })

  test('has exactly the components to which it refers', () => {
    for (const rights of [PAYROLL, ['create Companies'], ['update Absences?fields=Status'], ['delete Employees']]) {
      const document = documentOf(rights)
      const refs = new Set(JSON.stringify(document).match(/(?<="\$ref":")[^"]+/g))
      const { securitySchemes: _, ...sections } = document.components
      const names = Object.entries<Json>(sections).flatMap(([section, named]) =>
        Object.keys(named).map((name) => `#/components/${section}/${name}`),
      )
      expect(names.filter((name) => !refs.has(name))).toEqual([])
      expect([...refs].filter((ref) => !names.includes(ref))).toEqual([])
    }
  })

  test('equals that of a key with all rights if the rights of the key restrict nothing', () => {
    const rights = entities.flatMap(({ plural }) => [`read ${plural}`, `write ${plural}`])
    const written = rights.flatMap((right) =>
      right.startsWith('write') ? ['create', 'update', 'delete'].map((verb) => right.replace('write', verb)) : right,
    )
    const whole = describeApi(entities.map(wholeAccess), facts)
    expect(JSON.stringify(documentOf(written))).toBe(JSON.stringify(whole))
  })

  test('has only the operation GET /Rights of the API if the key has no right', () => {
    const none = describeApi(
      entities.map((whole) => ({ whole, read: null, create: null, update: null, delete: null })),
      facts,
    )
    expect(operationsIn(JSON.parse(JSON.stringify(none)))).toEqual(['GET /Rights'])
  })
})

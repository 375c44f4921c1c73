// What it costs to make a statement: `node src/launch.mjs bench/micro/compile.ts`. Cold: of a shape never seen, or so
// long ago that it is forgotten. Warm: of one in use, while others fill all the room that there is for shapes.
import { compileCreate, compileGet, compileUpdate } from '../../src/compile/entity.ts'
import { compileList } from '../../src/compile/list.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import { JsonNumber } from '../../src/model/kinds.ts'
import type { Assignments, ListQuery } from '../../src/model/query.ts'
import { planWrite } from '../../src/model/writePlan.ts'
import { parseComplete, parsePartial } from '../../src/parse/assignments.ts'
import { parseList } from '../../src/parse/list.ts'
import { type Case, measure, printCosts } from './measure.ts'

const VALUES = 64
/** Several times what the compiler remembers. */
const SHAPES = 8_192

export function compileCases(): Case[] {
  return [
    ...listCases('a page', absence, (n) => `PageSize=50&page=${n + 2}`),
    ...listCases('one filter', absence, (n) => `EmployeeId=${n}`),
    ...listCases(
      'range, sort, page',
      absence,
      (n) => `Status=Approved&Start=>2024-01-01T00:00:00Z&Start=<2025-01-01T00:00:00Z&sort=-Start&page=${n + 2}`,
    ),
    ...[company, employee, absence].map((entity): Case => {
      const ids = Array.from({ length: VALUES }, (_, index) => String(index + 1))
      const name = `one ${entity.name} by id`
      return { name, operation: 'compileGet', work: (turn) => compileGet(entity, ids[turn % VALUES] as string) }
    }),
    createCase(company, { Name: 'Bench', Enabled: true }),
    createCase(absence, { Status: 'Requested', EmployeeId: new JsonNumber('77'), Start: '2024-01-31T09:00:00Z' }),
    updateCase(company, { Enabled: true }),
    updateCase(absence, { Status: 'Approved', Reason: 'Annual Leave' }),
    updateCase(absence, {
      EmployeeId: new JsonNumber('77'),
      Period: { Prefered: 'Days', Days: new JsonNumber('1.5') },
    }),
  ]
}

/** `text`: a query string for the number of the turn, always of one shape. */
function listCases(name: string, entity: Entity, text: (n: number) => string): Case[] {
  const warm = Array.from({ length: VALUES }, (_, index) => parseList(entity, text(index)))
  const cold = Array.from({ length: SHAPES }, (_, index) => withShape(parseList(entity, text(index)), entity, index))
  return [
    { name, operation: 'compileList, warm', work: (turn) => compileList(entity, warm[turn % VALUES] as ListQuery) },
    { name, operation: 'compileList, cold', work: (turn) => compileList(entity, cold[turn % SHAPES] as ListQuery) },
  ]
}

/** The query with two sorts and a page size that no other `index` up to `SHAPES` has. */
function withShape(query: ListQuery, entity: Entity, index: number): ListQuery {
  // Behind the id no sort would count.
  const properties = entity.properties.filter((property) => property !== entity.id)
  const sizes = 46
  const pair = Math.floor(index / sizes)
  const [first, other] = [pair % properties.length, Math.floor(pair / properties.length)]
  const direction = other < properties.length - 1 ? 'ascending' : 'descending'
  const second = (first + 1 + (other % (properties.length - 1))) % properties.length
  const sorts = [first, second].map((at) => ({ property: properties[at] as Property, direction }) as const)
  return { ...query, sorts, pageSize: 5 + (index % sizes) }
}

function createCase(entity: Entity, body: Record<string, unknown>): Case {
  const changes: Assignments = parseComplete(entity, body)
  return {
    name: `new ${entity.name}`,
    operation: 'compileCreate',
    work: () => compileCreate(entity, planWrite('', changes)),
  }
}

function updateCase(entity: Entity, body: Record<string, unknown>): Case {
  const changes: Assignments = parsePartial(entity, body)
  const name = `${Object.keys(body).join(', ')} of one ${entity.name}`
  return { name, operation: 'compileUpdate', work: (turn) => compileUpdate(entity, planWrite(String(turn), changes)) }
}

if (import.meta.main) printCosts(measure(compileCases()))

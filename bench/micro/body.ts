// What it costs to read a body: `node src/launch.mjs bench/micro/body.ts`. Without a connection: a `Request` made here,
// whose stream is not a socket's, so what the making of it costs stands in front.
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import type { Entity } from '../../src/model/entity.ts'
import { parseComplete, parsePartial } from '../../src/parse/assignments.ts'
import { readBody } from '../../src/parse/body.ts'
import { type Case, measure, printCosts, ROUND_MS, ROUNDS } from './measure.ts'

export interface Body {
  readonly name: string
  readonly entity: Entity
  readonly content: Record<string, unknown>
}

const INSTANT = '2024-01-31T09:00:00Z'

export const bodies: readonly Body[] = [
  { name: 'new company', entity: company, content: { Name: 'Bench', Enabled: true } },
  { name: 'a status', entity: absence, content: { Status: 'Approved' } },
  {
    name: 'whole absence',
    entity: absence,
    content: {
      ...{ Status: 'Requested', EmployeeId: 77, Type: 'Holiday', Reason: 'Annual Leave', Start: INSTANT, End: INSTANT },
      Period: { Prefered: 'Days', Days: 1.5, Hours: 11.25 },
    },
  },
  {
    name: 'whole employee',
    entity: employee,
    content: Object.fromEntries(
      employee.properties.map(({ name, kind }) => [name, kind.name === 'integer' ? 1 : textOf(kind.name)]),
    ),
  },
]

export async function bodyCases(): Promise<Case[]> {
  return (await Promise.all(bodies.map(casesOf))).flat()
}

async function casesOf({ name, entity, content }: Body): Promise<Case[]> {
  const request = requestWith(JSON.stringify(content))
  const body = await readBody(request())
  return [
    { name, operation: 'Request alone', work: request },
    { name, operation: 'Request, text(), JSON.parse', awaited: true, work: () => parsed(request()) },
    { name, operation: 'Request, readBody', awaited: true, work: () => readBody(request()) },
    { name, operation: 'parseComplete', work: () => parseComplete(entity, body) },
    { name, operation: 'parsePartial', work: () => parsePartial(entity, body) },
  ]
}

async function parsed(request: Request): Promise<unknown> {
  return JSON.parse(await request.text())
}

function requestWith(body: string): () => Request {
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
  return () => new Request('http://127.0.0.1:3000/', { method: 'POST', headers, body })
}

function textOf(kind: string): string {
  return kind === 'instant' ? INSTANT : 'All that there is'
}

if (import.meta.main) printCosts(await measure(await bodyCases(), ROUND_MS, ROUNDS))

// Clients with few rights: their keys and rights in Roster, and for the peers the roles and policies of row security that show
// the same rows.
import postgres from 'postgres'
import { hashKey, idOf } from '../src/admit/apiKey.ts'
import type { Rows } from './data.ts'
import type { Operation } from './operation.ts'

/** Keys that differ only in their number. */
export interface Client {
  /** Name of six letters, with which the ids of the client's keys begin. */
  readonly name: string
  readonly keys: number
  /** Returns the rights of the key with this number, one per line; null: all rights. */
  readonly rights: ((number: string) => readonly string[]) | null
}

/** A client that reads absences. The peers have a client with the same rows. */
export interface Reader extends Client {
  /** Returns the filters of the right of the key with this number. */
  filters(number: string): string
  /** Condition of a policy that shows the same rows. */
  readonly policy: string
}

const KEYS_MAX = 1_000
const DIGITS = 4
const SECRET = 'bench'.repeat(9).slice(0, 43)
/** Limits that a single key cannot reach. If a client has many keys, they have the limits of the server. */
const LIMITS = '1000000/1s,1000000/2s,1000000/3s'
/**
 * Limits of each of many keys. There are as many rules as by default, because the number of rules decides what a decision costs.
 */
export const LIMITS_OF_MANY = { RATE_LIMITS: '1000/1s,1000/2s,1000/3s', RATE_LIMIT_CLIENTS: String(3 * KEYS_MAX) }

/** Properties of an absence that readers see, and their columns. */
const FIELDS = 'Id,EmployeeId,Start,End,Period'
const COLUMNS = 'id, employee_id, start, "end", period_prefered, period_days, period_hours'
/** SQL for the number of the client, for policies. As a subquery it is computed once per statement. */
const NUMBER = `(select current_setting('bench.client')::bigint)`
/** Filter that matches every row. It stands for a right that excludes a few rows. */
const KEPT = 'Status=!=Archived'

export interface Clients {
  /** Payroll, which reads the approved absences. */
  readonly approved: Reader
  /** Many persons, each of whom reads her own absences. */
  readonly person: Reader
  readonly readers: readonly Reader[]
  /** A client that reads almost all absences, but not all of their properties. */
  readonly almost: Client
  /**
   * A key that creates and changes rows. It sees them with all properties, so its answers are as long as those of a key with all
   * rights.
   */
  readonly clerk: Client
}

export function clientsFor({ employees }: Rows): Clients {
  const approved = reader('payrol', 1, () => 'Status=Approved', `status = 'Approved'`)
  const person = reader('person', employees, (number) => `EmployeeId=${number}`, `employee_id = ${NUMBER}`)
  const almost = { name: 'almost', keys: 1, rights: () => [`read Absences?${KEPT}&fields=${FIELDS}`] }
  const clerk = { name: 'clerks', keys: 1, rights: () => RIGHTS_OF_CLERK }
  return { approved, person, readers: [approved, person], almost, clerk }
}

/** Returns all clients, and keys with all rights that send the same requests. */
export function allOf({ readers, almost, clerk }: Clients): Client[] {
  const restricted = [...readers, almost, clerk]
  const most = Math.max(...restricted.map(({ keys }) => keys))
  return [...restricted, wholeOf({ keys: 1 }), wholeOf({ keys: most })]
}

const RIGHTS_OF_CLERK = [
  `read Absences?${KEPT}`,
  'create Absences?Status=Requested&fields=EmployeeId,Type,Start,End',
  `update Absences?${KEPT}&fields=Status becomes Status[]=Requested&Status[]=Approved`,
  'read Companies?Name=!=Archived',
  'create Companies?Enabled=true&fields=Name,Enabled',
  'update Companies?Name=!=Archived&fields=Enabled',
  // A new absence refers to an employee that this right shows, and copies the employee's name.
  `read Employees?${KEPT}&fields=Id,DisplayName`,
]

function reader(name: string, rows: number, filters: Reader['filters'], policy: string): Reader {
  const rights = (number: string) => [`read Absences?${filters(number)}&fields=${FIELDS}`]
  return { name, keys: Math.min(KEYS_MAX, rows), rights, filters, policy }
}

/**
 * Returns the operation that requests a list as a reader. `query`: its query string. A key with all rights has to name the rows
 * and properties itself.
 */
export function listOfReader(reader: Reader, query: string): Operation {
  const all = reader.keys === 1 ? reader.filters('1') : reader.filters(`{1..${reader.keys}!}`)
  return {
    ...{ method: 'GET', path: `/Absences?${query}`, status: 200, key: anyKeyOf(reader) },
    whole: { path: `/Absences?${query}&${all}&fields=${FIELDS}`, key: anyKeyOf(wholeOf(reader)) },
  }
}

/** Returns the operation as a key with all rights sends it. */
export function byWholeKey({ whole, ...operation }: Operation): Operation {
  return { ...operation, ...whole }
}

/** Returns an operation with a key of this client. `whole`: what differs if a key with all rights sends it. */
export function requestOf(client: Client, operation: Operation, whole: Partial<Operation> = {}): Operation {
  return { ...operation, key: anyKeyOf(client), whole: { path: operation.path, ...whole, key: anyKeyOf(wholeOf(client)) } }
}

/** Returns the path with which a key with all rights reads only the properties that readers see. */
export function withFields(path: string): string {
  return `${path}?fields=${FIELDS}`
}

/** Returns a client with the same number of keys, which have all rights. */
export function wholeOf({ keys }: Pick<Client, 'keys'>): Client {
  return { name: keys === 1 ? 'whole1' : 'wholes', keys, rights: null }
}

/** Returns a placeholder for a random key of a client. */
export function anyKeyOf({ name, keys }: Client): string {
  return textOf(name, keys === 1 ? padded(1) : `{${padded(1)}..${padded(keys)}!}`)
}

/** Returns the key of a client with this number, from 1. */
export function keyOf({ name }: Client, number: number): string {
  return textOf(name, padded(number))
}

function textOf(name: string, number: string): string {
  return `roster_${name}${number}_${SECRET}`
}

function padded(number: number): string {
  return String(number).padStart(DIGITS, '0')
}

/** A key as a row of `api_key`. */
interface KeyRow {
  readonly id: string
  readonly name: string
  readonly hash: Buffer
  readonly rights: string
  readonly addresses: string | null
  readonly limits: string | null
}

/** Replaces all keys of the database by the keys of these clients. */
export async function putKeys(url: string, clients: readonly Client[]): Promise<void> {
  const sql = postgres(url, { max: 1 })
  await sql.begin(async (transaction) => {
    await transaction`update api_key_version set version = version + 1`
    await transaction`delete from api_key`
    for (const row of clients.flatMap(rowsOf)) await transaction`insert into api_key ${transaction({ ...row })}`
  })
  await sql.end()
}

function rowsOf(client: Client): KeyRow[] {
  const { name, keys, rights } = client
  return Array.from({ length: keys }, (_, index) => {
    const text = keyOf(client, index + 1)
    return {
      id: idOf(text),
      name: `${name} ${index + 1}`,
      hash: hashKey(text, Buffer.alloc(32)),
      rights: rights ? '' : '*:read,*:write',
      addresses: rights ? rights(String(index + 1)).join('\n') : null,
      limits: keys === 1 ? LIMITS : null,
    }
  })
}

/**
 * Gives each reader a role that sees the same as its keys in Roster: rows by a policy, properties by grants of columns. The other
 * peers use the role that owns the tables, so they still see all rows.
 */
export async function addRowSecurity(url: string, readers: readonly Reader[]): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  await sql`alter table absence enable row level security`
  for (const { name, policy } of readers) {
    const role = `bench_${name}`
    const [there] = await sql`select from pg_roles where rolname = ${role}`
    if (!there) await sql.unsafe(`create role ${role}`)
    await sql.unsafe(`grant usage on schema public to ${role}`)
    await sql.unsafe(`grant select (${COLUMNS}) on absence to ${role}`)
    await sql.unsafe(`drop policy if exists ${role} on absence`)
    await sql.unsafe(`create policy ${role} on absence for select to ${role} using (${policy})`)
  }
  await sql.end()
}

import { type Collection, collections } from '../../support/model.ts'
import type { Random } from '../../support/random.ts'
import { tables } from '../../support/randomRows.ts'
import type { Findings } from './check.ts'
import type { Cluster, Name } from './cluster.ts'
import { DECIMALS, ENDS, INSTANTS, STARTS, TEXTS } from './randomList.ts'

/** Ids of existing rows that clients write. */
export type Ids = Record<Collection, number[]>

/** Number of rows that all clients write again and again. */
const HOT = 6
/** Matches properties that form a row's name; rows of other tables copy this name. */
const COPIED = /^(Name|KnownAs|FirstName|LastName)$/
const ROWS_MAX: Record<Collection, number> = { Companies: 25, Employees: 60, Absences: 160 }
/** Statements of many rows write only rows with ids below this. */
const OUTSIDE_IDS = 400

/** Reads ids of the first and of the last rows. */
export async function readIds({ sql }: Cluster): Promise<Ids> {
  const ids = {} as Ids
  for (const collection of collections) {
    const [table, count] = [sql(tables[collection]), Math.floor(ROWS_MAX[collection] / 2)]
    const rows = await sql`
      (select id::int from ${table} order by id limit ${count})
      union (select id::int from ${table} order by id desc limit ${count}) order by id`
    ids[collection] = rows.map(({ id }) => id)
  }
  return ids
}

/**
 * Sends one write of a client, and returns its status. The write is a create, a deletion, or a change, which changes copied names
 * only if `renames`.
 */
export async function writeOnce(
  cluster: Cluster,
  random: Random,
  ids: Ids,
  findings: Findings,
  renames: boolean,
  server: Name = 'cached',
): Promise<number> {
  const collection = random.pick(['Companies', 'Employees', 'Employees', 'Absences', 'Absences'] as const)
  const known = ids[collection]
  const id = random.pick(random.chance(50) ? known.slice(0, HOT) : known)
  const isFull = known.length > ROWS_MAX[collection]
  const replace = renames || collection === 'Absences' ? 'PUT' : 'PATCH'
  const change = random.pick([replace, 'PATCH', 'PATCH', isFull ? 'DELETE' : 'PATCH', 'DELETE'])
  const method = random.chance(isFull ? 5 : 30) ? 'POST' : change
  const [path, body] = [
    `/${collection}`,
    method === 'DELETE' ? undefined : randomBody(random, collection, ids, { method, renames }),
  ]
  const target = method === 'POST' ? path : `${path}/${id ?? 1}`
  const { status, text } = await cluster.ask(target, method, body, server)
  findings.count(`${method} ${status}`)
  if (status === 201) known.push(JSON.parse(text).id)
  if (status === 204 || status === 404) ids[collection] = ids[collection].filter((other) => other !== id)
  return status
}

type Body = Record<string, unknown>

/** `JSON.rawJSON`, which TypeScript's types do not have yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown }

function randomBody(
  random: Random,
  collection: Collection,
  ids: Ids,
  { method, renames }: { method: string; renames: boolean },
): Body {
  const [text, instant] = [() => random.pick([...TEXTS, null]), () => random.pick([...INSTANTS, null])]
  // Decimals are written with all their digits; a JavaScript number has fewer digits.
  const number = () => random.pick([...DECIMALS.map((text) => rawJson(text)), null])
  const all: Record<Collection, () => Body> = {
    Companies: () => ({ Name: text(), Enabled: random.chance(50) }),
    Employees: () => ({
      ...{ KnownAs: text(), FirstName: text(), LastName: text() },
      ...{ Department: text(), Status: text(), Started: instant() },
      CompanyId: random.pick([...ids.Companies.slice(0, HOT), null]),
      ManagerId: random.pick([...ids.Employees.slice(0, HOT), null]),
    }),
    Absences: () => ({
      ...{ Status: text(), Type: text(), Reason: text(), Start: random.pick([...STARTS, null]) },
      End: random.pick([...ENDS, null]),
      EmployeeId: random.pick([...ids.Employees.slice(0, 20), null]),
      Period: random.chance(20) ? null : { Days: number(), Hours: number(), Prefered: text() },
    }),
  }
  const body = all[collection]()
  if (method !== 'PATCH') return body
  const changed = Object.entries(body).filter(([name]) => (renames || !COPIED.test(name)) && random.chance(35))
  return Object.fromEntries(changed)
}

type Outside = (sql: Cluster['sql'], random: Random) => Promise<unknown>

/** Writes of other programs, directly to the tables. */
const outside: Outside[] = [
  (sql, random) => sql`
    insert into absence (type, status, period_days)
    select ${random.pick(TEXTS)}, ${random.pick(TEXTS)}, 1.5 from generate_series(1, ${random.below(4)})`,
  (sql, random) => sql`
    update absence set status = ${random.pick(TEXTS)} where id % 5 = ${random.below(5)} and id < ${OUTSIDE_IDS}`,
  // These are far more rows than memory takes in within one turn of the event loop.
  (sql, random) => sql`update absence set type = ${random.pick(TEXTS)} where id % 40 = ${random.below(40)}`,
  (sql, random) => sql`
    update absence set period_hours = 9007199254.74099201, "end" = '9999-12-31T23:59:59Z'
    where id % 50 = ${random.below(50)} and id < ${OUTSIDE_IDS}`,
  (sql, random) => sql`
    update absence set type = ${random.pick(TEXTS)}
    where id in (
      select id from absence where coalesce(type, '') not like '%.%' order by id limit ${1 + random.below(HOT)})`,
  (sql, random) => sql`
    delete from absence where id in (
      select id from absence where coalesce(type, '') not like '%.%' order by id desc limit ${random.below(4)})`,
  (sql, random) => sql`
    update employee set known_as = ${random.pick(TEXTS)}
    where id = (select id from employee order by id offset ${random.below(HOT)} limit 1)`,
  (sql, random) => sql`
    update company set name = ${random.pick(TEXTS)}, enabled = not enabled
    where id = (select id from company order by id offset ${random.below(HOT)} limit 1)`,
  (sql, random) => sql`insert into company (name) values (${random.pick(TEXTS)})`,
  // Changes a value to which the paths of thousands of rows lead.
  (sql, random) => sql`update employee set department = ${random.pick(TEXTS)} where id % 20 = ${random.below(20)}`,
  // Makes employees managers of one another, or of themselves.
  (sql, random) => sql`
    update employee as e set manager_id = m.id, manager_key = m.display_name_key
    from employee as m where e.id % 17 = ${random.below(17)} and e.id < ${OUTSIDE_IDS} and m.id = ${1 + random.below(40)}`,
  (sql, random) => sql`
    update employee set manager_id = null, manager_key = null where id % 11 = ${random.below(11)} and id < ${OUTSIDE_IDS}`,
  (sql, random) => sql`
    update employee as e set company_id = c.id, company_key = c.name_key
    from company as c where e.id % 13 = ${random.below(13)} and c.id = ${1 + random.below(12)}`,
  // Deletes rows together with the references to them.
  (sql, random) =>
    sql
      .unsafe(
        `begin; create temp table gone on commit drop as
          select id from employee where id > 30 order by id limit 3 offset ${random.below(300)};
        update absence set employee_id = null, employee_key = null where employee_id in (select id from gone);
        update employee set manager_id = null, manager_key = null where manager_id in (select id from gone);
        delete from employee where id in (select id from gone); commit`,
      )
      .simple(),
  (sql, random) => sql`
    update absence set reason = repeat('r', 9000) where id % 40 = ${random.below(40)} and id < ${OUTSIDE_IDS}`,
  // Sent as psql does, in a session whose settings differ from the servers' settings.
  (sql, random) =>
    sql
      .unsafe(
        `begin; set local session_replication_role = replica; set local datestyle = 'German'; set local timezone = 'America/New_York';
        update absence set status = '${random.pick(TEXTS)}' where id % 30 = ${random.below(30)} and id < ${OUTSIDE_IDS};
        insert into absence (type, start) values ('psql', '3.12.2024 10:00'); commit`,
      )
      .simple(),
  // Sent as one simple query, because the driver throws if a connection ends within a transaction of the driver.
  (sql, random) =>
    sql
      .unsafe(
        `begin; update absence set reason = '${random.pick(TEXTS)}' where id % 7 = ${random.below(7)} and id < ${OUTSIDE_IDS};
        select pg_sleep(${random.below(15) / 1_000}); insert into absence (type) values ('${random.pick(TEXTS)}');
        ${random.chance(30) ? 'rollback' : 'commit'}`,
      )
      .simple(),
]

/** Sends a direct write. Ignores failures: rows may be locked or referred to, or the database unreachable. */
export async function writeOutside({ sql }: Cluster, random: Random, findings: Findings): Promise<void> {
  await random
    .pick(outside)(sql, random)
    .then(
      () => findings.count('outside'),
      () => findings.count('outside, undone'),
    )
}

/** Inserts the initial rows, which clients write, and `more` absences, of which clients write only the last ones. */
export async function fill({ sql }: Cluster, more = 0): Promise<void> {
  await sql`insert into company (name, enabled) select chr(97 + n % 4), n % 2 = 0 from generate_series(1, 12) as n`
  await sql`
    insert into employee (known_as, last_name, department, company_id, company_key)
    select chr(97 + n % 5), chr(97 + n % 3), chr(97 + n % 4), company.id, name_key
    from generate_series(1, 30) as n join company on company.id = 1 + n % 12`
  await sql`
    insert into absence (type, status, period_days, employee_id, employee_key)
    select chr(97 + n % 4), chr(97 + n % 3), n % 3, employee.id, display_name_key
    from generate_series(1, 80) as n join employee on employee.id = 1 + n % 30`
  await sql`
    insert into employee (known_as, first_name, last_name, department, started, company_id, company_key)
    select case when n % 9 <> 0 then 'Known ' || n * 31 % 997 end, 'First ' || n % 71, 'Last ' || n * 17 % 4001,
      chr(97 + n % 4), case when n % 5 <> 0 then timestamptz '2000-01-01Z' + n * 7919 % 9000 * interval '1 day' end,
      company.id, name_key
    from generate_series(1, ${Math.floor(more / 10)}::int) as n left join company on n % 8 <> 0 and company.id = 1 + n % 12`
  // Employees form chains of managers. Some chains are loops, and some employees are their own managers.
  await sql`
    update employee as e set manager_id = m.id, manager_key = m.display_name_key
    from employee as m where e.id % 6 <> 0 and m.id = case when e.id % 50 = 7 then e.id else 1 + e.id * 7 % (10 + e.id / 2) end`
  // Starts grow with ids, as in real data.
  await sql`
    insert into absence (type, status, reason, start, "end", period_days, period_hours, employee_id, employee_key)
    select chr(97 + n % 4), case when n % 7 <> 0 then chr(97 + n % 3) end,
      case when n % 3 <> 0 then 'Reason ' || n * 31 % 997 end,
      case when n % 11 <> 0 then timestamptz '2015-01-01Z' + n * interval '1 hour' end,
      case when n % 5 <> 0 then timestamptz '2030-01-01Z' + n * 31 % 900 * interval '1 day' end,
      case when n % 13 <> 0 then n * 17 % 61 / 2.0 end, n * 13 % 9973 / 8.0, employee.id, display_name_key
    from generate_series(1, ${more}::int) as n left join employee on n % 17 <> 0 and employee.id = 1 + n * 7919 % 2003`
}

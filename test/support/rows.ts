import type postgres from 'postgres'
import type { Json, TestServer } from './server.ts'

/** Creates rows one after the other, so that ids ascend in this order; returns the server's answers. */
export async function createRows(server: TestServer, path: string, bodies: readonly object[]): Promise<Json[]> {
  const rows: Json[] = []
  for (const body of bodies) {
    const answer = await server.post(path, body)
    if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`)
    rows.push(answer.body)
  }
  return rows
}

/** Creates one row; returns the server's answer. */
export async function createRow(server: TestServer, path: string, body: object): Promise<Json> {
  return (await createRows(server, path, [body]))[0]
}

/**
 * Deletes all rows and all stored answers; ids begin at 1 again. To truncate the tables would take PostgreSQL far longer: it writes new
 * files for each table and index, and then each connection plans its statements again.
 */
export async function emptyTables(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    delete from absence;
    delete from employee;
    delete from company;
    delete from idempotency_key;
    select setval(pg_get_serial_sequence(name, 'id'), 1, false) from unnest(array['company', 'employee', 'absence']) as name`)
}

/** Returns one property of every row of a list, in order. */
export async function listed(server: TestServer, path: string, key = 'name'): Promise<Json[]> {
  const { status, text, body } = await server.get(path)
  if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text}`)
  return body.map((row: Json) => row[key])
}

/**
 * Renames a company of 1,001 employees, which is a long write. Locks of its employees delay the rename until `meanwhile` has
 * ended.
 */
export async function heldRename<Renamed>(
  sql: postgres.Sql,
  rename: (id: string) => Promise<Renamed>,
  meanwhile: () => Promise<void>,
): Promise<Renamed> {
  const [{ id } = { id: '' }] = await sql<{ id: string }[]>`insert into company (name) values ('large') returning id`
  await sql`insert into employee (company_id, company_key) select ${id}, '=large' from generate_series(1, 1001)`
  const { renamed } = await sql.begin(async (transaction) => {
    await transaction`select from employee where company_id = ${id} for update`
    const renamed = rename(id)
    await meanwhile()
    // The promise is returned in an object, because the transaction would otherwise await it before it ends.
    return { renamed }
  })
  return renamed
}

// The rights on tables that a server needs, and a function that grants them to its role.
import type postgres from 'postgres'
import { inTransaction, withConnection } from '../execute/connect.ts'
import type { Entity } from '../model/entity.ts'
import { OWN_TABLES } from '../registry.ts'

const OF_ENTITIES = 'select, insert, update, delete'

/**
 * Returns the rights that a server needs on each table, as SQL `grant` lists them. The tables are those of the entities, and the
 * server's own.
 */
export function neededRights(entities: readonly Entity[]): readonly { readonly table: string; readonly rights: string }[] {
  const ofEntities = entities.map(({ table }) => ({ table, rights: OF_ENTITIES }))
  const own = Object.entries(OWN_TABLES).map(([table, rights]) => ({ table, rights }))
  return [...ofEntities, ...own]
}

/**
 * Grants a role the rights that a server needs, in one transaction, and returns the statements. The role of `url` must own the
 * tables. A right that `role` already has stays as it is.
 */
export function grantRights(url: string, entities: readonly Entity[], role: string): Promise<readonly string[]> {
  return withConnection(url, (sql) =>
    inTransaction(sql, async (transaction) => {
      const statements = await grantStatements(transaction, entities, role)
      for (const statement of statements) await transaction.unsafe(statement)
      return statements
    }),
  )
}

async function grantStatements(sql: postgres.ISql, entities: readonly Entity[], role: string): Promise<string[]> {
  const [schema] = await sql<
    { text: string }[]
  >`select format('grant usage on schema %I to %I', current_schema(), ${role}::text) as text`
  const tables = await sql<{ text: string }[]>`
    select format('grant %s on %I to %I', "rights", "table", ${role}::text) as text
    from json_to_recordset(${JSON.stringify(neededRights(entities))}::text::json) as needed ("table" text, "rights" text)`
  return [schema as { text: string }, ...tables].map(({ text }) => text)
}

/** Returns the names of all roles except PostgreSQL's predefined roles. */
export function roleNames(url: string): Promise<readonly string[]> {
  return withConnection(url, async (sql) => {
    const rows = await sql<{ name: string }[]>`select rolname as name from pg_roles where not starts_with(rolname, 'pg_')`
    return rows.map(({ name }) => name)
  })
}

// Findings about the database: version, role, connections, migrations, rights to tables, indexes, and changes that are held back.
import type postgres from 'postgres'
import { type Config, isPooled } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import { withConnection } from '../execute/connect.ts'
import { MEMORY_CONNECTIONS } from '../execute/limits.ts'
import { readDatabaseUrl } from '../model/databaseUrl.ts'
import type { Entity } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { LOOPBACK } from '../model/networks.ts'
import { neededRights } from '../postgres/grants.ts'
import { appliedMigrations, type Migration, migrationFolders, pendingOf, readMigrations } from '../postgres/migrate.ts'
import { advice, clockOff, type Finding, fault, LACKS_RIGHT, ok, PAGE, refusalOf } from './finding.ts'
import { examineHooks } from './hooks.ts'
import { examineKeys } from './keys.ts'
import type { FoundRoles } from './roles.ts'

const VERSION_MIN = 14
const VERSION_MAX = 18
/** Connections of the supervisor, in addition to those of the workers. */
const SUPERVISOR_CONNECTIONS = 3

/** Entities and roles file of the server. `entities`: null if they cannot be read. */
interface Declared {
  readonly entities: readonly Entity[] | null
  readonly roles: FoundRoles
}

/** Examines the database at `url`, the value of `setting`. */
export async function examineDatabase(url: string, setting: string, config: Config, { entities, roles }: Declared) {
  try {
    return await withConnection(url, async (sql) => {
      const state = await stateOf(sql)
      const applied = await appliedMigrations(sql).catch(orLacksRight)
      const migrations = await examineMigrations(applied, state, config)
      const { encoding, role, isSuperuser } = state
      const common = [
        version(state),
        encoding === 'UTF8'
          ? ok('encoding', encoding)
          : fault('encoding', `the database is encoded in ${encoding}: make one with encoding 'UTF8'`),
        await clock(sql),
        isSuperuser
          ? advice('role', `${role} is a superuser: give the server a role with rights on its tables alone`)
          : ok('role', `${role} is no superuser`),
        connections(state, config),
        writable(state),
        encryption(url, state),
        ...migrations,
      ]
      if (migrations.some(({ state }) => state === 'fault') || entities === null) return common
      const rights = await examineRights(sql, entities, role)
      const isAsked = rights.state !== 'fault' && config.changesDays > 0
      const held = isAsked ? [await examineHeldChanges(sql, entities)] : []
      const hooks = isAsked ? await examineHooks(sql, entities) : []
      const keys = rights.state === 'fault' ? [] : await examineKeys(sql, entities, roles)
      const spread = await examineCitus(sql, entities)
      return [...common, ...spread, rights, ...keys, await examineIndexes(sql, entities), ...held, ...hooks]
    })
  } catch (error) {
    return [fault('database', refusalOf(error, setting))]
  }
}

/** Handles the error of a read: returns `lacking` if the role has no right to it, and rethrows every other error. */
function orLacksRight(error: { code?: unknown }): 'lacking' {
  if (error.code === LACKS_RIGHT) return 'lacking'
  throw error
}

async function clock(sql: postgres.Sql): Promise<Finding> {
  await sql`select 1` // Connects first, so that the time to connect is not measured.
  const fromMs = Date.now()
  const [time] = await sql`select extract(epoch from clock_timestamp()) * 1000 as ms`
  return clockOff('database clock', Number(time?.ms), fromMs, Date.now())
}

async function stateOf(sql: postgres.Sql): Promise<postgres.Row> {
  const [row] = await sql`
    select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
      current_setting('is_superuser') = 'on' as "isSuperuser", current_user::text as role,
      pg_is_in_recovery() as "isStandby", current_schema() is null as "hasNoSchema", current_setting('default_transaction_read_only') = 'on' as "isReadOnly",
      coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as "isEncrypted",
      least(
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
        (select case rolconnlimit when -1 then 262143 else rolconnlimit end from pg_roles where rolname = current_user),
        (select case datconnlimit when -1 then 262143 else datconnlimit end from pg_database where datname = current_database())
      ) as "connectionsMax"`
  return row as postgres.Row
}

function version({ version: number }: postgres.Row): Finding {
  const major = Math.floor(number / 10_000)
  const text = `PostgreSQL ${major}.${number % 10_000} answers`
  if (major < VERSION_MIN) return fault('database', `${text}: ${VERSION_MIN} or later is needed`)
  if (major > VERSION_MAX) return advice('database', `${text}: newer than ${VERSION_MAX}, the last that is tested`)
  return ok('database', text)
}

function connections({ connectionsMax }: postgres.Row, config: Config): Finding {
  const { workers, databasePool, memoryMb } = config
  const each = databasePool + 1 + (memoryMb > 0 ? MEMORY_CONNECTIONS : 0) + (databasePool <= 2 ? 1 : 0)
  const needed = workers * each + SUPERVISOR_CONNECTIONS
  const text = `${needed} of ${connectionsMax} that the role may have`
  if (isPooled(config)) return ok('connections', `${needed}, of a pooler`)
  if (needed <= connectionsMax) return ok('connections', text)
  return fault('connections', `${text}: raise max_connections or the role's limit, or set DATABASE_POOL or WORKERS lower`)
}

function writable({ isStandby, isReadOnly }: postgres.Row): Finding {
  if (isStandby) return fault('writes', 'it is a hot standby: writes are refused; name the primary in DATABASE_URL')
  if (!isReadOnly) return ok('writes', 'it takes writes')
  return fault('writes', 'default_transaction_read_only is on: writes are refused; set it off for the role or the database')
}

/** Finds connections without TLS. A connection within this machine does not need TLS, because no one can eavesdrop on it. */
function encryption(url: string, { isEncrypted }: postgres.Row): Finding {
  if (isEncrypted) return ok('database tls', 'connections are encrypted')
  if (isLocal(url)) return ok('database tls', 'it is on this machine')
  return advice('database tls', 'connections are not encrypted: add ?sslmode=verify-full to DATABASE_URL')
}

/** Returns whether every host of a database URL is this machine. */
export function isLocal(url: string): boolean {
  return readDatabaseUrl(url).hosts.every(({ host }) => LOOPBACK.test(host))
}

/**
 * Finds missing migrations. Returns nothing if the role may not read the table of migrations: the finding about rights says so.
 */
async function examineMigrations(
  applied: Awaited<ReturnType<typeof appliedMigrations>> | 'lacking',
  { hasNoSchema }: postgres.Row,
  config: Config,
): Promise<Finding[]> {
  const folders: Migration[][] = []
  try {
    folders.push(...migrationFolders(config).map(readMigrations))
  } catch (error) {
    return [fault('migrations', `${errorOf(error).message}: mend MIGRATIONS_DIR`)]
  }
  if (applied === 'lacking') return []
  if (hasNoSchema)
    return [fault('rights', `the role may use no schema of its search_path: grant usage on schema public to it ${PAGE}`)]
  if (applied === null) return [fault('migrations', 'there are no tables yet: the first start makes them, by a role that may')]
  try {
    const pending = folders.flatMap((migrations) => pendingOf(migrations, applied))
    if (pending.length === 0) return [ok('migrations', `all ${folders.flat().length} are applied`)]
    const names = pending.map(({ file }) => file).join(', ')
    return [fault('migrations', `${names} not applied: start a server as the role that owns the tables`)]
  } catch (error) {
    return [fault('migrations', errorOf(error).message)]
  }
}

/** Examines DATABASE_URL if it leads through a pooler; the database itself is examined at DATABASE_DIRECT_URL. */
export async function examinePooled({ databaseUrl, databaseDirectUrl }: Config): Promise<Finding[]> {
  if (databaseDirectUrl === null || databaseUrl === null) return []
  const check = 'pooled database'
  const main = await withConnection(databaseDirectUrl, runOf).catch(() => null)
  try {
    const run = await withConnection(databaseUrl, runOf)
    if (run === main || main === null) return [ok(check, 'DATABASE_URL answers')]
    return [fault(check, 'DATABASE_URL leads to another database than DATABASE_DIRECT_URL: name the same in both')]
  } catch (error) {
    return [fault(check, refusalOf(error, 'DATABASE_URL'))]
  }
}

/** Reads the unique id of the database's change feed; null if the role cannot find the table `change_feed`. */
async function runOf(sql: postgres.Sql): Promise<string | null> {
  const [there] = await sql`select to_regclass('change_feed') is not null as yes`
  const [row] = there?.yes ? await sql`select run from change_feed` : []
  return row?.run ?? null
}

async function examineRights(sql: postgres.Sql, entities: readonly Entity[], role: string): Promise<Finding> {
  const wanted = neededRights(entities).flatMap(({ table, rights }) => rights.split(', ').map((right) => ({ table, right })))
  const lacking = await sql<{ table: string; right: string }[]>`
    select wanted."table", wanted."right" from json_to_recordset(${JSON.stringify(wanted)}::text::json) as wanted ("table" text, "right" text)
    where to_regclass(quote_ident(wanted."table")) is null
      or not has_table_privilege(to_regclass(quote_ident(wanted."table")), wanted."right")`
  if (lacking.length === 0) return ok('rights', 'the role may read and write the tables')
  const grants = [...Map.groupBy(lacking, ({ table }) => table)]
    .map(([table, own]) => `${own.map(({ right }) => right).join(', ')} on ${table}`)
    .join('; ')
  return fault('rights', `the role lacks ${grants}: let the owner of the tables run roster migrate --grant ${role} ${PAGE}`)
}

/** Finds tables that Citus distributes or manages, if the database has Citus. */
async function examineCitus(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding[]> {
  const [{ catalog } = { catalog: null }] = await sql`select to_regclass('pg_catalog.pg_dist_partition') as catalog`
  if (catalog === null) return []
  const tables = JSON.stringify(entities.map(({ table }) => table))
  const held = await sql<{ table: string }[]>`
    select relname as "table" from pg_dist_partition join pg_class on pg_class.oid = logicalrelid
    where relname in (select json_array_elements_text(${tables}::text::json)) order by relname`
  if (held.length === 0) return [ok('citus', 'it holds no table of an entity')]
  const names = held.map(({ table }) => table).join(', ')
  return [fault('citus', `Citus holds ${names}: use a database of its own for each tenant (docs/scaling.md)`)]
}

async function examineIndexes(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding> {
  const there = await sql<{ table: string; column: string }[]>`
    select c.relname as "table", a.attname as "column"
    from pg_index i
    join pg_class c on c.oid = i.indrelid
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = any (array(
      select to_regclass(quote_ident(name)) from json_array_elements_text(${JSON.stringify(entities.map(({ table }) => table))}::text::json) as name
    )) and i.indisvalid and i.indpred is null`
  const known = new Set(there.map(({ table, column }) => `${table}.${column}`))
  const commands = entities.flatMap(({ table, properties }) =>
    properties
      .filter(({ column, indexed }) => indexed && !known.has(`${table}.${column}`))
      .map(({ column }) => `create index on "${table}" ("${column}", id)`),
  )
  if (commands.length === 0) return ok('indexes', 'each property that sorts has its own')
  return fault('indexes', `missing or not valid: ${commands.join('; ')}`)
}

/** Minimum age, in seconds, of a change that is reported as held back. */
const HELD_SECONDS = 60

/** Finds open transactions that delay the change feed, in any database of the cluster. D57 */
async function examineHeldChanges(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding> {
  const check = 'changes'
  const tables = JSON.stringify(entities.map(({ table }) => table))
  const [held] = await sql<{ since: string; pid: number | null; gid: string | null; database: string | null }[]>`
    with oldest as materialized (select pg_snapshot_xmin(pg_current_snapshot()) as id),
      waiting as (
        select min(at) as since from entity_change
        where entity in (select json_array_elements_text(${tables}::text::json))
          and position >= (select id::text::bigint from oldest)
      )
    select to_char(since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since, activity.pid, prepared.gid,
      coalesce(activity.datname, prepared.database)::text as database
    from waiting cross join oldest
    left join pg_prepared_xacts as prepared on prepared.transaction = oldest.id::xid
    left join pg_locks as own on own.locktype = 'transactionid' and own.transactionid = oldest.id::xid
      and own.mode = 'ExclusiveLock' and own.granted
    left join pg_stat_activity as activity on activity.pid = own.pid
    where since < now() - make_interval(secs => ${HELD_SECONDS}::float8)`
  if (held === undefined) return ok(check, 'no transaction holds back what has changed')
  const { since, pid, gid, database } = held
  const text = `what has changed since ${since} is not shown, and posted, while`
  const where = `in database ${excerpt(database ?? '')} of the cluster`
  if (gid !== null) return advice(check, `${text} "${excerpt(gid)}" stays prepared ${where}: commit it, or roll it back, there`)
  if (pid === null) return advice(check, `${text} a transaction of the cluster is open: look again`)
  const remedy = `let it end, or select pg_terminate_backend(${pid})`
  return advice(check, `${text} a transaction of process ${pid} is open ${where}: ${remedy}`)
}

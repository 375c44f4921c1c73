// Keys in the database: as `roster keys` changes them, and as servers read them.
import type postgres from 'postgres'
import { ApiError, Refused } from '../errors.ts'
import { withConnection } from '../execute/connect.ts'
import type { Database } from '../execute/database.ts'
import { QUERY_MS_MAX } from '../execute/limits.ts'
import { classify } from '../execute/outcomes.ts'
import type { KeyRecord, KeySource } from '../model/key.ts'
import { suggest } from '../model/nearest.ts'
import { param, type Statement, sql, toStatement } from '../model/sql.ts'
import { withDeadline } from '../os/time.ts'

const isValid = sql`revoked is null and (expires is null or expires > now())`

/** The version holds the next expiry, so that it differs when that has passed. */
const selectVersion = toStatement(sql`
  select version || ' ' || coalesce((
    select min(expires) from api_key where revoked is null and expires is not null and expires > now()
  )::text, '') as version
  from api_key_version`)

const selectCurrent = toStatement(
  sql`select id, name, encode(hash, 'hex') as hash, rights, limits from api_key where ${isValid} order by id`,
)

/** Skips rows that another transaction is changing: the next use will do, and two servers never wait for each other. */
export function touchKeys(ids: readonly string[]): Statement {
  return toStatement(sql`
    with used as (
      select id from api_key where id = any(${param(`{${ids.join(',')}}`)}::text[]) for no key update skip locked
    )
    update api_key set last_used = now() from used where api_key.id = used.id`)
}

/** A key as a list shows it; times in UTC, to the second. */
export interface ListedKey {
  readonly id: string
  readonly name: string
  readonly rights: string
  readonly limits: string | null
  readonly created: string
  readonly lastUsed: string | null
  readonly expires: string | null
  readonly revoked: string | null
  readonly state: 'active' | 'expiring' | 'expired' | 'revoked'
}

/** Result of a rotation: the old key's id, when it ends (null: it has ended), and what the new key took over. */
export interface Rotation extends Pick<KeyRecord, 'rights' | 'limits'> {
  readonly id: string
  readonly expires: string | null
}

export class KeyStore {
  constructor(private readonly sql: postgres.Sql) {}

  /** @throws Refused when the name has a current key already */
  create(key: KeyRecord): Promise<void> {
    return this.change(async (sql) => {
      const made = await insertKey(sql, key)
      if (made.count === 0) throw new Refused(`a key named "${key.name}" exists already: rotate it, or revoke it first`)
    })
  }

  /** Ends every valid key of that name, replaced ones too. Returns their ids. @throws Refused when there is none */
  revoke(name: string): Promise<string[]> {
    return this.change(async (sql) => {
      const revoked = await sql`
        update api_key set revoked = now()
        where name = ${name} and revoked is null and (expires is null or expires > now()) returning id`
      if (revoked.count === 0) throw await unknownName(sql, name)
      return revoked.map(({ id }) => id)
    })
  }

  /** Replaces the current key of that name, which stays valid for `overlapMs`. @throws Refused when there is none */
  rotate(name: string, fresh: Pick<KeyRecord, 'id' | 'hash'>, overlapMs: number): Promise<Rotation> {
    return this.change(async (sql) => {
      // With an overlap of 0 the key ends now.
      const [old] = await sql<Rotation[]>`
        update api_key set
          expires = case when ${overlapMs}::bigint > 0 then now() + ${overlapMs}::bigint * interval '1 millisecond' end,
          revoked = case when ${overlapMs}::bigint = 0 then now() end
        where name = ${name} and revoked is null and expires is null
        returning id, rights, limits, ${secondsOf(sql, 'expires')} as expires`
      if (!old) throw await unknownName(sql, name)
      await insertKey(sql, { ...fresh, name, rights: old.rights, limits: old.limits })
      return old
    })
  }

  list(): Promise<ListedKey[]> {
    return inTime(
      this.sql<ListedKey[]>`
        select id, name, rights, limits, ${secondsOf(this.sql, 'created')} as created,
          ${secondsOf(this.sql, 'last_used')} as "lastUsed", ${secondsOf(this.sql, 'expires')} as expires,
          ${secondsOf(this.sql, 'revoked')} as revoked,
          case when revoked is not null then 'revoked' when expires is null then 'active'
            when expires > now() then 'expiring' else 'expired' end as state
        from api_key order by name, api_key.created desc, id`,
    )
  }

  private change<T>(work: (sql: postgres.TransactionSql) => Promise<T>): Promise<T> {
    return inTime(this.transact(work))
  }

  /** Makes one change of keys or hooks after the other: each sees all of the one before, so a revocation misses no new key. */
  transact<T>(work: (sql: postgres.TransactionSql) => Promise<T>): Promise<T> {
    return this.sql.begin('isolation level read committed', async (sql) => {
      // First: servers see a change by the version, and the next one waits until this one is done.
      await sql`update api_key_version set version = version + 1`
      return work(sql)
    }) as Promise<T>
  }
}

function insertKey(sql: postgres.TransactionSql, { id, name, hash, rights, limits }: KeyRecord) {
  return sql`
    insert into api_key (id, name, hash, rights, limits) values (${id}, ${name}, decode(${hash}, 'hex'), ${rights}, ${limits})
    on conflict (name) where revoked is null and expires is null do nothing`
}

/** SQL of a time in UTC, to the second. `column`: SQL, which is not escaped. */
export function secondsOf(sql: postgres.ISql, column: string) {
  return sql.unsafe(`to_char((${column}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`)
}

function inTime<T>(work: Promise<T>): Promise<T> {
  const late = `no answer within ${QUERY_MS_MAX} ms`
  return withDeadline(work, QUERY_MS_MAX, () => {
    // The command line prints errors that have a code without a stack.
    throw Object.assign(new Error(late), { code: 'DEADLINE_MISSED' })
  })
}

async function unknownName(sql: postgres.TransactionSql, name: string): Promise<Refused> {
  const valid = await sql`
    select distinct name from api_key where revoked is null and (expires is null or expires > now())`
  const names = valid.map((row) => row.name)
  return new Refused(`there is no valid key named "${name}".${suggest(name, names)}`)
}

/** Reads keys over the connections that requests are answered with: a process that serves also learns of revocations. */
export function keySource(database: Database): KeySource {
  return {
    version: async () => (await database.read(selectVersion))[0]?.[0] ?? '',
    current: async () =>
      (await database.read(selectCurrent)).map(
        ([id, name, hash, rights, limits]) => ({ id, name, hash, rights, limits }) as KeyRecord,
      ),
    // A database that refuses this statement, or is slow, may still answer others.
    isAway: (error) => error instanceof ApiError && ['lost', 'notSent'].includes(classify(error.cause)),
  }
}

/** Reads the database's secret, which cursors are signed with. @throws Error when it cannot be read */
export async function readCursorSecret(url: string): Promise<string> {
  const [row] = await withConnection(url, (own) => own<{ secret: string }[]>`select secret from cursor_secret`)
  if (!row) throw new Error('the table cursor_secret is empty')
  return row.secret
}

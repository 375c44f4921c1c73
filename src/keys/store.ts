// Keys in the database: changes by `roster keys`, and reads by servers.
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

/** Includes the next expiry, so that the version also differs after a key has expired. */
const selectVersion = toStatement(sql`
  select version || ' ' || coalesce((
    select min(expires) from api_key where revoked is null and expires is not null and expires > now()
  )::text, '') as version
  from api_key_version`)

const selectCurrent = toStatement(
  sql`select id, name, encode(hash, 'hex') as hash, rights, limits from api_key where ${isValid} order by id`,
)

/**
 * Records that keys were used. Skips rows that another transaction changes, so that servers never wait for each other; the next
 * use is recorded.
 */
export function touchKeys(ids: readonly string[]): Statement {
  return toStatement(sql`
    with used as (
      select id from api_key where id = any(${param(`{${ids.join(',')}}`)}::text[]) for no key update skip locked
    )
    update api_key set last_used = now() from used where api_key.id = used.id`)
}

/** A key in a list; times are in UTC, to the second. */
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

/** Result of a rotation: id and end of the old key (null: it has ended), and the rights and limits of the new one. */
export interface Rotation extends Pick<KeyRecord, 'rights' | 'limits'> {
  readonly id: string
  readonly expires: string | null
}

export class KeyStore {
  constructor(private readonly sql: postgres.Sql) {}

  /** Creates a key. @throws Refused if the name has a current key already */
  create(key: KeyRecord): Promise<void> {
    return this.change(async (sql) => {
      const made = await insertKey(sql, key)
      if (made.count === 0) throw new Refused(`a key named "${key.name}" exists already: rotate it, or revoke it first`)
    })
  }

  /** Ends all valid keys of this name, including replaced ones. Returns their ids. @throws Refused if there are none */
  revoke(name: string): Promise<string[]> {
    return this.change(async (sql) => {
      const revoked = await sql`
        update api_key set revoked = now()
        where name = ${name} and revoked is null and (expires is null or expires > now()) returning id`
      if (revoked.count === 0) throw await unknownName(sql, name)
      return revoked.map(({ id }) => id)
    })
  }

  /** Replaces the current key of this name; the old one stays valid for `overlapMs`. @throws Refused if there is none */
  rotate(name: string, replacement: Pick<KeyRecord, 'id' | 'hash'>, overlapMs: number): Promise<Rotation> {
    return this.change(async (sql) => {
      // An overlap of 0 ends the key now.
      const [old] = await sql<Rotation[]>`
        update api_key set
          expires = case when ${overlapMs}::bigint > 0 then now() + ${overlapMs}::bigint * interval '1 millisecond' end,
          revoked = case when ${overlapMs}::bigint = 0 then now() end
        where name = ${name} and revoked is null and expires is null
        returning id, rights, limits, ${secondsOf(sql, 'expires')} as expires`
      if (!old) throw await unknownName(sql, name)
      await insertKey(sql, { ...replacement, name, rights: old.rights, limits: old.limits })
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

  /** Runs one change of keys or hooks after the other. Each sees the one before, so that a revocation misses no new key. */
  transact<T>(work: (sql: postgres.TransactionSql) => Promise<T>): Promise<T> {
    return this.sql.begin('isolation level read committed', async (sql) => {
      // Locks the version before the change: the next change waits for this one, and servers notice it by the version.
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

/** Writes a time as SQL, in UTC, to the second. `column`: SQL that is not escaped. */
export function secondsOf(sql: postgres.ISql, column: string) {
  return sql.unsafe(`to_char((${column}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`)
}

function inTime<T>(work: Promise<T>): Promise<T> {
  const late = `no answer within ${QUERY_MS_MAX} ms`
  return withDeadline(work, QUERY_MS_MAX, () => {
    // The command line prints errors with a code without their stack.
    throw Object.assign(new Error(late), { code: 'DEADLINE_MISSED' })
  })
}

async function unknownName(sql: postgres.TransactionSql, name: string): Promise<Refused> {
  const valid = await sql`
    select distinct name from api_key where revoked is null and (expires is null or expires > now())`
  const names = valid.map((row) => row.name)
  return new Refused(`there is no valid key named "${name}".${suggest(name, names)}`)
}

/** Reads keys over the connections of requests, so that a process which serves requests also learns of revocations. */
export function keySource(database: Database): KeySource {
  return {
    version: async () => (await database.read(selectVersion))[0]?.[0] ?? '',
    current: async () =>
      (await database.read(selectCurrent)).map(
        ([id, name, hash, rights, limits]) => ({ id, name, hash, rights, limits }) as KeyRecord,
      ),
    // If the database only refuses this statement, or is slow, it may still answer others.
    isAway: (error) => error instanceof ApiError && ['lost', 'notSent'].includes(classify(error.cause)),
  }
}

/** Reads the secret that signs cursors. @throws Error if it cannot be read */
export async function readCursorSecret(url: string): Promise<string> {
  const [row] = await withConnection(url, (own) => own<{ secret: string }[]>`select secret from cursor_secret`)
  if (!row) throw new Error('the table cursor_secret is empty')
  return row.secret
}

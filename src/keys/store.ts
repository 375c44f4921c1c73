// Keys in the database: changes by `roster keys`, and reads by servers.
import type postgres from 'postgres'
import { ApiError, Refused } from '../errors.ts'
import { withConnection } from '../execute/connect.ts'
import type { Database } from '../execute/database.ts'
import { QUERY_MS_MAX } from '../execute/limits.ts'
import { classify } from '../execute/outcomes.ts'
import type { KeyRecord, KeySource, StoredRights } from '../model/key.ts'
import { suggest } from '../model/nearest.ts'
import { param, type Statement, sql, toStatement } from '../model/sql.ts'
import { withDeadline } from '../os/time.ts'

const isValid = sql`revoked is null and (expires is null or expires > now()) and (ends is null or ends > now())`

/**
 * Selects the version of the keys. It includes the next expiry and the next end, so that it also changes when a key expires or
 * ends.
 */
const selectVersion = toStatement(sql`
  select version || ' ' || coalesce((
    select min(expires) from api_key where revoked is null and expires is not null and expires > now()
  )::text, '') || ' ' || coalesce((
    select min(ends) from api_key where revoked is null and ends is not null and ends > now()
  )::text, '') as version
  from api_key_version`)

const selectCurrent = toStatement(
  sql`select id, name, encode(hash, 'hex') as hash, rights, addresses, role, limits from api_key where ${isValid} order by id`,
)

/**
 * Records that keys were used. Skips rows that another transaction is changing, so that servers never wait for each other. The
 * next use of a skipped key is recorded instead.
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
  readonly addresses: string | null
  readonly role: string | null
  readonly limits: string | null
  readonly created: string
  readonly lastUsed: string | null
  /** End of the key after its replacement; null: the key was not replaced. */
  readonly expires: string | null
  /** End that the operator gave the key; null: none. */
  readonly ends: string | null
  readonly revoked: string | null
  readonly state: 'active' | 'expiring' | 'expired' | 'revoked'
}

/** Rights, limits and end of a key. */
export interface KeyTerms extends StoredRights, Pick<KeyRecord, 'limits'> {
  /** End of the key in UTC, to the second; null: it has none. */
  readonly ends: string | null
}

/** Result of a rotation: the id of the old key, and the terms of both keys. `expires`: end of the old key; null: it has ended. */
export interface Rotation extends KeyTerms {
  readonly id: string
  readonly expires: string | null
}

/** Changes of keys, at least one; a property that is undefined stays as it is. */
export interface KeyChanges {
  readonly rights?: StoredRights | undefined
  /** Rate limits as text of `formatRules`; null: the limits of the settings. */
  readonly limits?: string | null | undefined
  /** Time until the end of the key, in ms; null: it has no end. */
  readonly lifetimeMs?: number | null | undefined
}

/** A changed key, with its terms after the change. */
export interface ChangedKey extends KeyTerms {
  readonly id: string
}

export class KeyStore {
  constructor(private readonly sql: postgres.Sql) {}

  /**
   * Creates a key that ends after `lifetimeMs`, or never if `lifetimeMs` is null. Returns the end of the key. @throws Refused if
   * the name has a current key already
   */
  create(key: KeyRecord, lifetimeMs: number | null = null): Promise<string | null> {
    return this.change(async (sql) => {
      // A key that has ended frees its name: it gets the time `expires`, like a replaced key.
      await sql`
        update api_key set expires = ends
        where name = ${key.name} and revoked is null and expires is null and ends <= now()`
      const [made] = await insertKey(sql, key, endAfter(sql, lifetimeMs))
      if (!made) throw new Refused(`a key named "${key.name}" exists already: rotate it, or revoke it first`)
      return made.ends
    })
  }

  /**
   * Ends all valid keys of this name, also those that were replaced. Returns their ids. @throws Refused if there is no valid key
   */
  revoke(name: string): Promise<string[]> {
    return this.change(async (sql) => {
      const revoked = await sql`
        update api_key set revoked = now()
        where name = ${name} and ${validIn(sql)} returning id`
      if (revoked.count === 0) throw await unknownName(sql, name)
      return revoked.map(({ id }) => id)
    })
  }

  /** Changes all valid keys of this name. Returns these keys, the current one first. @throws Refused if there is no valid key */
  changeTerms(name: string, { rights, limits, lifetimeMs }: KeyChanges): Promise<ChangedKey[]> {
    return this.change(async (sql) => {
      const changes = [
        ...(rights === undefined ? [] : [sql`rights = ${rights.rights}, addresses = ${rights.addresses}, role = ${rights.role}`]),
        ...(limits === undefined ? [] : [sql`limits = ${limits}`]),
        ...(lifetimeMs === undefined ? [] : [sql`ends = ${endAfter(sql, lifetimeMs)}`]),
      ]
      const changed = await sql<ChangedKey[]>`
        with changed as (
          update api_key set ${changes.flatMap((change, at) => (at === 0 ? change : [sql`, `, change]))}
          where name = ${name} and ${validIn(sql)} returning *
        )
        select id, ${termsOf(sql)} from changed order by expires nulls first, created desc, id`
      if (changed.count === 0) throw await unknownName(sql, name)
      return [...changed]
    })
  }

  /**
   * Replaces the current key of this name; the old key stays valid for `overlapMs`. @throws Refused if there is no current key
   */
  rotate(name: string, replacement: Pick<KeyRecord, 'id' | 'hash'>, overlapMs: number): Promise<Rotation> {
    return this.change(async (sql) => {
      // An overlap of 0 ends the key now.
      const [old] = await sql<Rotation[]>`
        update api_key set
          expires = case when ${overlapMs}::bigint > 0 then now() + ${overlapMs}::bigint * interval '1 millisecond' end,
          revoked = case when ${overlapMs}::bigint = 0 then now() end
        where name = ${name} and revoked is null and expires is null and (ends is null or ends > now())
        returning id, ${termsOf(sql)}, ${secondsOf(sql, 'case when expires is not null then least(expires, ends) end')} as expires`
      if (!old) throw await unknownName(sql, name)
      const { rights, addresses, role, limits } = old
      const ends = sql`(select ends from api_key where id = ${old.id})`
      await insertKey(sql, { ...replacement, name, rights, addresses, role, limits }, ends)
      return old
    })
  }

  /**
   * Returns the rights of the current key of this name. If only replaced keys are valid, returns the rights of one of them.
   * @throws Refused if there is no valid key
   */
  async rightsOf(name: string): Promise<StoredRights> {
    const { sql } = this
    const [found] = await inTime(
      sql<StoredRights[]>`
        select rights, addresses, role from api_key where name = ${name} and ${validIn(sql)} order by expires nulls first limit 1`,
    )
    if (!found) throw await unknownName(sql, name)
    return found
  }

  /** Returns the keys that are neither revoked nor expired, and have not ended. */
  valid(): Promise<KeyRecord[]> {
    return inTime(this.sql.unsafe<KeyRecord[]>(selectCurrent.text))
  }

  list(): Promise<ListedKey[]> {
    return inTime(
      this.sql<ListedKey[]>`
        select id, name, rights, addresses, role, limits, ${secondsOf(this.sql, 'created')} as created,
          ${secondsOf(this.sql, 'last_used')} as "lastUsed", ${secondsOf(this.sql, 'expires')} as expires,
          ${secondsOf(this.sql, 'ends')} as ends, ${secondsOf(this.sql, 'revoked')} as revoked,
          case when revoked is not null then 'revoked' when least(expires, ends) is null then 'active'
            when least(expires, ends) > now() then 'expiring' else 'expired' end as state
        from api_key order by name, api_key.created desc, id`,
    )
  }

  private change<T>(work: (sql: postgres.TransactionSql) => Promise<T>): Promise<T> {
    return inTime(this.transact(work))
  }

  /**
   * Runs a change of keys or hooks when the previous change has ended. Each change sees all earlier changes, so that a revocation
   * misses no new key.
   */
  transact<T>(work: (sql: postgres.TransactionSql) => Promise<T>): Promise<T> {
    return this.sql.begin('isolation level read committed', async (sql) => {
      // Locks the version before the change: the next change waits for this one, and servers notice the change by the new
      // version.
      await sql`update api_key_version set version = version + 1`
      return work(sql)
    }) as Promise<T>
  }
}

/** Inserts a key with the end `ends`. Returns no row if the name has a current key. */
function insertKey(sql: postgres.TransactionSql, key: KeyRecord, ends: postgres.PendingQuery<postgres.Row[]>) {
  const { id, name, hash, rights, addresses, role, limits } = key
  return sql<{ ends: string | null }[]>`
    insert into api_key (id, name, hash, rights, addresses, role, limits, ends)
    values (${id}, ${name}, decode(${hash}, 'hex'), ${rights}, ${addresses}, ${role}, ${limits}, ${ends})
    on conflict (name) where revoked is null and expires is null do nothing
    returning ${secondsOf(sql, 'ends')} as ends`
}

/** Returns SQL for the end of a key, `lifetimeMs` from now. If `lifetimeMs` is null, the key never ends. */
function endAfter(sql: postgres.ISql, lifetimeMs: number | null) {
  return lifetimeMs === null ? sql`null` : sql`now() + ${lifetimeMs}::bigint * interval '1 millisecond'`
}

function termsOf(sql: postgres.ISql) {
  return sql`rights, addresses, role, limits, ${secondsOf(sql, 'ends')} as ends`
}

function validIn(sql: postgres.ISql) {
  return sql.unsafe(toStatement(isValid).text)
}

/**
 * Returns SQL for the text of a time in UTC, to the second. The caller must pass constant SQL as `column`, because it is not
 * escaped.
 */
export function secondsOf(sql: postgres.ISql, column: string) {
  return sql.unsafe(`to_char((${column}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`)
}

function inTime<T>(work: Promise<T>): Promise<T> {
  const late = `no answer within ${QUERY_MS_MAX} ms`
  return withDeadline(work, QUERY_MS_MAX, () => {
    // If an error has a code, the command line prints it without its stack.
    throw Object.assign(new Error(late), { code: 'DEADLINE_MISSED' })
  })
}

async function unknownName(sql: postgres.ISql, name: string): Promise<Refused> {
  const valid = await sql`
    select distinct name from api_key where ${validIn(sql)}`
  const names = valid.map((row) => row.name)
  return new Refused(`there is no valid key named "${name}".${suggest(name, names)}`)
}

/**
 * Reads keys over the connections that also serve requests, so that a process that can answer requests also learns of
 * revocations.
 */
export function keySource(database: Database): KeySource {
  return {
    version: async () => (await database.read(selectVersion))[0]?.[0] ?? '',
    current: async () =>
      (await database.read(selectCurrent)).map(
        ([id, name, hash, rights, addresses, role, limits]) => ({ id, name, hash, rights, addresses, role, limits }) as KeyRecord,
      ),
    // If the database only refuses this statement, or is slow, it is not away: it may still answer other statements.
    isAway: (error) => error instanceof ApiError && ['lost', 'notSent'].includes(classify(error.cause)),
  }
}

/** Reads the secret that signs cursors. @throws Error if it cannot be read */
export async function readCursorSecret(url: string): Promise<string> {
  const [row] = await withConnection(url, (own) => own<{ secret: string }[]>`select secret from cursor_secret`)
  if (!row) throw new Error('the table cursor_secret is empty')
  return row.secret
}

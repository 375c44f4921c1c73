import type { KeyRecord } from '../model/key.ts'
import { param, type Statement, sql, toStatement } from '../model/sql.ts'

/** The first statement of each change: servers see it by the version, and the next change waits until this one is done. */
export const raiseVersion = toStatement(sql`update api_key_version set version = version + 1`)

const isValid = sql`revoked is null and (expires is null or expires > now())`

const toSecond = (column: ReturnType<typeof sql>) => sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`

/** The version holds the next expiry, so that it differs when that has passed. */
export const selectVersion = toStatement(sql`
  select version || ' ' || coalesce((
    select min(expires) from api_key where revoked is null and expires is not null and expires > now()
  )::text, '') as version
  from api_key_version`)

const record = sql`select id, name, encode(hash, 'hex') as hash, rights, limits from api_key`

export const selectCurrent = toStatement(sql`${record} where ${isValid} order by id`)

export const selectAll = toStatement(sql`
  select id, name, rights, limits, ${toSecond(sql`created`)} as created, ${toSecond(sql`last_used`)} as "lastUsed",
    ${toSecond(sql`expires`)} as expires, ${toSecond(sql`revoked`)} as revoked,
    case when revoked is not null then 'revoked' when expires is null then 'active'
      when expires > now() then 'expiring' else 'expired' end as state
  from api_key order by name, api_key.created desc, id`)

export const selectValidNames = toStatement(sql`select distinct name from api_key where ${isValid}`)

export function insertKey({ id, name, hash, rights, limits }: KeyRecord): Statement {
  return toStatement(sql`
    insert into api_key (id, name, hash, rights, limits)
    values (${param(id)}, ${param(name)}, decode(${param(hash)}, 'hex'), ${param(rights)}, ${param(limits)})
    on conflict (name) where revoked is null and expires is null do nothing
    returning id`)
}

export function revokeKeys(name: string): Statement {
  return toStatement(sql`
    update api_key set revoked = now() where name = ${param(name)} and ${isValid} returning id`)
}

/** With an overlap of 0 the key ends now. */
export function retireKey(name: string, overlapMs: number): Statement {
  const overlap = sql`${param(String(overlapMs))}::bigint`
  return toStatement(sql`
    update api_key set
      expires = case when ${overlap} > 0 then now() + ${overlap} * interval '1 millisecond' end,
      revoked = case when ${overlap} = 0 then now() end
    where name = ${param(name)} and revoked is null and expires is null
    returning id, rights, limits, ${toSecond(sql`expires`)} as expires`)
}

/** Skips rows that another transaction is changing: the next use will do, and two servers never wait for each other. */
export function touchKeys(ids: readonly string[]): Statement {
  return toStatement(sql`
    with used as (
      select id from api_key where id = any(${param(`{${ids.join(',')}}`)}::text[]) for no key update skip locked
    )
    update api_key set last_used = now() from used where api_key.id = used.id`)
}

import type { Row } from '../model/sql.ts'
import type { Ask } from './listenerStatements.ts'

/** A column that rows of `table` copy along a foreign key: a worker that changes it in `source` publishes a reset of `table`. */
export interface Copy {
  readonly table: string
  readonly source: string
  readonly column: string
}

/** What changes rows without a record in the change log and without a notification. */
export interface Stranger {
  readonly kind: string
  readonly name: string
  /** The table it stands on. */
  readonly place: string
  /** Whose rows it changes; null: there is no knowing, so those of all. */
  readonly table: string | null
}

export interface Survey {
  /** Tables whose triggers notify of every change, and all columns of each, in their order. */
  readonly notifying: ReadonlyMap<string, readonly string[]>
  readonly strangers: readonly Stranger[]
  /** To be looked at from now on. */
  readonly watched: string
  readonly signs: string
}

/**
 * A text that differs as soon as one of the tables is defined anew, or what follows from its writes: columns,
 * triggers (every foreign key from or to a table has some there), rules, publications, parents and children. `oids`: an
 * array.
 */
const signsOf = (oids: string) => `concat_ws(' ',
  array(select xmin from pg_class where oid = any (${oids}) order by oid),
  array(select xmin from pg_attribute where attrelid = any (${oids}) and attnum > 0 order by attrelid, attnum),
  array(select xmin from pg_trigger where tgrelid = any (${oids}) order by oid),
  array(select xmin from pg_rewrite where ev_class = any (${oids}) order by oid),
  array(select xmin from pg_publication order by oid),
  array(select xmin from pg_publication_rel where prrelid = any (${oids}) order by oid),
  array(select inhrelid from pg_inherits where inhparent = any (${oids}) order by 1),
  array(select inhparent from pg_inherits where inhrelid = any (${oids}) order by 1))`

/** How often a trigger, a foreign key or a rule was made or dropped: PostgreSQL counts it some seconds later. */
const CHANGES = ['pg_trigger', 'pg_rewrite', 'pg_inherits']
  .flatMap((catalog) => ['inserted', 'updated', 'deleted'].map((what) => [catalog, what]))
  .map(([catalog, what]) => `pg_stat_get_tuples_${what}('${catalog}'::regclass)`)
  .join(' + ')

const selectSigns = `select ${signsOf('asked.oids')}, (${CHANGES})::text
from (select array(select json_array_elements_text($1::text::json)::oid)) as asked (oids)`

const ACTS = "contype = 'f' and (confdeltype in ('c', 'n', 'd') or confupdtype in ('c', 'n', 'd'))"

/** Whether a trigger is one of the four that `notify_changes_of` makes. Its arguments each end with a zero byte. */
const NOTIFIES = `case tgtype
    when 60 then tgargs = 'truncate'::bytea || '\\x00'::bytea
    when 4 then tgargs = 'rows'::bytea || '\\x00'::bytea and tgnewtable = 'new_rows'
    when 8 then tgargs = 'rows'::bytea || '\\x00'::bytea and tgoldtable = 'old_rows'
    when 16 then tgargs = 'rows'::bytea || '\\x00'::bytea and tgoldtable = 'old_rows' and tgnewtable = 'new_rows'
  end`

/**
 * All in one statement, and so of one moment. `reached`: our tables, and all whose rows a foreign key changes along with
 * ours, or that are parts of one. `swept`: what a foreign key changes that no entity declares, and what that brings along.
 * Rows of ours are never given another `id`.
 */
const selectSurvey = `
with recursive ours as materialized (
  select pg_class.oid, asked.name from json_array_elements_text($1::text::json) as asked (name)
  join pg_class on pg_class.oid = to_regclass(quote_ident(asked.name))
), copies as materialized (
  select to_regclass(quote_ident("table")) as copying, to_regclass(quote_ident(source)) as copied, "column"
  from json_to_recordset($2::text::json) as copy ("table" text, source text, "column" text)
), reached (oid) as (
  select oid from ours
  union
  select next.oid from reached cross join lateral (
    select conrelid as oid from pg_trigger join pg_constraint on pg_constraint.oid = tgconstraint
    where tgrelid = reached.oid and confrelid = reached.oid and ${ACTS}
    union all
    select inhrelid from pg_inherits where inhparent = reached.oid
  ) as next
), keys as materialized (
  select distinct pg_constraint.oid, conname, conrelid, confrelid, confdeltype in ('a', 'r') and not exists (
    select from pg_attribute where attrelid = confrelid and attnum = any (confkey) and attname <> 'id' and not exists (
      select from copies where copying = conrelid and copied = confrelid and "column" = attname
    )
  ) as is_declared
  from reached join pg_trigger on tgrelid = reached.oid join pg_constraint on pg_constraint.oid = tgconstraint
  where confrelid = reached.oid and ${ACTS}
), swept (oid, name, place, target) as (
  select oid, conname, conrelid, conrelid from keys where not is_declared
  union
  select swept.oid, swept.name, swept.place, keys.conrelid from swept join keys on keys.confrelid = swept.target
), strangers (kind, name, place, target) as (
  select 'trigger', tgname, tgrelid, null::oid
  from reached join pg_trigger on tgrelid = reached.oid join pg_proc on pg_proc.oid = tgfoid
  where not tgisinternal and tgenabled <> 'D' and not (proname = 'notify_change' and tgrelid in (select oid from ours))
  union all
  select 'rule', rulename, ev_class, null
  from reached join pg_rewrite on ev_class = reached.oid where ev_enabled <> 'D'
  union all
  select 'foreign key', name, place, target from swept
  union all
  select 'child table', relname, inhparent, inhparent
  from ours join pg_inherits on inhparent = ours.oid join pg_class on pg_class.oid = inhrelid
  union all
  select 'parent table', relname, inhrelid, inhrelid
  from ours join pg_inherits on inhrelid = ours.oid join pg_class on pg_class.oid = inhparent
  union all
  select 'row security', ours.name, oid, oid from ours where row_security_active(oid)
)
select 'notifying', ours.name, array_to_json(array(
  select attname from pg_attribute where attrelid = ours.oid and attnum > 0 and not attisdropped order by attnum
))::text, null
from ours cross join lateral (
  select count(*) filter (where tgtype = 60 and tgnargs = 0) as without_rows,
    count(distinct tgtype) filter (where ${NOTIFIES}) as with_rows
  from pg_trigger join pg_proc on pg_proc.oid = tgfoid
  where tgrelid = ours.oid and proname = 'notify_change' and tgenabled = 'A' and tgqual is null and tgattr = ''
) as triggers
where without_rows > 0 or with_rows = 4
union all
select 'watched', array_to_json(oids)::text, ${signsOf('watched.oids')}, null
from (select array(select oid from reached order by oid)) as watched (oids)
union all
select kind, strangers.name, place::regclass::text, ours.name
from strangers left join ours on ours.oid = target where target is null or ours.oid is not null
order by 1, 2, 3, 4`

export async function survey(ask: Ask, tables: readonly string[], copies: readonly Copy[]): Promise<Survey> {
  const rows = await ask(selectSurvey, [JSON.stringify(tables), JSON.stringify(copies)])
  const of = (kind: string) => rows.filter((row) => row[0] === kind)
  const [[, watched, signs] = []] = of('watched')
  return {
    notifying: new Map(of('notifying').map(([, name, columns]) => [name as string, JSON.parse(columns as string)])),
    strangers: rows.filter(([kind]) => kind !== 'notifying' && kind !== 'watched').map(strangerOf),
    watched: watched as string,
    signs: signs as string,
  }
}

function strangerOf([kind, name, place, table]: Row): Stranger {
  return { kind, name, place, table } as Stranger
}

/** The signs of now, and how much has been made and dropped until some seconds ago. */
export async function lookAt(ask: Ask, watched: string): Promise<{ signs: string; changes: string }> {
  const [[signs, changes] = []] = await ask(selectSigns, [watched])
  return { signs: signs as string, changes: changes as string }
}

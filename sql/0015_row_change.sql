-- Which rows have changed, for servers that keep copies of tables in memory: before a list is answered, a server asks which rows
-- its copy is without. Every statement leaves a line, whoever sent it: a server, psql, a cascade, a migration. docs/memory.md
-- As in 0007: waits for what is under way on the tables, but not for a session that has left its transaction open.
set local lock_timeout = '5s';
lock table company, employee, absence in access exclusive mode;

-- Unlogged: after a crash copies are loaded anew, and nothing else reads it. A line lives for a minute or two.
create unlogged table row_change (
  transaction xid8 not null default pg_current_xact_id(),
  -- The table of the rows.
  relation oid not null,
  -- Null: any row of the table may have changed.
  ids bigint[]
);

create index row_change_newest on row_change (relation, transaction);

-- Its only row is gone after a crash, a failover or a restore, which may undo commits: a copy belongs to one run.
create unlogged table row_change_run (
  run text collate "C" not null default gen_random_uuid()::text,
  -- Lines of transactions before this one may have been deleted. A copy whose snapshot may lack one of them is out of date.
  kept_from xid8 not null default pg_snapshot_xmin(pg_current_snapshot()),
  is_only_row boolean default true,
  constraint row_change_run_pk primary key (is_only_row),
  constraint row_change_run_one_row check (is_only_row)
);

insert into row_change_run default values;

-- Leaves a line that names no rows, once in a transaction.
create function note_table(changed oid) returns void
  language plpgsql security definer
  as $body$
    begin
      insert into row_change (relation, ids) values (changed, null);
      perform set_config(
        'roster.noted_tables', coalesce(current_setting('roster.noted_tables', true), '') || ' ' || changed || ' ', true
      );
    end
  $body$;

-- The lines of a statement. A question to the table walks over those of open transactions, so they are few: a statement leaves
-- one, of at most 1,000 ids, and a transaction at most 250, then one for the table as a whole.
create function note_rows() returns trigger
  language plpgsql security definer
  as $body$
    declare
      ids bigint[];
      lines integer;
    begin
      if strpos(current_setting('roster.noted_tables', true), ' ' || tg_relid || ' ') > 0 then
        return null;
      end if;
      if tg_op = 'TRUNCATE' then
        perform note_table(tg_relid);
        return null;
      elsif tg_op = 'DELETE' then
        ids := array(select id from old_rows limit 1001);
      else
        ids := array(select id from new_rows limit 1001);
      end if;
      if ids = '{}' then
        return null;
      end if;
      lines := coalesce(nullif(current_setting('roster.noted_lines', true), ''), '0')::integer + 1;
      if cardinality(ids) > 1000 or lines > 250 then
        perform note_table(tg_relid);
      else
        insert into row_change (relation, ids) values (tg_relid, ids);
        perform set_config('roster.noted_lines', lines::text, true);
      end if;
      return null;
    end
  $body$;

-- A row that is given another id is another row: what it was before is in no transition table of the statement's that has its new id.
create function note_other_id() returns trigger
  language plpgsql security definer
  as $body$
    begin
      if coalesce(strpos(current_setting('roster.noted_tables', true), ' ' || tg_relid || ' '), 0) = 0 then
        perform note_table(tg_relid);
      end if;
      return null;
    end
  $body$;

-- Whoever may write rows leaves lines with the rights of their owner, whatever their own search path.
do $migration$
  declare
    noting regprocedure;
  begin
    foreach noting in array array['note_table(oid)', 'note_rows()', 'note_other_id()']::regprocedure[] loop
      execute format('alter function %s set search_path = %I, pg_catalog, pg_temp', noting, current_schema());
    end loop;
  end
$migration$;

-- Makes the triggers of a table anew. All fire also where a session fires no ordinary triggers.
create function record_changes_of(changed regclass) returns void
  language plpgsql
  as $body$
    declare
      name text := (select relname from pg_class where oid = changed);
      made record;
    begin
      for made in
        select suffix, definition from (values
          ('_changes', null),
          ('_inserts', 'after insert on %s referencing new table as new_rows for each statement execute function note_rows()'),
          ('_updates', 'after update on %s referencing new table as new_rows for each statement execute function note_rows()'),
          ('_deletes', 'after delete on %s referencing old table as old_rows for each statement execute function note_rows()'),
          ('_truncates', 'after truncate on %s for each statement execute function note_rows()'),
          ('_other_ids', 'after update of id on %s for each row when (old.id <> new.id) execute function note_other_id()')
        ) as made (suffix, definition)
      loop
        execute format('drop trigger if exists %I on %s', name || made.suffix, changed);
        if made.definition is not null then
          execute format('create trigger %I ' || made.definition, name || made.suffix, changed);
          execute format('alter table %s enable always trigger %I', changed, name || made.suffix);
        end if;
      end loop;
    end
  $body$;

-- Own migrations of earlier versions call these two for their tables.
create or replace function notify_changes_of(changed regclass, with_rows boolean default true) returns void
  language sql
  as $body$
    select record_changes_of(changed);
  $body$;

create or replace function publish_rows(relation regclass) returns boolean
  language sql
  as $body$
    select false;
  $body$;

-- Of the tables of other entities, too.
select record_changes_of(tgrelid)
from (
  select distinct tgrelid::regclass from pg_trigger join pg_proc on pg_proc.oid = tgfoid
  where proname = 'notify_change' and pronamespace = current_schema()::regnamespace
) as recorded;
drop function notify_change();
drop table change_listener;

-- What servers of earlier versions read from PostgreSQL's own log.
do $migration$
  declare
    published regclass;
  begin
    for published in
      select prrelid::regclass from pg_publication_rel join pg_publication on pg_publication.oid = prpubid
      where pubname = 'roster'
    loop
      execute format('alter table only %s replica identity default', published);
    end loop;
    drop publication if exists roster;
  exception when insufficient_privilege then
    raise notice 'the publication roster is no longer used: drop it as its owner';
  end
$migration$;

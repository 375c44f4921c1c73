-- The triggers that insert lines of row_change insert those of entity_change, too, so that writes by psql, migrations and
-- cascades have lines. A server passes its API key in roster.key, a setting of the transaction. D57
-- As in 0007: waits for what is under way on the tables, but not for a session that has left its transaction open.
set local lock_timeout = '5s';
lock table company, employee, absence in access exclusive mode;

-- Null: no API key has asked for the write. From here on `changed` has names of columns.
alter table entity_change alter column key drop not null;
-- Whether lines have values. Lines are inserted only while `origin` says that servers keep them.
alter table change_feed add column has_values boolean not null default false;

-- The part of a trigger function that inserts lines; '' if servers keep none. Names with capitals cannot collide with columns of entities.
create function lines_of(changed regclass) returns text
  language plpgsql stable
  as $function$
    declare
      feed change_feed;
      columns record;
      head text := 'insert into entity_change (position, entity, id, action, key, changed, before, after) select "Place", "Table", ';
      existing text;
      parts_new text := '''{}'', null, null';
      parts_gone text := '''{}'', null, null';
      parts_changed text := 'null, null';
    begin
      select * into feed from change_feed;
      if feed.origin in ('', 'off') then
        return '';
      end if;
      -- Without other columns than the id, nothing ever differs.
      select
        coalesce(string_agg(format('case when "Old".%1$I is distinct from "New".%1$I then %1$L end', attname), ', '), 'null') as names,
        coalesce(string_agg(format('("Old".%1$I is distinct from "New".%1$I, %2$s, %3$s)', attname, format(as_text, '"Old"', attname), format(as_text, '"New"', attname)), ', '),
          '(false, null, null)') as pairs,
        coalesce(string_agg(format('(%L, %s)', attname, format(as_text, '"Row"', attname)), ', '), '(null, null)') as own
      into columns
      from (
        -- A cast writes booleans in another way than servers read them.
        select attname, case atttypid when 'boolean'::regtype then 'left(%s.%I::text, 1)' else '%s.%I::text' end as as_text
        from pg_attribute where attrelid = changed and attnum > 0 and not attisdropped and attname <> 'id'
        order by attnum
      ) as property;
      if feed.has_values then
        existing := format('from (values %s) as "V" ("Name", "Value") where "Value" is not null', columns.own);
        parts_new := replace('array(select "Name" @), array(select null::text @), array(select "Value" @)', '@', existing);
        parts_gone := replace('array(select "Name" @), array(select "Value" @), array(select null::text @)', '@', existing);
        parts_changed := replace('array(select "Was" @), array(select "Is" @)', '@',
          format('from (values %s) as "V" ("Differs", "Was", "Is") where "Differs"', columns.pairs));
      end if;
      return format($text$
      -- A server of the previous version inserts its lines itself; generated data has none.
      if "Asker" is not null or not current_setting('application_name') ^@ 'roster' then
        -- Taken after all rows were written, and so are locked.
        "Place" := change_position();
        if tg_op = 'INSERT' then
          %1$s "Row".id, 'c', "Asker", %2$s from new_rows as "Row";
        elsif tg_op = 'UPDATE' and cardinality("Ids") = 1 then
          %3$s from old_rows as "Old" cross join new_rows as "New" where "Old" is distinct from "New";
        elsif tg_op = 'UPDATE' then
          -- Paired by their numbers: a row occurs twice if a cascade has changed it again. The planner has no nested loop for a full join.
          %3$s from (select row_number() over () as "Pair", * from old_rows) as "Old"
          full join (select row_number() over () as "Pair", * from new_rows) as "New" using ("Pair")
          where "Old" is distinct from "New";
        elsif tg_op = 'DELETE' then
          %1$s "Row".id, 'd', "Asker", %4$s from old_rows as "Row";
        else
          %1$s "Row".id, 'd', "Asker", %4$s from %5$s as "Row";
        end if;
      end if;$text$, head, parts_new,
        format('%s "New".id, case when "Old".id = "New".id then ''u'' else ''c'' end, "Asker", array_remove(array[%s]::text[], null), %s', head, columns.names, parts_changed),
        parts_gone, changed);
    end
  $function$;

-- Creates the trigger function of a table, or replaces it if its columns or the settings of lines have changed; returns its name. The
-- function runs with the rights of its owner, and does not depend on the search path and formats of the session.
create function write_recorder(changed regclass) returns text
  language plpgsql
  as $function$
    declare
      relname text := (select relname from pg_class where oid = changed);
      recorder text := 'record_' || case when octet_length(relname) > 56 then md5(relname) else relname end;
      body text := $text$
    declare
      "Asker" text := nullif(current_setting('roster.key', true), '');
      "Table" text := tg_table_name;
      "Place" bigint;
      "Ids" bigint[];
      "Noted" integer;
    begin
      if tg_op = 'DELETE' then
        "Ids" := array(select id from old_rows limit 1001);
      elsif tg_op <> 'TRUNCATE' then
        "Ids" := array(select id from new_rows limit 1001);
      end if;
      if "Ids" = '{}' then
        return null;
      end if;
      if coalesce(strpos(current_setting('roster.noted_tables', true), ' ' || tg_relid || ' '), 0) = 0 then
        -- A question to row_change walks over the lines of open transactions, so they are few: a statement leaves one, of at most 1,000
        -- ids, and a transaction at most 250, then one for the table as a whole.
        "Noted" := coalesce(nullif(current_setting('roster.noted_lines', true), ''), '0')::integer + 1;
        if "Ids" is null or cardinality("Ids") > 1000 or "Noted" > 250 then
          perform note_table(tg_relid);
        else
          insert into row_change (relation, ids) values (tg_relid, "Ids");
          perform set_config('roster.noted_lines', "Noted"::text, true);
        end if;
      end if;$text$ || lines_of(changed) || $text$
      return null;
    end
  $text$;
    begin
      if body is distinct from (select prosrc from pg_proc where pronamespace = current_schema()::regnamespace and proname = recorder) then
        execute format(
          'create or replace function %I() returns trigger language plpgsql security definer '
          'set search_path = %I, pg_catalog, pg_temp set timezone = ''UTC'' set datestyle = ''ISO'' as %L',
          recorder, current_schema(), body
        );
      end if;
      return recorder;
    end
  $function$;

-- The same for every recorded table. Called when a server starts and after migrations; call it after adding or dropping columns by psql.
-- It runs with the rights of the owner, since the role of a server may have no right to create functions.
create function write_recorders() returns void
  language plpgsql security definer
  as $body$
    begin
      perform write_recorder(tgrelid)
      from (
        select distinct tgrelid::regclass from pg_trigger join pg_proc on pg_proc.oid = tgfoid
        where proname = 'note_other_id' and pronamespace = current_schema()::regnamespace
      ) as recorded;
    end
  $body$;

-- Called when a server starts. Servers of the previous version call the function of 0013, which knows nothing of values.
create function check_changes(is_kept boolean, with_values boolean) returns void
  language plpgsql
  as $body$
    begin
      perform check_changes(is_kept);
      if current_setting('transaction_read_only') = 'off' then
        update change_feed set has_values = with_values where has_values <> with_values;
        perform write_recorders();
      end if;
    end
  $body$;

-- Whether all triggers of record_changes_of are on the table, and fire in every session.
create function is_recorded(changed regclass) returns boolean
  language sql stable
  as $body$
    select count(*) = 5 from pg_trigger join pg_proc on pg_proc.oid = tgfoid
    where tgrelid = changed and tgenabled = 'A' and (proname = 'note_other_id' or proname ^@ 'record_');
  $body$;

-- A row that is given another id is another row: what it was before is in no transition table of the statement's that has its new id.
create or replace function note_other_id() returns trigger
  language plpgsql security definer
  as $body$
    begin
      if coalesce(strpos(current_setting('roster.noted_tables', true), ' ' || tg_relid || ' '), 0) = 0 then
        perform note_table(tg_relid);
      end if;
      insert into entity_change (position, entity, id, action, key, changed)
      select change_position(), tg_table_name, old.id, 'd', nullif(current_setting('roster.key', true), ''), '{}'
      from change_feed where origin not in ('', 'off');
      return null;
    end
  $body$;

do $migration$
  declare
    own regprocedure;
  begin
    foreach own in array array['write_recorders()', 'note_other_id()']::regprocedure[] loop
      execute format('alter function %s set search_path = %I, pg_catalog, pg_temp', own, current_schema());
    end loop;
  end
$migration$;

-- Makes the triggers of a table anew. All fire also where a session fires no ordinary triggers.
create or replace function record_changes_of(changed regclass) returns void
  language plpgsql
  as $body$
    declare
      name text := (select relname from pg_class where oid = changed);
      recorder text := write_recorder(changed);
      made record;
    begin
      for made in
        select suffix, definition from (values
          ('_changes', null),
          ('_inserts', 'after insert on %1$s referencing new table as new_rows for each statement execute function %2$I()'),
          ('_updates', 'after update on %1$s referencing old table as old_rows new table as new_rows for each statement execute function %2$I()'),
          ('_deletes', 'after delete on %1$s referencing old table as old_rows for each statement execute function %2$I()'),
          ('_truncates', 'before truncate on %1$s for each statement execute function %2$I()'),
          ('_other_ids', 'after update of id on %1$s for each row when (old.id <> new.id) execute function note_other_id()')
        ) as made (suffix, definition)
      loop
        execute format('drop trigger if exists %I on %s', name || made.suffix, changed);
        if made.definition is not null then
          execute format('create trigger %3$I ' || made.definition, changed, recorder, name || made.suffix);
          execute format('alter table %s enable always trigger %I', changed, name || made.suffix);
        end if;
      end loop;
    end
  $body$;

-- Of the tables of other entities, too.
select record_changes_of(tgrelid)
from (
  select distinct tgrelid::regclass from pg_trigger join pg_proc on pg_proc.oid = tgfoid
  where proname = 'note_rows' and pronamespace = current_schema()::regnamespace
) as recorded;
drop function note_rows();
-- Only triggers call it, which run with the rights of their owner.
revoke execute on function note_table(oid) from public;

-- Lines of row_change: several for a statement of many rows; neither a setting of the session, nor another trigger, nor another name of
-- the table keeps them away.
-- Waits for writes that are under way on the tables, but not for a session that has left its transaction open. Reads go on.
set local lock_timeout = '5s';
lock table company, employee, absence in share row exclusive mode;

-- Leaves the lines of changed rows; null: any row of the table may have changed. A question to row_change walks over the lines of open
-- transactions, and a server takes in up to 50,000 rows, so a statement leaves at most 50 lines of 1,000 ids, and a transaction 250;
-- beyond that one for the table as a whole. A setting has what the transaction has left. It begins with the number of the transaction,
-- because a session may set it, too. Triggers call this with the rights and the search path of their owner; who calls it otherwise needs
-- the right to insert lines.
create function note_rows(changed oid, changed_ids bigint[]) returns void
  language plpgsql
  as $body$
    declare
      own text := pg_current_xact_id()::text;
      noted text := current_setting('roster.noted', true);
      lines integer := coalesce((cardinality(changed_ids) + 999) / 1000, 1);
      lines_before integer := 0;
      whole_tables text := ',';
    begin
      if split_part(noted, ' ', 1) = own then
        lines_before := split_part(noted, ' ', 2);
        whole_tables := split_part(noted, ' ', 3);
      end if;
      if strpos(whole_tables, ',' || changed || ',') > 0 then
        return;
      end if;
      if changed_ids is null or lines > 50 or lines_before + lines > 250 then
        insert into row_change (relation, ids) values (changed, null);
        whole_tables := whole_tables || changed || ',';
      elsif lines = 1 then
        insert into row_change (relation, ids) values (changed, changed_ids);
      else
        insert into row_change (relation, ids)
        select changed, changed_ids[first : first + 999] from generate_series(1, cardinality(changed_ids), 1000) as first;
      end if;
      perform set_config('roster.noted', concat_ws(' ', own, lines_before + lines, whole_tables), true);
    end
  $body$;

-- As in 0016, but for the names of sessions without lines: that of another program may begin with "roster".
create or replace function lines_of(changed regclass) returns text
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
      -- A server of a version before 0016 inserts its lines itself; generated data has none. No other program has such a name by chance.
      if "Asker" is not null or current_setting('application_name') !~ '^roster (seed|sample|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[/0-9a-z]*)$' then
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

create or replace function write_recorder(changed regclass) returns text
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
    begin
      if tg_op = 'DELETE' then
        "Ids" := array(select id from old_rows limit 50001);
      elsif tg_op <> 'TRUNCATE' then
        "Ids" := array(select id from new_rows limit 50001);
      end if;
      if "Ids" = '{}' then
        return null;
      end if;
      perform note_rows(tg_relid, "Ids");$text$ || lines_of(changed) || $text$
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

-- A text that differs if a trigger of record_changes_of is made anew; null: not all of them are on the table, or fire in every session.
create function recording_of(changed regclass) returns text
  language sql stable
  as $body$
    select case when count(*) = 5 then string_agg(pg_trigger.oid || ' ' || pg_trigger.xmin, ' ' order by pg_trigger.oid) end
    from pg_class
    cross join (values ('_inserts', 4), ('_updates', 16), ('_deletes', 8), ('_truncates', 34), ('_other_ids', 17)) as own (suffix, type)
    join pg_trigger on tgrelid = pg_class.oid and tgname = (relname || suffix)::name and tgtype = type
    join pg_proc on pg_proc.oid = tgfoid and pronamespace = current_schema()::regnamespace and proname = case
      when suffix = '_other_ids' then 'note_other_id'
      when octet_length(relname) > 56 then 'record_' || md5(relname)
      else 'record_' || relname end
    where pg_class.oid = changed and tgenabled = 'A' and cardinality(tgattr::int2[]) = 0;
  $body$;

create or replace function is_recorded(changed regclass) returns boolean
  language sql stable
  as $body$
    select recording_of(changed) is not null;
  $body$;

-- Whether the role may read all of these columns. Asked only if it may not read the table as such; a query in the question itself
-- would cost each one.
create function may_read(relation oid, columns text[]) returns boolean
  language sql stable
  as $body$
    select coalesce(bool_and(has_column_privilege(relation, name, 'select')), false) from unnest(columns) as name;
  $body$;

-- A row that is given another id is another row: what it was before is in no transition table of the statement's that has its new id.
create or replace function note_other_id() returns trigger
  language plpgsql security definer
  as $body$
    begin
      perform note_rows(tg_relid, array[old.id]);
      insert into entity_change (position, entity, id, action, key, changed)
      select change_position(), tg_table_name, old.id, 'd', nullif(current_setting('roster.key', true), ''), '{}'
      from change_feed where origin not in ('', 'off');
      return null;
    end
  $body$;

-- Makes the triggers of a table anew, and drops those of its former name. All fire also where a session fires no ordinary triggers. Ids
-- are compared whatever the statement sets, because a trigger may set them, too.
create or replace function record_changes_of(changed regclass) returns void
  language plpgsql
  as $body$
    declare
      name text := (select relname from pg_class where oid = changed);
      recorder text := write_recorder(changed);
      made record;
    begin
      for made in
        select tgname from pg_trigger join pg_proc on pg_proc.oid = tgfoid
        where tgrelid = changed and pronamespace = current_schema()::regnamespace and case
          when proname = 'note_other_id' then tgname <> (name || '_other_ids')::name
          else proname <> recorder and proname ^@ 'record_' and strpos(prosrc, '"Asker" text := ') > 0 end
      loop
        execute format('drop trigger %I on %s', made.tgname, changed);
      end loop;
      execute format('drop trigger if exists %I on %s', name || '_changes', changed);
      for made in
        select suffix, definition from (values
          ('_inserts', 'after insert on %1$s referencing new table as new_rows for each statement execute function %2$I()'),
          ('_updates', 'after update on %1$s referencing old table as old_rows new table as new_rows for each statement execute function %2$I()'),
          ('_deletes', 'after delete on %1$s referencing old table as old_rows for each statement execute function %2$I()'),
          ('_truncates', 'before truncate on %1$s for each statement execute function %2$I()'),
          ('_other_ids', 'after update on %1$s for each row when (old.id <> new.id) execute function note_other_id()')
        ) as made (suffix, definition)
      loop
        execute format('create or replace trigger %3$I ' || made.definition, changed, recorder, name || made.suffix);
        execute format('alter table %s enable always trigger %I', changed, name || made.suffix);
      end loop;
    end
  $body$;

-- As in 0016, and for tables that were renamed.
create or replace function write_recorders() returns void
  language plpgsql security definer
  as $body$
    declare
      recorded record;
    begin
      for recorded in
        select tgrelid::regclass as changed, bool_and(tgname <> (relname || '_other_ids')::name) as is_renamed
        from pg_trigger join pg_proc on pg_proc.oid = tgfoid join pg_class on pg_class.oid = tgrelid
        where proname = 'note_other_id' and pronamespace = current_schema()::regnamespace
        group by tgrelid
      loop
        if recorded.is_renamed then
          perform record_changes_of(recorded.changed);
        else
          perform write_recorder(recorded.changed);
        end if;
      end loop;
    end
  $body$;

do $migration$
  declare
    own regprocedure;
  begin
    foreach own in array array['write_recorders()', 'note_other_id()', 'recording_of(regclass)', 'is_recorded(regclass)']::regprocedure[] loop
      execute format('alter function %s set search_path = %I, pg_catalog, pg_temp', own, current_schema());
    end loop;
  end
$migration$;

-- Of the tables of other entities, too.
select record_changes_of(tgrelid)
from (
  select distinct tgrelid::regclass from pg_trigger join pg_proc on pg_proc.oid = tgfoid
  where proname = 'note_other_id' and pronamespace = current_schema()::regnamespace
) as recorded;
drop function note_table(oid);

-- A write from elsewhere is notified with its rows, as they were and as they are, so that servers of other machines count it
-- instead of forgetting all that they know of the table. The rows come from transition tables, after the statement: a
-- trigger for each row would look who listens for each row, and could not tell a statement of a million rows from one of one.
--
-- What is notified begins as before, '<table> <machine>', and servers of the version before read no further: to them each
-- row is a change of the table that they do not know more of. Behind it, of a row: its transaction, a serial, since of two
-- equal notifications of a transaction PostgreSQL delivers one; and the row before and after as PostgreSQL prints
-- composite values, '-' for none.
--
-- Where a statement has too many rows or one that is too long, or a transaction has notified of too much, the table alone is
-- notified. Who listens keeps a quarter of a mebibyte for its readers.
-- As in 0007: a session that has left its transaction open does not hold up all.
set local lock_timeout = '5s';

do $migration$
  begin
    execute format(
      $function$
        create or replace function notify_change() returns trigger
          language plpgsql
          as $body$
            declare
              head text;
              many integer;
              images text[];
              longest integer;
              bytes integer;
              spent text;
              zone text;
              style text;
            begin
              -- Of what is not truncated the triggers with rows notify.
              if tg_nargs > 0 and tg_argv[0] = 'truncate' and tg_op <> 'TRUNCATE' then
                return null;
              end if;
              if pg_relation_size(%L::regclass) = 0 then
                return null;
              end if;
              if current_setting('transaction_isolation') = 'read committed' and not exists (
                select from %I.change_listener where machine is distinct from current_setting('roster.machine', true)
              ) then
                return null;
              end if;
              head := tg_table_name || ' ' || coalesce(current_setting('roster.machine', true), '');
              if tg_nargs > 0 and tg_argv[0] = 'rows' then
                if tg_op = 'DELETE' then
                  select count(*) into many from (select from old_rows limit 501) as few;
                else
                  select count(*) into many from (select from new_rows limit 501) as few;
                end if;
                if many = 0 then
                  return null;
                end if;
                -- As servers read rows. Not set on the function, where each call would pay for it.
                zone := current_setting('TimeZone');
                style := current_setting('DateStyle');
                if zone <> 'UTC' or style not like 'ISO,%%' then
                  perform set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO', true);
                end if;
                if many > 500 then
                  images := null;
                elsif tg_op = 'INSERT' then
                  images := array(select '-' || new_rows::text from new_rows);
                elsif tg_op = 'DELETE' then
                  images := array(select old_rows::text || '-' from old_rows);
                else
                  -- Both are filled row by row; a row is there twice where a cascade has changed it again.
                  select array_agg(old_image || new_image) into images
                    from (select row_number() over () as place, id, old_rows::text as old_image from old_rows) as was
                    full join (select row_number() over () as place, id, new_rows::text as new_image from new_rows) as is_now
                    using (place)
                    having bool_and(was.id is not distinct from is_now.id);
                end if;
                if zone <> 'UTC' or style not like 'ISO,%%' then
                  perform set_config('TimeZone', zone, true), set_config('DateStyle', style, true);
                end if;
                select max(octet_length(image)), sum(octet_length(image)) + 100 * many into longest, bytes from unnest(images) as image;
                spent := coalesce(current_setting('roster.notified', true), '');
                if spent !~ '^[0-9]{1,7}$' then
                  spent := '0';
                end if;
                -- A notification has less than 8,000 bytes; the transaction and the serial have at most 60.
                if octet_length(head) + longest < 7900 and spent::integer + bytes <= 131072 then
                  perform set_config('roster.notified', (spent::integer + bytes)::text, true);
                  head := head || ' ' || pg_current_xact_id()::text || ' ' || gen_random_uuid()::text || '.';
                  perform pg_notify('roster_change', head || place || ' ' || image)
                    from unnest(images) with ordinality as notified (image, place);
                  return null;
                end if;
              end if;
              perform pg_notify('roster_change', head);
              return null;
            end
          $body$
      $function$,
      format('%I.change_listener', current_schema()), current_schema()
    );
  end
$migration$;

-- Makes the triggers of a table anew: with rows, or, as before, one that notifies of the table alone. All fire also where a
-- session fires no ordinary triggers. With rows, the one named `_changes` has the form that servers of the version before
-- look for, and notifies of what is truncated.
create function notify_changes_of(changed regclass, with_rows boolean default true) returns void
  language plpgsql
  as $body$
    declare
      name text := (select relname from pg_class where oid = changed);
      made record;
    begin
      for made in
        select suffix, events, tables, argument, is_made from (values
          ('_changes', 'insert or update or delete or truncate', '', case when with_rows then '''truncate''' else '' end, true),
          ('_inserts', 'insert', 'referencing new table as new_rows', '''rows''', with_rows),
          ('_updates', 'update', 'referencing old table as old_rows new table as new_rows', '''rows''', with_rows),
          ('_deletes', 'delete', 'referencing old table as old_rows', '''rows''', with_rows)
        ) as made (suffix, events, tables, argument, is_made)
      loop
        if exists (select from pg_trigger where tgrelid = changed and tgname = name || made.suffix) then
          execute format('drop trigger %I on %s', name || made.suffix, changed);
        end if;
        if made.is_made then
          execute format(
            'create trigger %I after %s on %s %s for each statement execute function notify_change(%s)',
            name || made.suffix, made.events, changed, made.tables, made.argument
          );
          execute format('alter table %s enable always trigger %I', changed, name || made.suffix);
        end if;
      end loop;
    end
  $body$;

-- Where servers can read PostgreSQL's own log instead, each write would pay for transition tables that are of no use; the
-- embedded PostgreSQL has a role for that alone. An operator who changes that later calls the function for each table.
do $migration$
  begin
    if current_setting('wal_level') = 'logical'
      and exists (select from pg_publication where pubname = 'roster')
      and exists (select from pg_roles where rolname in (current_user, 'roster_feed') and (rolreplication or rolsuper))
    then
      return;
    end if;
    lock table company, employee, absence in share row exclusive mode;
    perform notify_changes_of('company'), notify_changes_of('employee'), notify_changes_of('absence');
  end
$migration$;

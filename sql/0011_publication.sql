-- What PostgreSQL's own log says of our tables, for servers that read it from a logical slot: rows as they were and are, with
-- what is computed. Publications have computed columns from version 18 on; below it, and for a role that may not make a
-- publication, nothing is done: servers then hear of writes by NOTIFY, as before. Called again it does what is missing, so an
-- operator who has upgraded PostgreSQL, or granted a right, calls it for each table.
create function publish_rows(relation regclass) returns boolean
  language plpgsql
  as $body$
    begin
      if current_setting('server_version_num')::int < 180000 then
        return false;
      end if;
      if not exists (select from pg_publication where pubname = 'roster') then
        execute 'create publication roster with (publish_generated_columns = stored)';
      end if;
      if not exists (
        select from pg_publication_rel join pg_publication on pg_publication.oid = prpubid
        where pubname = 'roster' and prrelid = relation
      ) then
        execute format('alter publication roster add table only %s', relation);
      end if;
      -- The row before an update or a deletion, whole. It costs nothing unless `wal_level` is `logical`.
      execute format('alter table only %s replica identity full', relation);
      return true;
    exception when insufficient_privilege then
      return false;
    end
  $body$;

-- As in 0007: waits for what is under way on the tables, but not for a session that has left its transaction open.
set local lock_timeout = '5s';
do $migration$
  begin
    if current_setting('server_version_num')::int >= 180000 then
      lock table company, employee, absence in access exclusive mode;
    end if;
  end
$migration$;
select publish_rows('company'), publish_rows('employee'), publish_rows('absence');

-- Servers that read the log need no notification, and where all do, a write should not pay for a look who listens. While
-- no server is registered the file of the table is empty: a row that is not committed yet makes it longer, and rows that are
-- deleted leave it so until it is truncated, which a server does where no row is left.
do $migration$
  begin
    execute format(
      $function$
        create or replace function notify_change() returns trigger
          language plpgsql
          as $body$
            begin
              if pg_relation_size(%L::regclass) = 0 then
                return null;
              end if;
              if current_setting('transaction_isolation') <> 'read committed' or exists (
                select from %I.change_listener where machine is distinct from current_setting('roster.machine', true)
              ) then
                perform pg_notify(
                  'roster_change', tg_table_name || ' ' || coalesce(current_setting('roster.machine', true), '')
                );
              end if;
              return null;
            end
          $body$
      $function$,
      format('%I.change_listener', current_schema()), current_schema()
    );
  end
$migration$;
